# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run an openshift-install of the controller on the install-config, in a temporary folder, to validate the install-config.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.rendering import InstallConfigError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.installer_log import read
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import MULTI, go_name, is_release, read_pin
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._preflight.mirror import installer_version, path


def collect(settings: Mapping[str, Any], readings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``installer_answer`` (version and refused, warnings or msg), or nothing without an installer on the controller.

    The installer does not run if Ignition files exist, since their install-config was valid, or if the rules found errors.
    """
    if settings["folder_exists"] or settings["bootstrap_over"]:
        return {}
    context = Context(settings, readings)
    try:
        config = context.rendered_install_config()
    except InstallConfigError:
        return {}
    if context.install_config.problems:
        return {}
    installer = _available_installer(context)
    return {"installer_answer": {"version": installer[1], **_answer(installer[0], config, settings)}} if installer else {}


def _available_installer(context: Context) -> tuple[Path, str] | None:
    """Return path and version of an installer: the user's own, or one of the requested release that an earlier run downloaded."""
    settings = context.settings
    if context.text("installer"):
        version = (context.readings.get("installer") or {}).get("version")
        return (path(settings["installer"]), str(version)) if version else None
    release, architectures = _release(context), (MULTI, go_name(context.release_architecture))
    for installer in sorted(path(settings["directory"]).glob("bin/*/openshift-install")) if release else []:
        answer = installer_version(installer, settings)
        if answer.get("version") == release and answer.get("architecture") in architectures:
            return installer, release
    return None


def _release(context: Context) -> str:
    """Return the release to install, empty if unknown: that of a channel is known once the cluster folder has its pin."""
    version = context.text("version")
    if is_release(version):
        return version
    try:
        pin = read_pin((path(context.settings["directory"]) / "release.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return pin.version if pin and (pin.channel, pin.architecture) == (version, context.release_architecture) else ""


def _answer(installer: Path, config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    limit = float(settings["installer_timeout"])
    # Mode 0700, and removed however this ends: the installer writes keys, and a copy of the pull secret.
    with tempfile.TemporaryDirectory(prefix="validate-") as folder:
        file = Path(folder) / "install-config.yaml"
        file.touch(mode=0o600)
        # JSON is YAML, too.
        file.write_text(json.dumps(config), encoding="utf-8")
        command = [str(installer.resolve()), "create", "manifests", f"--dir={folder}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"msg": f"no answer within {limit:g} s"}
        except OSError as problem:
            return {"msg": str(problem.strerror)}
    log = read(done.stderr, config)
    if done.returncode:
        return {"refused": log.errors or f"it ended with {done.returncode}"}
    return {"warnings": log.warnings}
