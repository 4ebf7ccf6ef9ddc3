# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What exists and is not as the inventory says any more: devices, DNS records, MachineConfigs, routers, files.

The rules are those of the modules and roles that write these objects, which compare once more. Labels of Nodes are in ``joining``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.base.diff import differences
from ...module_utils.base.record_set import Found
from ...module_utils.cluster.devices import devices_by_role
from ...module_utils.cluster.dns import ADDRESS_TYPES, ADDRESSES, cluster_dns_records, expanded, ownership_name, planned, record_type
from ...module_utils.machines.device import desired_attributes
from ...module_utils.nodes.addresses import api_addresses
from ..manifests.ingress_controller import ingress_changes
from ..manifests.pools import config_changes
from .joining import requests, settings
from .step import Step, Verb
from .world import Desired, World

SET = "set in the inventory"
PLACES = frozenset({"plan", "metro"})
"""Where a machine is. One with a placement may be in any place of it."""


def due_topics(topics: Mapping[str, Sequence[str]], phases: Sequence[str], world: World) -> list[str]:
    """Return the phases that run without a step, since they compare what no source has read."""
    due = [phase for topic in world.unread for phase in topics.get(topic, phases)]
    # The phases of devices wait for those that are about to become active.
    settling = any(device.get("state") not in ("active", "inactive") for device in world.devices)
    return [*due, *(topics["devices"] if settling else ())]


def changed_cluster(phase: str, desired: Desired, world: World, joining: Collection[str]) -> list[Step]:
    """Return what the phase does in which machines join and the cluster is compared: the last one of install.yml, one of scale.yml."""
    return [
        *requests(phase, list(joining)),
        *unanswered(phase, world, joining),
        *settings(phase, desired, world),
        *unfinished(phase, desired, world),
        *changed_routers(phase, desired, world),
        *changed_records(phase, desired, world),
        *published(phase, world, joining),
    ]


def changed_devices(phase: str, group: str, desired: Desired, world: World) -> list[Step]:
    """Return a step for each device of the group with other attributes than its machine."""
    devices = world.fleet(desired).devices
    steps = []
    for order in desired.orders.get(group, ()):
        name = str(order["hostname"])
        current = devices.get(name, {}).get("comparable")
        if current is None:
            continue
        after = differences(current, desired_attributes(order, desired.ownership_tags))
        changes = {key: value for key, value in after.items() if key not in PLACES or not order.get("placement")}
        if changes:
            before = {key: current.get(key) for key in changes}
            detail = ", ".join(_change(key, before[key], value) for key, value in sorted(changes.items()))
            steps.append(Step(phase, "change", "device", name, SET, detail=detail, before=before, after=changes))
    return steps


def _change(key: str, before: Any, after: Any) -> str:
    if isinstance(after, list) and isinstance(before, list):
        signs = [f"+{name}" for name in after if name not in before] + [f"-{name}" for name in before if name not in after]
        return f"{key} {' '.join(signs)}"
    return f"{key} {before if before not in ('', None) else 'none'} -> {after if after != '' else 'none'}"


def changed_records(phase: str, desired: Desired, world: World) -> list[Step]:
    """Return a step for each name of the cluster whose records do not have the addresses that they lead to."""
    if not (world.records and world.knows_devices and world.knows_nodes):
        return []
    every = cluster_dns_records(world.devices, desired.cluster, bootstrap_complete=True, nodes=world.nodes, **desired.records)
    readable = [{**record, "type": ADDRESSES} for record in every if record["name"] in world.records]
    current = {key: record_set for name, sets in world.records.items() for key, record_set in _record_sets(name, sets)}
    addresses = {str(entry["address"]) for device in world.devices for entry in device.get("ip_addresses") or ()}
    changes = planned(expanded(readable), current, desired.owner, adoptable=addresses, takes_foreign=True).changes
    names = {ownership_name(record["name"]): record["name"] for record in readable}
    by_name: dict[str, tuple[list[str], list[str]]] = {}
    for change in changes:
        before, after = by_name.setdefault(names.get(change["name"], change["name"]), ([], []))
        if change["name"] not in names:
            before += change["before"]
            after += change["after"]
    return [_record(phase, name, before, after, desired.cluster) for name, (before, after) in sorted(by_name.items())]


def _record_sets(name: str, reading: Mapping[str, Any]) -> Iterable[tuple[tuple[str, str], Found]]:
    """Return what preflight has read of a name as the record sets that are compared."""
    for kind in ADDRESS_TYPES:
        yield (
            (name, kind),
            Found([address for address in reading["addresses"] if record_type(address) == kind], str(reading.get("alias") or "")),
        )
    yield (ownership_name(name), "TXT"), Found(list(reading["texts"]))


def _record(phase: str, name: str, before: Sequence[str], after: Sequence[str], cluster: str) -> Step:
    verb: Verb = "change" if before and after else "create" if after else "remove" if before else "change"
    text = " ".join(after) if after else " ".join(before)
    detail = f"{' '.join(before)} -> {text}" if before and after else text or "its ownership record"
    return Step(
        phase, verb, "records", f"record {name.removesuffix(f'.{cluster}')}", "", detail=detail, before=list(before), after=list(after)
    )


def changed_configs(phase: str, desired: Desired, world: World) -> list[Step]:
    """Return a step for each MachineConfigPool and MachineConfig that is written or deleted."""
    if "configs" not in world.cluster:
        return []
    machines, current = desired.machines, world.cluster["configs"]
    changes = config_changes(machines["workers"], machines["control_plane"], current, desired.time_servers)
    existing = {(item["kind"], item["metadata"]["name"]) for item in current}
    present = sorted(((str(item["kind"]), str(item["metadata"]["name"])) for item in changes["present"]), key=lambda item: item[1])
    return [
        *(Step(phase, "change" if item in existing else "create", "config", item[1], SET, detail=item[0]) for item in present),
        *(
            Step(phase, "remove", "config", str(item["metadata"]["name"]), "not in the inventory", detail=str(item["kind"]))
            for item in changes["absent"]
        ),
    ]


def changed_routers(phase: str, desired: Desired, world: World) -> list[Step]:
    """Return the step that gives the default IngressController the replicas and the placement of the inventory."""
    controller = world.cluster.get("ingress")
    if not controller or not desired.routers:
        return []
    patch = ingress_changes(controller, desired.routers["pool"], desired.routers["replicas"], desired.machines["workers"])
    if not patch:
        return []
    detail = ", ".join(sorted(patch.get("spec") or ())) or "what is set"
    return [Step(phase, "change", "routers", "routers", SET, detail=detail, after=patch)]


def unanswered(phase: str, world: World, asked: Collection[str]) -> list[Step]:
    """Return the step that judges CSRs of machines that have joined, such as renewals. ``asked``: those that a step approves anyway."""
    names = world.cluster.get("requests") or ()
    return [] if asked or not names else [Step(phase, "approve", "requests", "CSRs", "have no answer yet", detail=str(len(names)))]


def unfinished(phase: str, desired: Desired, world: World) -> list[Step]:
    """Return what an interrupted run has left, and what is waited for until the cluster is complete."""
    nodes = {str(machine["hostname"]) for machine in desired.nodes}
    deleted = {str(device["hostname"]) for device in world.devices if device.get("termination_time")}
    cordoned = sorted(
        str(node["name"])
        for node in world.nodes
        if node.get("cordoned_for_removal") and node["name"] in nodes and node["name"] not in deleted
    )
    silent = [f"{node['name']} is not Ready: {node['message']}" for node in world.nodes if node["name"] in nodes and not node["ready"]]
    waiting = [*(world.cluster.get("waiting") or ()), *sorted(silent)] if world.cluster else []
    return [
        *(Step(phase, "change", "node", name, "cordoned by a removal that was not finished", detail="uncordoned") for name in cordoned),
        *(
            [Step(phase, "write", "files", "kubeconfig", "addresses or CAs of the cluster have changed")]
            if _is_outdated(desired, world)
            else []
        ),
        *([Step(phase, "wait", "cluster", "cluster", "; ".join(waiting))] if waiting else []),
    ]


def _is_outdated(desired: Desired, world: World) -> bool:
    """Return whether the kubeconfig in the cluster folder has other addresses or CAs than the cluster."""
    used = world.cluster.get("kubeconfig")
    addresses = api_addresses(devices_by_role(world.devices), str(desired.records.get("network") or "layer3"))
    return not (used["is_trusting"] and used["servers"] == addresses) if used and addresses else False


def published(phase: str, world: World, joining: Collection[str]) -> list[Step]:
    """Return the step that removes boot files that no machine needs any more."""
    return [Step(phase, "remove", "files", "boot files", "every machine has joined")] if world.publishes and not joining else []
