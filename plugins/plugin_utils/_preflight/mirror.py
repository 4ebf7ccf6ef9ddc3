# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the mirror has of the wanted version, whether its checksums are signed by whom we trust, and what an installer that is here says.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import hashlib
import http.client
import platform
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import open_url

from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import Situation

GO = {"x86_64": "amd64", "aarch64": "arm64"}
"""This computer's architecture as folders of a release for several have it."""


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What there is to install with.

    ``installer`` (version, architecture, or msg): one of the user's own, or that of a cluster that stands. Without one of the user's
    own also ``mirror`` (url, content of the checksums, or msg) and ``signature`` (status of its download, and what gpgv said: rc, stderr).
    """
    if wanted.get("installer"):
        return {"installer": _told(_path(wanted["installer"]), wanted)}
    kept = _path(wanted["directory"]) / "ignition" / "openshift-install"
    world: dict[str, Any] = {"installer": _told(kept, wanted)} if wanted["bootstrap_over"] and kept.exists() else {}
    return {**world, **_offered(wanted)}


def _path(text: Any) -> Path:
    """With the home that is meant; that of somebody who is not there leads to no file."""
    try:
        return Path(str(text)).expanduser()
    except RuntimeError:
        return Path(str(text))


def _told(installer: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    limit = float(wanted["installer_timeout"])
    try:
        done = subprocess.run([str(installer.resolve()), "version"], capture_output=True, text=True, check=False, timeout=limit)
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        return {"msg": str(getattr(problem, "strerror", None) or problem)}
    if done.returncode:
        return {"msg": f"it ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}"}
    version = re.search(r"^\S+ v?(\d\S*)$", done.stdout, re.MULTILINE)
    architecture = re.search(r"^release architecture (\S+)$", done.stdout, re.MULTILINE)
    return {"version": version[1] if version else "", "architecture": architecture[1] if architecture else ""}


def _offered(wanted: Mapping[str, Any]) -> dict[str, Any]:
    situation = Situation(wanted, {})
    url = f"{situation.release_url}/sha256sum.txt"
    try:
        signed = _get(url, wanted)
        checksums = _below(situation.release_url, signed, wanted) if situation.release_architecture == "multi" else signed
    except _UnavailableError as problem:
        return {"mirror": {"url": url, "content": "", "msg": str(problem)}}
    world: dict[str, Any] = {"mirror": {"url": url, "content": checksums.decode("utf-8", "replace")}}
    if wanted["release_keyring"] and not wanted["bootstrap_over"]:
        try:
            signature = _get(f"{url}.{'asc' if situation.okd else 'gpg'}", wanted)
            world["signature"] = {"status": 200, **_gpgv(signed, signature, wanted)}
        except _UnavailableError as problem:
            world["signature"] = {"status": problem.status, "msg": str(problem)}
    return world


def _below(url: str, signed: bytes, wanted: Mapping[str, Any]) -> bytes:
    """The checksums for this computer, whose checksum is among those of a release for several architectures."""
    name = f"{GO.get(platform.machine(), platform.machine())}/sha256sum.txt"
    checksums = _get(f"{url}/{name}", wanted)
    if f"{hashlib.sha256(checksums).hexdigest()}  {name}" not in signed.decode("utf-8", "replace").splitlines():
        raise _UnavailableError(Exception(f"{name} is not the one that sha256sum.txt above it means"))
    return checksums


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


def _gpgv(signed: bytes, signature: bytes, wanted: Mapping[str, Any]) -> dict[str, Any]:
    keyring, limit = _path(wanted["release_keyring"]), float(wanted["signature_timeout"])
    with tempfile.TemporaryDirectory(prefix="validate-") as folder:
        file = Path(folder) / "sha256sum.txt.gpg"
        file.write_bytes(signature)
        # gpgv takes a name without a slash for one in its own folder.
        command = ["gpgv", "--homedir", folder, "--keyring", str(keyring.resolve()), str(file), "-"]
        try:
            done = subprocess.run(command, input=signed, capture_output=True, check=False, timeout=limit)
        except FileNotFoundError:
            return {"rc": None, "stderr": "there is no gpgv on this computer (package gpgv or gnupg2)"}
        except subprocess.TimeoutExpired:
            return {"rc": None, "stderr": f"no answer within {limit:g} s"}
    return {"rc": done.returncode, "stderr": done.stderr.decode("utf-8", "replace")}
