# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: removal_plan
short_description: Workers to remove, and what blocks their removal
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Compares the devices of a cluster with the machines of the inventory, and returns which of the other workers are removed. A host can be
    absent from an inventory for other reasons than its removal, so it depends on O(request).
positional: machines
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  machines:
    description:
      - The machines of the inventory, C(control_plane) and C(workers), each a list as P(equinix_metal.openshift.machines#filter) returns
        them.
    type: dict
    required: true
  cluster:
    description:
      - Name of the cluster, for messages.
    type: str
    required: true
  request:
    description:
      - Which removals were asked for, C(names) and C(sizes) as in the variables C(openshift_remove) and C(openshift_pool_sizes), C(at_most)
        the maximum number of other workers, C(in_job) whether only these named ones are removed.
    type: dict
    default: {}
  nodes:
    description:
      - The Nodes of the cluster, as M(equinix_metal.openshift.node_info) returns them. Unset, Nodes are not checked.
    type: list
    elements: dict
  least_workers:
    description:
      - Minimum number of remaining workers that are Ready and not cordoned.
    type: int
    default: 0
  replaced:
    description:
      - Host names of workers that are replaced. Set, only these are removed. If none of them can run pods, O(least_workers) is not
        required, since their removal changes nothing.
    type: list
    elements: str
  joining:
    description:
      - Whether workers without a Node count, too, since they join before any worker is removed.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Fail if workers cannot be removed now
  ansible.builtin.assert:
    that: plan.blockers | length == 0
    fail_msg: "{{ plan.blockers | join(' ') }}"
  vars:
    plan: >-
      {{ found.devices | equinix_metal.openshift.removal_plan({'control_plane': masters, 'workers': workers}, cluster='demo.metal.test',
      nodes=cluster.nodes, least_workers=2, request={'at_most': 5}) }}
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    removed:
      description: Host names of the workers to remove.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test]
    ids:
      description: Ids of their devices.
      type: list
      elements: str
      sample: [7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11]
    nodes:
      description: Names of their Nodes, by the ids that these record; of devices without a Node the host names in lower case.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test]
    reasons:
      description: The workers to remove, each with C(hostname) and C(reason).
      type: list
      elements: dict
      sample: [{hostname: worker-2.demo.metal.test, reason: not in the inventory}]
    kept:
      description: The workers that are not in the inventory and are kept, each with C(hostname) and C(reason).
      type: list
      elements: dict
      sample: []
    lines:
      description: Lines that list the workers that are not in the inventory, what is done with each, and why. Empty without any.
      type: list
      elements: str
      sample: []
    blockers:
      description: Why these workers cannot be removed, a sentence each. Empty when they can.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test is locked against deletion.]
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import DELETING_STATES
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_identity import identify
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.removal import Choice, choose_removals, removal_request

ROLE = "openshift-role="
# The bootstrap device, also while it is reinstalled as a worker: see the role bootstrap_teardown.
UNFINISHED = re.compile(rf"{ROLE}bootstrap$|ansible-operation-requested=reinstall:bootstrap-becomes-worker:")

REPLACING = "Add a worker with scale.yml before the replacement, or run replace.yml with a lower openshift_least_workers."


def removal_plan(  # noqa: PLR0913 - the options of the filter, passed by keyword
    devices: Iterable[Mapping[str, Any]],
    machines: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    cluster: str,
    request: Mapping[str, Any] = MappingProxyType({}),
    nodes: Sequence[Mapping[str, Any]] | None = None,
    least_workers: int = 0,
    replaced: Collection[str] | None = None,
    joining: bool = False,
) -> dict[str, list[Any]]:
    """Return ``removed``, ``ids``, ``nodes``, ``reasons``, ``kept``, ``lines`` and ``blockers``."""
    try:
        masters, workers = ([machine["hostname"] for machine in machines[group]] for group in ("control_plane", "workers"))
        devices = list(devices)
        identities = identify(nodes or (), devices)
        found = {device["hostname"]: device for device in devices}
        # Nodes and machines of the inventory have the host name of the device in lower case.
        excess = [device for name, device in sorted(found.items()) if name.lower() not in {*masters, *workers}]
        if replaced is None:
            choice = choose_removals(found.values(), machines, cluster, removal_request(request))
        else:
            names = [device["hostname"] for device in excess if f"{ROLE}worker" in device["tags"]]
            choice = Choice(removed={name: "replaced" for name in names if name.lower() in replaced})
        removed = list(choice.removed)
        blockers = [*_installation(found.values(), cluster), *_control_plane(excess), *choice.blockers]
        if removed:
            blockers += [*_locked(excess, removed), *_of_one_name(devices, removed)]
            # Another device would be deleted than the one whose Node was drained.
            blockers += [f"{each.text}." for each in identities.renamed]
        if removed and nodes is not None:
            states = {node["name"]: node for node in nodes}
            blockers += _quorum(states, masters, removed)
            if replaced is None:
                blockers += _least(states, workers, found if joining else None, removed, int(least_workers))
            elif any(name.lower() in states and _is_able(states[name.lower()]) for name in removed):
                blockers += [f"{text} {REPLACING}" for text in _least(states, workers, None, removed, int(least_workers))]
    except CollectionError as problem:
        raise AnsibleFilterError(str(problem)) from problem
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        needed = "the input has to be devices, machines and nodes as this collection returns them"
        raise AnsibleFilterError(f"removal_plan: {needed}: {problem!r}") from problem
    return {
        "removed": removed,
        "ids": [str(found[name]["id"]) for name in removed],
        "nodes": [identities.node_of(str(found[name]["id"])) or name.lower() for name in removed],
        "reasons": [{"hostname": name, "reason": reason} for name, reason in choice.removed.items()],
        "kept": [{"hostname": name, "reason": reason} for name, reason in choice.kept.items()],
        "lines": choice.lines if replaced is None else [],
        "blockers": blockers,
    }


def _installation(devices: Iterable[Mapping[str, Any]], cluster: str) -> list[str]:
    """Return a blocker while a bootstrap device exists, which lets every machine join, or is reinstalled as a worker."""
    unfinished = sorted(device["hostname"] for device in devices if any(UNFINISHED.match(tag) for tag in device["tags"]))
    if not unfinished:
        return []
    return [f"{', '.join(unfinished)} of {cluster} is still its bootstrap device. Run install.yml first, which completes the installation."]


def _control_plane(excess: Iterable[Mapping[str, Any]]) -> list[str]:
    masters = [device["hostname"] for device in excess if f"{ROLE}control-plane" in device["tags"]]
    if not masters:
        return []
    return [
        f"{', '.join(masters)} of the control plane is not in the inventory. A control plane node is a member of etcd, which scale.yml "
        "does not remove. Put it back into the inventory."
    ]


def _locked(excess: Iterable[Mapping[str, Any]], removed: Collection[str]) -> list[str]:
    locked = [device["hostname"] for device in excess if device["hostname"] in removed and device.get("locked")]
    if not locked:
        return []
    return [
        f"{', '.join(locked)} is locked against deletion. Unlock it with equinix_metal.openshift.metal_device (locked: false) or keep it."
    ]


def _of_one_name(devices: Iterable[Mapping[str, Any]], removed: Collection[str]) -> list[str]:
    """Return a blocker for each name that several devices have: which of them the Node is of may be unknown."""
    staying = [device for device in devices if device.get("state") not in DELETING_STATES]
    return [
        f"{len(ids)} devices have the host name {name}: {', '.join(ids)}. Delete the others (metal_device with id, state=absent)."
        for name in removed
        if len(ids := sorted(str(device["id"]) for device in staying if device["hostname"] == name)) > 1
    ]


def _quorum(states: Mapping[str, Mapping[str, Any]], masters: Collection[str], removed: Sequence[str]) -> list[str]:
    """Return a blocker unless more than half of the control plane nodes, of inventory and cluster, are Ready."""
    members = {*masters, *(name for name, node in states.items() if node["control_plane"])}
    ready = [name for name in members if name in states and states[name]["ready"]]
    if 2 * len(ready) > len(members):
        return []
    verb = "is" if len(ready) == 1 else "are"
    return [
        f"Only {len(ready)} of {len(members)} control plane nodes {verb} Ready. More than half have to be Ready before "
        f"{', '.join(removed)} can be removed."
    ]


def _is_able(node: Mapping[str, Any]) -> bool:
    """Return whether a Node runs pods, also while this collection drains it."""
    return bool(node["ready"] and (node["schedulable"] or node["cordoned_for_removal"]))


def _least(
    states: Mapping[str, Mapping[str, Any]],
    workers: Collection[str],
    joining: Collection[str] | None,
    removed: Sequence[str],
    least: int,
) -> list[str]:
    """Return a blocker if too few workers remain. ``joining``: existing devices, if workers without a Node or device count, too."""
    able, unable = [], []
    for name in workers:
        node = states.get(name)
        if joining is not None and (node is None or name not in joining):
            able.append(name)
        elif node is None:
            unable.append(f"{name} (no node)")
        elif not node["ready"]:
            unable.append(f"{name} (not Ready)")
        elif not node["schedulable"] and not (joining is not None and node["cordoned_for_removal"]):
            unable.append(f"{name} (cordoned)")
        else:
            able.append(name)
    if len(able) >= least:
        return []
    others = f" Not counted: {', '.join(unable)}." if unable else ""
    return [
        f"Without {', '.join(removed)} only {len(able)} workers that can run pods would remain, {least} are required "
        f"(openshift_least_workers).{others}"
    ]


class FilterModule:
    """Offers removal_plan."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"removal_plan": removal_plan}
