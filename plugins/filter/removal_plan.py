# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: removal_plan
short_description: The workers that are to be removed, and what blocks their removal
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Compares the devices of a cluster with the machines that stay. Every other worker is removed.
positional: wanted
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  wanted:
    description:
      - The machines that stay, C(control_plane) and C(workers), each a list of machines as P(equinix_metal.openshift.machines#filter)
        returns them.
    type: dict
    required: true
  cluster:
    description:
      - Name of the cluster, for messages.
    type: str
    required: true
  nodes:
    description:
      - The Nodes of the cluster, as M(equinix_metal.openshift.node_info) returns them. Without them nothing is said about Nodes.
    type: list
    elements: dict
  least_workers:
    description:
      - How many workers have to stay that are Ready and not cordoned.
    type: int
    default: 0
  joining:
    description:
      - Whether workers that have no Node yet count as well, since they are going to join before any worker is removed.
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
      nodes=cluster.nodes, least_workers=2) }}
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    leaving:
      description: Host names of the workers that are to be removed.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test]
    nodes:
      description: Names of their Nodes, which are the host names in lower case.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test]
    blockers:
      description: Why they cannot be removed now, a sentence each. Empty when they can.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test is locked against deletion.]
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

ROLE = "openshift-role="
# The bootstrap device, also one whose reinstallation as a worker was asked for and is not done: see the role bootstrap_teardown.
UNFINISHED = re.compile(rf"{ROLE}bootstrap$|ansible-operation-requested=reinstall:bootstrap-becomes-worker:")


def removal_plan(  # noqa: PLR0913 - the options of the filter, passed by keyword
    devices: Iterable[Mapping[str, Any]],
    wanted: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    cluster: str,
    nodes: Sequence[Mapping[str, Any]] | None = None,
    least_workers: int = 0,
    joining: bool = False,
) -> dict[str, list[str]]:
    """Return ``leaving``, ``nodes`` and ``blockers``."""
    try:
        masters, workers = ([machine["hostname"] for machine in wanted[group]] for group in ("control_plane", "workers"))
        found = {device["hostname"]: device for device in devices}
        # The Node of a device has its host name in lower case, as machines of the inventory have.
        excess = [device for name, device in sorted(found.items()) if name.lower() not in {*masters, *workers}]
        leaving = [device["hostname"] for device in excess if f"{ROLE}worker" in device["tags"]]
        blockers = [*_installation(found.values(), cluster), *_control_plane(excess)]
        if leaving:
            blockers += _locked(excess, leaving)
        if leaving and nodes is not None:
            states = {node["name"]: node for node in nodes}
            blockers += _quorum(states, masters, leaving)
            blockers += _least(states, workers, found if joining else None, leaving, int(least_workers))
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        needed = "devices, machines and nodes as this collection returns them are needed"
        raise AnsibleFilterError(f"removal_plan: {needed}: {problem!r}") from problem
    return {"leaving": leaving, "nodes": [name.lower() for name in leaving], "blockers": blockers}


def _installation(devices: Iterable[Mapping[str, Any]], cluster: str) -> list[str]:
    """A bootstrap device lets every machine join, and one on its way to be a worker would be waited for in vain."""
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


def _locked(excess: Iterable[Mapping[str, Any]], leaving: Collection[str]) -> list[str]:
    locked = [device["hostname"] for device in excess if device["hostname"] in leaving and device.get("locked")]
    if not locked:
        return []
    return [
        f"{', '.join(locked)} is locked against deletion. Unlock it with equinix_metal.openshift.metal_device (locked: false) or keep it."
    ]


def _quorum(states: Mapping[str, Mapping[str, Any]], masters: Collection[str], leaving: Sequence[str]) -> list[str]:
    """Control plane nodes are those of the inventory and those that the cluster has besides."""
    members = {*masters, *(name for name, node in states.items() if node["control_plane"])}
    ready = [name for name in members if name in states and states[name]["ready"]]
    if 2 * len(ready) > len(members):
        return []
    verb = "is" if len(ready) == 1 else "are"
    return [
        f"Only {len(ready)} of {len(members)} control plane nodes {verb} Ready. More than half of them have to be before "
        f"{', '.join(leaving)} can be removed."
    ]


def _least(
    states: Mapping[str, Mapping[str, Any]],
    workers: Collection[str],
    joining: Collection[str] | None,
    leaving: Sequence[str],
    least: int,
) -> list[str]:
    """``joining``: the devices there are, when workers without a Node and those that have yet to be created count as well."""
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
        f"Without {', '.join(leaving)} only {len(able)} workers that can run pods would be left, {least} have to be "
        f"(openshift_least_workers).{others}"
    ]


class FilterModule:
    """Offers removal_plan."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"removal_plan": removal_plan}
