# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what the mirror has of the version, check the signature of its checksums, and get the version of an installer that is here.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame import mirror as reading
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.mirror import InstallerError, MirrorError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import Mirror, alternatives, read_checksums
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
    """Return version and architecture of an installer, or why it does not report them."""
    try:
        found = reading.installer_version(str(installer), float(wanted["installer_timeout"]))
    except InstallerError as problem:
        return {"msg": problem.message}
    return {"version": found.version, "architecture": found.architecture}


def _offered(wanted: Mapping[str, Any]) -> dict[str, Any]:
    mirror, version = replace(Situation(wanted, {}).mirror, computer=platform.machine()), str(wanted["version"])
    timeout = float(wanted["timeout"])
    url = mirror.checksums(version)
    try:
        signed = reading.get(url, timeout)
        checksums = _nested(mirror, version, signed, timeout) if mirror.is_nested else signed
    except MirrorError as problem:
        instead = _instead(mirror, version, timeout) if problem.status == 404 else ""
        return {"mirror": {"url": url, "content": "", "msg": problem.message, "status": problem.status, "instead": instead}}
    world: dict[str, Any] = {"mirror": {"url": url, "content": checksums.decode("utf-8", "replace")}}
    if wanted["release_keyring"] and not wanted["bootstrap_over"]:
        try:
            signature = reading.get(mirror.signature(version), timeout)
            keyring = str(path(wanted["release_keyring"]))
            verdict = reading.check_signature(signed, signature, keyring, float(wanted["signature_timeout"]))
            world["signature"] = {"status": 200, **asdict(verdict)}
        except MirrorError as problem:
            world["signature"] = {"status": problem.status, "msg": problem.message}
    return world


def _instead(mirror: Mirror, version: str, timeout: float) -> str:
    """Return what there is when the folder of the release is not: by the listing of the folder above it, if the mirror has one."""
    try:
        return alternatives(version, reading.get(f"{mirror.releases}/", timeout).decode("utf-8", "replace"))
    except MirrorError:
        return ""


def _nested(mirror: Mirror, version: str, signed: bytes, timeout: float) -> bytes:
    """Return the checksums for this computer, whose checksum is among those of a release for several architectures."""
    name = mirror.nested_checksums
    checksums = reading.get(f"{mirror.release(version)}/{name}", timeout)
    if read_checksums(signed.decode("utf-8", "replace")).get(name) != hashlib.sha256(checksums).hexdigest():
        raise MirrorError(name, f"{name} is not the one that sha256sum.txt above it means")
    return checksums
