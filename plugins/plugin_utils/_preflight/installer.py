# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run an installer that is at hand on the install-config, in a temporary folder, to know whether it accepts the install-config.

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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._preflight.mirror import installer_version, path


def look(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``installer_answer`` (version and refused, warnings or msg), or nothing when there is no installer at hand.

    It does not run either where Ignition files exist, whose install-config an installer accepted, or where the rules refuse already.
    """
    if wanted["folder_exists"] or wanted["bootstrap_over"]:
        return {}
    situation = Situation(wanted, found)
    try:
        config = situation.rendered_install_config()
    except InstallConfigError:
        return {}
    if situation.install_config.problems:
        return {}
    installer = _at_hand(situation)
    return {"installer_answer": {"version": installer[1], **_answer(installer[0], config, wanted)}} if installer else {}


def _at_hand(situation: Situation) -> tuple[Path, str] | None:
    """Return path and version of an installer: the user's own, or one of the wanted release that an earlier run has fetched and checked."""
    wanted = situation.wanted
    if situation.text("installer"):
        version = (situation.world.get("installer") or {}).get("version")
        return (path(wanted["installer"]), str(version)) if version else None
    release, architectures = _release(situation), (MULTI, go_name(situation.release_architecture))
    for installer in sorted(path(wanted["directory"]).glob("bin/*/openshift-install")) if release else []:
        answer = installer_version(installer, wanted)
        if answer.get("version") == release and answer.get("architecture") in architectures:
            return installer, release
    return None


def _release(situation: Situation) -> str:
    """Return the release that will be installed, or nothing: of a channel it is known once the cluster's folder has it."""
    version = situation.text("version")
    if is_release(version):
        return version
    try:
        pin = read_pin((path(situation.wanted["directory"]) / "release.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return pin.version if pin and (pin.channel, pin.architecture) == (version, situation.release_architecture) else ""


def _answer(installer: Path, config: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    limit = float(wanted["installer_timeout"])
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
