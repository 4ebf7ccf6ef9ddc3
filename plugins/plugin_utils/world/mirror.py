# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the checksums of the release from the mirror, check their signature, and get the version of an existing installer."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ...module_utils.frame import mirror as reading
from ...module_utils.frame.mirror import MirrorError, ProgramError, Run
from ...module_utils.release.versions import Mirror, alternatives, read_checksums
from ..preflight.context import Context


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``installer``, ``mirror`` and ``signature``.

    ``installer`` (version, architecture, or msg) is ``openshift_installer``, or the installer of an installed cluster. ``mirror`` (url,
    content of the checksums; or msg, status and the releases instead) and ``signature`` (status, good, found; or msg) are only there if
    ``openshift_installer`` is not set.
    """
    if settings.get("installer"):
        return {"installer": installer_version(path(settings["installer"]), settings)}
    kept = path(settings["directory"]) / "ignition" / "openshift-install"
    readings: dict[str, Any] = {"installer": installer_version(kept, settings)} if settings["bootstrap_over"] and kept.exists() else {}
    return {**readings, **_offered(settings)}


def path(text: Any) -> Path:
    """Return the path with ``~`` expanded; not for an unknown user, below whose home no file exists."""
    try:
        return Path(str(text)).expanduser()
    except RuntimeError:
        return Path(str(text))


def installer_version(installer: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return version and architecture of an installer, or why it does not report them."""
    try:
        version = reading.installer_version(str(installer), runner(float(settings["installer_timeout"])))
    except ProgramError as problem:
        return {"msg": problem.message}
    return {"version": version.version, "architecture": version.architecture}


def runner(limit: float) -> Run:
    """Return what runs a program on the controller, for at most ``limit`` seconds."""

    def run(argv: Sequence[str], data: bytes) -> tuple[int, bytes, bytes]:
        try:
            done = subprocess.run(argv, input=data, capture_output=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired as problem:
            raise ProgramError(f"no answer within {limit:g} s") from problem
        except (OSError, ValueError) as problem:
            raise ProgramError(str(getattr(problem, "strerror", None) or problem)) from problem
        return done.returncode, done.stdout, done.stderr

    return run


def _offered(settings: Mapping[str, Any]) -> dict[str, Any]:
    mirror, version = replace(Context(settings, {}).mirror, computer=platform.machine()), str(settings["version"])
    timeout = float(settings["timeout"])
    url = mirror.checksums(version)
    try:
        signed = reading.get(url, timeout)
        checksums = _nested(mirror, version, signed, timeout) if mirror.is_nested else signed
    except MirrorError as problem:
        instead = _instead(mirror, version, timeout) if problem.status == 404 else ""
        return {"mirror": {"url": url, "content": "", "msg": problem.message, "status": problem.status, "instead": instead}}
    readings: dict[str, Any] = {"mirror": {"url": url, "content": checksums.decode("utf-8", "replace")}}
    if settings["release_keyring"] and not settings["bootstrap_over"]:
        try:
            signature = reading.get(mirror.signature(version), timeout)
            keyring = str(settings["release_keyring"])
            verdict = reading.check_signature(signed, signature, keyring, runner(float(settings["signature_timeout"])))
            readings["signature"] = {"status": 200, **asdict(verdict)}
        except MirrorError as problem:
            readings["signature"] = {"status": problem.status, "msg": problem.message}
    return readings


def _instead(mirror: Mirror, version: str, timeout: float) -> str:
    """Return the releases that the mirror has instead: by the listing of the parent folder, if the mirror has one."""
    try:
        return alternatives(version, reading.get(f"{mirror.releases}/", timeout).decode("utf-8", "replace"))
    except MirrorError:
        return ""


def _nested(mirror: Mirror, version: str, signed: bytes, timeout: float) -> bytes:
    """Return the checksums for the controller's architecture, whose own checksum is among those of the multi release."""
    name = mirror.nested_checksums
    checksums = reading.get(f"{mirror.release(version)}/{name}", timeout)
    if read_checksums(signed.decode("utf-8", "replace")).get(name) != hashlib.sha256(checksums).hexdigest():
        raise MirrorError(name, f"{name} does not have the checksum of sha256sum.txt above it")
    return checksums
