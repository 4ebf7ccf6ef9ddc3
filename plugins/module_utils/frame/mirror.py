# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read files of a mirror, check signatures with gpgv and get the version of an installer.

For the module ``openshift_installer`` and for preflight.
"""

from __future__ import annotations

import http.client
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import open_url

from ..base.errors import CollectionError
from ..release.keyring import keyring_bytes
from ..release.signature import Verdict, command, judge
from ..release.versions import Installer, read_version

CHUNK = 1 << 20
"""Bytes that are read at once."""


class MirrorError(CollectionError):
    """A file of the mirror could not be read. ``status``: of HTTP, 0 without an answer."""

    def __init__(self, url: str, reason: str, status: int = 0) -> None:
        super().__init__(reason, {"url": url, "status": status})
        self.status = status


class InstallerError(CollectionError):
    """An ``openshift-install`` cannot be run."""


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


def check_signature(signed: bytes, signature: bytes, keyring: str, timeout: float) -> Verdict:
    """Return whether a key of the keyring that is still valid signed exactly this content. ``keyring`` is a path, or armored text."""
    with tempfile.TemporaryDirectory(prefix="gpgv-") as folder:
        file, keys = Path(folder) / "signature", Path(folder) / "keys"
        file.write_bytes(signature)
        try:
            keys.write_bytes(keyring_bytes(keyring))
        except CollectionError as problem:
            return Verdict(False, problem.message)
        asked = command(str(keys), str(file), "-", folder)
        try:
            done = subprocess.run(asked, input=signed, capture_output=True, check=False, timeout=timeout)
        except FileNotFoundError:
            return Verdict(False, "there is no gpgv on this computer (package gpgv or gnupg2)")
        except subprocess.TimeoutExpired:
            return Verdict(False, f"gpgv did not answer within {timeout:g} s")
    # Names and notations of a signature need not be text.
    verdict = judge(done.stdout.decode("utf-8", "replace"))
    reason = "" if verdict.good or done.stdout else f": {done.stderr.decode('utf-8', 'replace').strip()[-200:]}"
    return Verdict(verdict.good, f"{verdict.found}{reason}")


def installer_version(installer: str, timeout: float) -> Installer:
    """Return what ``openshift-install version`` reports. Raises InstallerError when it cannot be run."""
    argv = [str(Path(installer).resolve()), "version"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, timeout=timeout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        raise InstallerError(str(getattr(problem, "strerror", None) or problem)) from problem
    if done.returncode:
        raise InstallerError(f"it ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}")
    return read_version(done.stdout)
