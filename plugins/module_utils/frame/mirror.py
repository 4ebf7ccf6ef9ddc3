# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read files of a mirror, check signatures with gpgv and get the version of an installer.

For the module ``openshift_installer`` and for preflight.
"""

from __future__ import annotations

import http.client
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import open_url

from ..base.errors import CollectionError
from ..release.keyring import keyring_bytes
from ..release.signature import Verdict, command, judge
from ..release.versions import Installer, read_version

CHUNK = 1 << 20
"""Bytes that are read at once."""
Run = Callable[[Sequence[str], bytes], tuple[int, bytes, bytes]]
"""Runs a program with a standard input; returns exit code, output and errors. Raises ProgramError, also if it does not end in time."""


class MirrorError(CollectionError):
    """A file of the mirror could not be read. ``status``: of HTTP, 0 without an answer."""

    def __init__(self, url: str, reason: str, status: int = 0) -> None:
        super().__init__(reason, {"url": url, "status": status})
        self.status = status


class ProgramError(CollectionError):
    """gpgv or an ``openshift-install`` cannot be run."""


def chunks(url: str, timeout: float) -> Iterator[bytes]:
    """Read a file of the mirror in parts. Raises MirrorError, also when the connection ends before the file does."""
    try:
        # As it is: a server that takes .tar.gz for an encoding would have the archive unpacked, and its checksum would be another one.
        with open_url(url, timeout=timeout, decompress=False) as answer:
            size, expected = 0, answer.headers.get("Content-Length")
            while part := answer.read(CHUNK):
                size += len(part)
                yield part
    except HTTPError as problem:
        raise MirrorError(url, f"the mirror answered {problem.code} {problem.reason}", problem.code) from problem
    except (URLError, http.client.HTTPException, OSError, ValueError) as problem:
        raise MirrorError(url, str(getattr(problem, "reason", None) or problem)) from problem
    if expected is not None and expected != str(size):
        raise MirrorError(url, f"the connection ended after {size} of {expected} bytes")


def get(url: str, timeout: float) -> bytes:
    return b"".join(chunks(url, timeout))


def check_signature(signed: bytes, signature: bytes, keyring: str, run: Run) -> Verdict:
    """Return whether a key of the keyring that is still valid signed exactly this content. ``keyring`` is a path, or armored text."""
    with tempfile.TemporaryDirectory(prefix="gpgv-") as folder:
        file, keys = Path(folder) / "signature", Path(folder) / "keys"
        file.write_bytes(signature)
        try:
            keys.write_bytes(keyring_bytes(keyring))
            _code, status, errors = run(command(str(keys), str(file), "-", folder), signed)
        except ProgramError as problem:
            return Verdict(False, f"gpgv (package gpgv or gnupg2) cannot be run: {problem}")
        except CollectionError as problem:
            return Verdict(False, problem.message)
    # Names and notations of a signature need not be text.
    verdict = judge(status.decode("utf-8", "replace"))
    reason = "" if verdict.good or status else f": {errors.decode('utf-8', 'replace').strip()[-200:]}"
    return Verdict(verdict.good, f"{verdict.found}{reason}")


def installer_version(installer: str, run: Run) -> Installer:
    """Return what ``openshift-install version`` reports. Raises ProgramError."""
    code, output, errors = run([str(Path(installer).resolve()), "version"], b"")
    if code:
        raise ProgramError(f"it ended with {code}: {(errors or output).decode('utf-8', 'replace').strip()[-200:]}")
    return read_version(output.decode("utf-8", "replace"))
