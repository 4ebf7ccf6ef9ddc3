# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the mirror has of the wanted version, and whether its checksums are signed by whom we trust.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import http.client
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import open_url

GPGV_LIMIT = 30
"""Seconds. It reads two small files."""


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """``mirror`` (url, content of the checksums, or msg) and ``signature`` (status of its download, and what gpgv said: rc, stderr)."""
    url = f"{wanted['clients_url']}/sha256sum.txt"
    try:
        checksums = _get(url, wanted)
    except _UnavailableError as problem:
        return {"mirror": {"url": url, "content": "", "msg": str(problem)}}
    world: dict[str, Any] = {"mirror": {"url": url, "content": checksums.decode("utf-8", "replace")}}
    if wanted["release_keyring"] and not wanted["bootstrap_over"]:
        try:
            world["signature"] = {"status": 200, **_gpgv(checksums, _get(f"{url}.gpg", wanted), Path(wanted["release_keyring"]))}
        except _UnavailableError as problem:
            world["signature"] = {"status": problem.status, "msg": str(problem)}
    return world


class _UnavailableError(Exception):
    """``status``: of HTTP, 0 when there was no answer."""

    def __init__(self, problem: Exception, status: int = 0) -> None:
        super().__init__(str(getattr(problem, "reason", None) or problem))
        self.status = status


def _get(url: str, wanted: Mapping[str, Any]) -> bytes:
    try:
        with open_url(url, timeout=float(wanted["timeout"])) as answer:
            return bytes(answer.read())
    except HTTPError as problem:
        raise _UnavailableError(Exception(f"the mirror answered {problem.code} {problem.reason}"), problem.code) from problem
    except (URLError, http.client.HTTPException, OSError, ValueError) as problem:
        raise _UnavailableError(problem) from problem


def _gpgv(signed: bytes, signature: bytes, keyring: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="validate-") as folder:
        file = Path(folder) / "sha256sum.txt.gpg"
        file.write_bytes(signature)
        # gpgv takes a name without a slash for one in its own folder.
        command = ["gpgv", "--homedir", folder, "--keyring", str(keyring.expanduser().resolve()), str(file), "-"]
        try:
            done = subprocess.run(command, input=signed, capture_output=True, check=False, timeout=GPGV_LIMIT)
        except FileNotFoundError:
            return {"rc": None, "stderr": "there is no gpgv on this computer (package gpgv or gnupg2)"}
        except subprocess.TimeoutExpired:
            return {"rc": None, "stderr": f"no answer within {GPGV_LIMIT} s"}
    return {"rc": done.returncode, "stderr": done.stderr.decode("utf-8", "replace")}
