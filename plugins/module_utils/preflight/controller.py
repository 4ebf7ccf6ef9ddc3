# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the computer that Ansible runs on.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.tags import ROLE_TAG
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_state import state_problem
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation


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


def install(situation: Situation) -> Finding:
    """What exists of the cluster has to be of the install whose files are here: it would be adopted, and its networks too."""
    metadata = situation.metadata
    belongings = (situation.world.get("belongings") or {}).get("clusters")
    cluster = belongings[0] if belongings else {"name": situation.cluster, "devices": situation.read("devices", "devices")}
    infra_id = str(metadata.get("infraID") or "")
    if problem := state_problem(cluster, infra_id, situation.text("directory")):
        return failed(problem)
    if (situation.world.get("belongings") or {}).get("msg"):
        return not_checkable(str(situation.world["belongings"]["msg"]))
    exists = bool(cluster["devices"])
    return passed(f"{infra_id}, as the devices that exist" if infra_id and exists else infra_id or "nothing of the cluster exists")


def kubeconfig(situation: Situation) -> Finding:
    """The kubeconfig may have been exchanged by another cluster's: nodes would be judged and removed there."""
    reading = situation.world.get("kubeconfig")
    wanted = str(situation.metadata.get("clusterID") or "")
    if not reading:
        return passed("there is none yet")
    if reading.get("msg"):
        return not_checkable(f"the cluster does not answer: {reading['msg']}")
    if not wanted or not reading.get("cluster_id"):
        return not_checkable("no id to compare: metadata.json or ClusterVersion has none")
    path = f"{situation.text('directory')}/kubeconfig"
    if reading["cluster_id"] == wanted:
        return passed(f"it leads to the cluster {wanted}")
    return failed(f"{path} leads to the cluster {reading['cluster_id']}, and the files in ignition are of {wanted}")


def control_plane(situation: Situation) -> Finding:
    """Another machine in the place of one that is gone is no member of etcd, and bootstraps nothing."""
    missing = [machine["hostname"] for machine in situation.missing_by_group.get("control_plane", [])]
    nodes = [device for device in situation.devices if f"{ROLE_TAG}load-balancer" not in (device.get("tags") or [])]
    if not (situation.standing and nodes):
        return passed("they are ordered by this run" if missing else "they are there")
    return either(not missing, listed(missing) or "all are there")
