# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of scale.yml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..machines.removal import Choice, choose_removals
from .devices import due, failed, orders, replaced, stale_nodes, vanished_devices
from .drift import changed_cluster, changed_configs, changed_devices, due_topics
from .joining import boot_files, coming, records
from .step import Plan, Step
from .world import Desired, World, price_of

PHASES = (
    "Run preflight checks",
    "Create network and load balancer",
    "Publish boot files",
    "Create worker devices",
    "Wait for workers to join",
    "Remove workers",
)
TOPICS: Mapping[str, Sequence[str]] = {
    "network": PHASES[1:5],
    "load balancer": (PHASES[1],),
    "devices": (PHASES[2], PHASES[3]),
    "records": (PHASES[4],),
    "boot files": (PHASES[4],),
    "services": (PHASES[4],),
}
"""The phases that compare what no source has read, by its topic; of other topics every phase."""


def plan_scale(desired: Desired, world: World) -> Plan:
    _check, network, publish, create, join, remove = PHASES
    chosen = choose_removals(world.devices, desired.machines, desired.cluster, desired.removal) if world.knows_devices else Choice()
    drained = due(desired, world)
    again = {name: why for name, why in failed(desired, world, "workers").items() if name not in drained}
    left = dict.fromkeys(vanished_devices(desired, world), "its device does not exist any more")
    devices = [
        *replaced(create, drained, desired, world, drained=True),
        *replaced(create, again, desired, world, drained=False),
        *orders(create, "workers", world, left),
    ]
    ordered = [step.object for step in devices]
    joining = coming(desired, world, ordered)
    steps = [
        *orders(network, "load_balancer", world),
        *stale_nodes(network, desired, world),
        *changed_configs(publish, desired, world),
        *boot_files(publish, joining),
        *devices,
        *changed_devices(create, "workers", desired, world),
        *records(create, ordered, desired),
        *changed_cluster(join, desired, world, joining),
        *_removals(remove, chosen, world),
    ]
    names = ",".join(name.partition(".")[0] for name in chosen.kept)
    notes = [f"To remove a worker that is kept, run scale.yml with -e openshift_remove={names}"] if names else []
    also = PHASES if world.problems else due_topics(TOPICS, PHASES, world)
    # What a machine needs to join may have been left out by an interrupted run: what it boots from, its device, its record.
    joins = [publish, create] if joining else []
    plan = Plan(desired.cluster, "scale.yml", PHASES, steps, world.price_per_hour, world.problems, chosen.kept, notes, also=[*also, *joins])
    return plan.with_replacements((create,), desired.replace_failed)


def _removals(phase: str, chosen: Choice, world: World) -> list[Step]:
    devices = {str(device["hostname"]): device for device in world.devices}
    nodes = {str(node["name"]) for node in world.nodes}
    return [
        _removal(phase, devices[name], reason, has_node=name.lower() in nodes or not world.knows_nodes)
        for name, reason in chosen.removed.items()
    ]


def _removal(phase: str, device: Mapping[str, Any], reason: str, *, has_node: bool) -> Step:
    price = price_of(device)
    return Step(
        phase=phase,
        verb="remove",
        kind="device",
        object=str(device["hostname"]),
        detail="drained first" if has_node else "no Node",
        reason=reason,
        before={key: device.get(key) for key in ("id", "plan", "metro")},
        price_per_hour=None if price is None else -price,
    )
