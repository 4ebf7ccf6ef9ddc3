# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which workers are removed, with the ids of their devices and their Nodes, and what blocks it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.base.tags import ROLE_TAG
from ...module_utils.metal.objects import DELETING_STATES
from ...module_utils.nodes.identity import identify
from .removal import Choice, Request, choose_removals

# The bootstrap device, also while it is reinstalled as a worker: see the role bootstrap_teardown.
UNFINISHED = re.compile(rf"{ROLE_TAG}bootstrap$|ansible-operation-requested=reinstall:bootstrap-becomes-worker:")

REPLACING = "Add a worker with scale.yml before the replacement, or run replace.yml with a lower openshift_least_workers."


def plan_removal(  # noqa: PLR0913 - the options of the rule, passed by keyword
    devices: Sequence[Mapping[str, Any]],
    machines: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    cluster: str,
    request: Request,
    nodes: Sequence[Mapping[str, Any]] | None = None,
    least_workers: int = 0,
    replaced: Collection[str] | None = None,
    joining: bool = False,
) -> dict[str, list[Any]]:
    """Return ``removed``, ``ids``, ``nodes`` and ``blockers``: the workers to remove, their devices and Nodes, and why not.

    A host can be absent from an inventory for other reasons than its removal, so it depends on ``request``. Without ``nodes`` Nodes are
    not checked. ``least_workers``: minimum number of remaining workers that are Ready and not cordoned. ``replaced``: only these workers
    are removed, and if none of them can run pods ``least_workers`` is not required, since their removal changes nothing. ``joining``:
    workers without a Node count, too, since they join before any worker is removed. Raises CollectionError for a malformed request.
    """
    masters, workers = ([machine["hostname"] for machine in machines[group]] for group in ("control_plane", "workers"))
    identities = identify(nodes or (), devices)
    by_name = {device["hostname"]: device for device in devices}
    # Nodes and machines of the inventory have the host name of the device in lower case.
    excess = [device for name, device in sorted(by_name.items()) if name.lower() not in {*masters, *workers}]
    if replaced is None:
        choice = choose_removals(by_name.values(), machines, cluster, request)
    else:
        names = [device["hostname"] for device in excess if f"{ROLE_TAG}worker" in device["tags"]]
        choice = Choice(removed={name: "replaced" for name in names if name.lower() in replaced})
    removed = list(choice.removed)
    blockers = [*_installation(by_name.values(), cluster), *_control_plane(excess), *choice.blockers]
    if removed:
        blockers += [*_locked(excess, removed), *_of_one_name(devices, removed)]
        # Another device would be deleted than the one whose Node was drained.
        blockers += [f"{problem.text}." for problem in identities.renamed]
    if removed and nodes is not None:
        states = {node["name"]: node for node in nodes}
        blockers += _quorum(states, masters, removed)
        if replaced is None:
            blockers += _least(states, workers, by_name if joining else None, removed, least_workers)
        elif any(name.lower() in states and _is_able(states[name.lower()]) for name in removed):
            blockers += [f"{text} {REPLACING}" for text in _least(states, workers, None, removed, least_workers)]
    return {
        "removed": removed,
        "ids": [str(by_name[name]["id"]) for name in removed],
        "nodes": [identities.node_of(str(by_name[name]["id"])) or name.lower() for name in removed],
        "blockers": blockers,
    }


def _installation(devices: Iterable[Mapping[str, Any]], cluster: str) -> list[str]:
    """Return a blocker while a bootstrap device exists, which lets every machine join, or is reinstalled as a worker."""
    unfinished = sorted(device["hostname"] for device in devices if any(UNFINISHED.match(tag) for tag in device["tags"]))
    text = f"{', '.join(unfinished)} of {cluster} is still its bootstrap device. Run install.yml first, which completes the installation."
    return [text] if unfinished else []


def _control_plane(excess: Iterable[Mapping[str, Any]]) -> list[str]:
    masters = [device["hostname"] for device in excess if f"{ROLE_TAG}control-plane" in device["tags"]]
    text = (
        f"{', '.join(masters)} of the control plane is not in the inventory. A control plane node is a member of etcd, which scale.yml "
        "does not remove. Put it back into the inventory."
    )
    return [text] if masters else []


def _locked(excess: Iterable[Mapping[str, Any]], removed: Collection[str]) -> list[str]:
    locked = [device["hostname"] for device in excess if device["hostname"] in removed and device.get("locked")]
    text = (
        f"{', '.join(locked)} is locked against deletion. Unlock it with equinix_metal.openshift.metal_device (locked: false) or keep it."
    )
    return [text] if locked else []


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
