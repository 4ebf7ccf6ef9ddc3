# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the openshift-install of the release on the install-config, in a temporary folder, to validate the install-config."""

from __future__ import annotations

import fcntl
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...module_utils.base.errors import CollectionError
from ...module_utils.frame.installer import InstallerFiles
from ...module_utils.frame.mirror import ProgramError
from ...module_utils.release.versions import MULTI, archives_in, channel_problem, go_name, is_release, read_pin
from ..manifests.user_manifests import user_manifests
from ..preflight.context import Context
from ..programs.installer_log import read
from ..rules.folders import installer_cache
from .mirror import installer_version, path, runner


class UnavailableError(CollectionError):
    """There is no installer of the release; the message is the reason."""


def collect(
    settings: Mapping[str, Any], readings: Mapping[str, Any], announce: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Return ``installer_answer`` (version and refused, warnings or msg; or unavailable), or nothing if there is nothing to ask.

    The installer does not run if devices have been ordered with the Ignition files: without any, files are made anew when the settings
    have changed. It is the user's own, or of the requested release, and downloaded once into a cache. ``announce`` is called with the
    progress of a download.
    """
    context = Context(settings, readings)
    config = context.install_config
    if context.is_ignition_in_use or settings["bootstrap_over"] or not config:
        return {}
    is_missing = context.text("installer") and not (readings.get("installer") or {}).get("version")
    if is_missing or not context.has_names:
        return {}
    try:
        installer, version = _installer(context, announce)
        return {"installer_answer": {"version": version, **_answer(installer, config, settings)}}
    except CollectionError as problem:
        return {"installer_answer": {"unavailable": problem.message}}
    except OSError as problem:
        return {"installer_answer": {"unavailable": f"cannot use {problem.filename}: {problem.strerror or problem}"}}


def _installer(context: Context, announce: Callable[[str], None]) -> tuple[Path, str]:
    """Return path and version of the user's own installer, of one in the cluster folder, or of one in the cache."""
    settings = context.settings
    if context.text("installer"):
        return path(settings["installer"]), str(context.readings["installer"]["version"])
    release, architectures = _release(context), (MULTI, go_name(context.release_architecture))
    for installer in sorted(path(settings["directory"]).glob("bin/*/openshift-install")):
        answer = installer_version(installer, settings)
        if answer.get("version") == release and answer.get("architecture") in architectures:
            return installer, release
    return _download(context, release, announce), release


def _download(context: Context, release: str, announce: Callable[[str], None]) -> Path:
    settings, mirror = context.settings, context.readings.get("mirror") or {}
    if not mirror.get("content"):
        raise UnavailableError(f"{mirror.get('url') or 'the mirror'} cannot be read: {mirror.get('msg') or 'no answer'}")
    cache = installer_cache(context.text("installer_cache"))
    parameters = {
        "directory": cache,
        "cache": cache,
        "path": "",
        "state": "present",
        "version": release,
        "distribution": context.text("distribution") or "ocp",
        "architecture": context.release_architecture,
        "mirror_url": context.text("mirror_url"),
        "keyring": context.text("release_keyring"),
        "retries": 1,
        "delay": 1.0,
        "timeout": float(settings["timeout"]),
    }
    return InstallerFiles(parameters, runner(float(settings["installer_timeout"])), announce=announce).in_cache(release)


def _release(context: Context) -> str:
    """Return the release to install: of a channel the one that the cluster folder keeps, else the one that the mirror shows now."""
    version = context.text("version")
    if is_release(version):
        return version
    try:
        pin = read_pin((path(context.settings["directory"]) / "release.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pin = None
    if pin and (pin.channel, pin.architecture) == (version, context.release_architecture):
        return pin.version
    mirror = context.readings.get("mirror") or {}
    shown = archives_in(str(mirror.get("content") or ""))
    problem = channel_problem(version, shown[0].version) if shown else str(mirror.get("msg") or "the mirror was not read")
    if problem or not is_release(shown[0].version):
        raise UnavailableError(f"{version}: {problem}")
    return shown[0].version


def _answer(installer: Path, config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the installer says of the install-config, and of the user's manifests if there are any."""
    try:
        own = user_manifests(settings.get("manifests") or [])
    except CollectionError:
        own = []  # another check reports why they cannot be used
    with _scratch_folder(Path(installer_cache(str(settings.get("installer_cache") or "")))) as folder:
        # JSON is YAML, too.
        _write(Path(folder) / "install-config.yaml", json.dumps(config))
        answer = _run(installer, "manifests", folder, config, settings)
        if "warnings" in answer and own:
            for manifest in own:
                _write(Path(folder) / "openshift" / manifest["name"], manifest["content"])
            judged = _run(installer, "ignition-configs", folder, config, settings)
            answer = {"warnings": [*dict.fromkeys([*answer["warnings"], *judged["warnings"]])]} if "warnings" in judged else judged
    return answer


@contextmanager
def _scratch_folder(cache: Path) -> Iterator[str]:
    """Yield an empty folder of mode 0700, which is removed in the end: the installer writes keys, and a copy of the pull secret.

    A run that is killed removes nothing, so each run removes what such runs have left, unless another one works there now.
    """
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (cache / "validate.lock").open("w") as lock:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in cache.glob("validate-*"):
                shutil.rmtree(left)
        fcntl.flock(lock, fcntl.LOCK_SH)
        with tempfile.TemporaryDirectory(prefix="validate-", dir=cache) as folder:
            yield folder


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")


def _run(installer: Path, target: str, folder: str, config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    command = [str(installer.resolve()), "create", target, f"--dir={folder}"]
    try:
        code, _output, errors = runner(float(settings["installer_timeout"]))(command, b"")
    except ProgramError as problem:
        return {"msg": problem.message}
    log = read(errors.decode("utf-8", "replace"), config)
    if code:
        return {"refused": log.errors or f"it ended with {code}"}
    return {"warnings": log.warnings}
