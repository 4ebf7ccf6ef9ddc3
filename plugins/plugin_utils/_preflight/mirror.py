# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what the mirror has of the wanted version, whether a trusted key signed its checksums, and what an installer that is here says.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import hashlib
import http.client
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import open_url

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.rendering import GO
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import alternatives, read_version
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release_signature import command, judge
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what there is to install with.

    ``installer`` (version, architecture, or msg) is ``openshift_installer``, or that of an installed cluster. If ``openshift_installer`` is
    not set, there are also ``mirror`` (url, content of the checksums; or msg, status and what the mirror has instead) and ``signature``
    (status, good, found; or msg).
    """
    if wanted.get("installer"):
        return {"installer": installer_version(path(wanted["installer"]), wanted)}
    kept = path(wanted["directory"]) / "ignition" / "openshift-install"
    world: dict[str, Any] = {"installer": installer_version(kept, wanted)} if wanted["bootstrap_over"] and kept.exists() else {}
    return {**world, **_offered(wanted)}


def path(text: Any) -> Path:
    """Return the path with its home; one below the home of an unknown user leads to no file."""
    try:
        return Path(str(text)).expanduser()
    except RuntimeError:
        return Path(str(text))


def installer_version(installer: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return version and architecture of an installer, or why it does not tell them."""
    limit = float(wanted["installer_timeout"])
    try:
        done = subprocess.run([str(installer.resolve()), "version"], capture_output=True, text=True, check=False, timeout=limit)
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        return {"msg": str(getattr(problem, "strerror", None) or problem)}
    if done.returncode:
        return {"msg": f"it ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}"}
    found = read_version(done.stdout)
    return {"version": found.version, "architecture": found.architecture}


def _offered(wanted: Mapping[str, Any]) -> dict[str, Any]:
    situation = Situation(wanted, {})
    url = f"{situation.release_url}/sha256sum.txt"
    try:
        signed = _get(url, wanted)
        checksums = _below(situation.release_url, signed, wanted) if situation.release_architecture == "multi" else signed
    except _UnavailableError as problem:
        return {"mirror": {"url": url, "content": "", "msg": str(problem), "status": problem.status, "instead": _instead(problem, wanted)}}
    world: dict[str, Any] = {"mirror": {"url": url, "content": checksums.decode("utf-8", "replace")}}
    if wanted["release_keyring"] and not wanted["bootstrap_over"]:
        try:
            signature = _get(f"{url}.{'asc' if situation.okd else 'gpg'}", wanted)
            world["signature"] = {"status": 200, **_gpgv(signed, signature, wanted)}
        except _UnavailableError as problem:
            world["signature"] = {"status": problem.status, "msg": str(problem)}
    return world


def _instead(problem: _UnavailableError, wanted: Mapping[str, Any]) -> str:
    """Return what there is when the folder of the release is not: by the listing of the folder above it, if the mirror has one."""
    if problem.status != 404:
        return ""
    try:
        page = _get(f"{Situation(wanted, {}).release_url.rpartition('/')[0]}/", wanted)
    except _UnavailableError:
        return ""
    return alternatives(str(wanted["version"]), page.decode("utf-8", "replace"))


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
    limit = float(wanted["signature_timeout"])
    with tempfile.TemporaryDirectory(prefix="validate-") as folder:
        file = Path(folder) / "sha256sum.txt.gpg"
        file.write_bytes(signature)
        asked = command(str(path(wanted["release_keyring"]).resolve()), str(file), "-", folder)
        try:
            done = subprocess.run(asked, input=signed, capture_output=True, check=False, timeout=limit)
        except FileNotFoundError:
            return {"good": False, "found": "there is no gpgv on this computer (package gpgv or gnupg2)"}
        except subprocess.TimeoutExpired:
            return {"good": False, "found": f"gpgv did not answer within {limit:g} s"}
    verdict = judge(done.stdout.decode("utf-8", "replace"))
    said = "" if verdict.good or done.stdout else f": {done.stderr.decode('utf-8', 'replace').strip()[-200:]}"
    return {"good": verdict.good, "found": f"{verdict.found}{said}"}
