# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the computer that Ansible runs on.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.findings import (
    Finding,
    either,
    failed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import Situation


def disk_space(situation: Situation) -> Finding:
    free = (situation.world.get("controller") or {}).get("free_bytes")
    if free is None:
        return not_checkable("the folder did not tell")
    if situation.standing:
        return passed(f"{int(free) / 1e9:.1f} GB; the installer is there already")
    found, needed = f"{int(free) / 1e9:.1f} GB at {situation.text('directory')}", float(situation.wanted["disk_needed"])
    return passed(found) if int(free) >= needed * 1e9 else failed(f"{found}, {needed:g} GB are needed")


def directory(situation: Situation) -> Finding:
    controller = situation.world.get("controller") or {}
    if controller.get("msg"):
        return failed(str(controller["msg"]))
    if not controller.get("writable", True):
        return failed(f"{situation.text('directory')} cannot be written")
    mode = controller.get("mode")
    if mode is None:
        return passed(f"{situation.text('directory')} will be made")
    return either(int(mode, 8) & 0o077 == 0, f"{situation.text('directory')} has mode {mode}")


def files(situation: Situation) -> Finding:
    """Where the machines of files that are there are not found, others would be made, and with them other keys."""
    made_for = str((situation.world.get("controller") or {}).get("project") or "")
    if not made_for:
        return passed("none are there yet")
    return either(made_for == situation.text("metal_project_id"), f"{situation.text('directory')} is for project {made_for}")
