# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of install.yml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...module_utils.base.tags import ROLE_TAG
from ...module_utils.machines.operation import REQUESTED
from .devices import failed, orders, replaced, stale_nodes, vanished_devices
from .drift import changed_cluster, changed_configs, changed_devices, due_topics
from .joining import boot_files, coming, records
from .step import Plan, Step
from .world import Desired, World, price_of

PHASES = (
    "Run preflight checks",
    "Create Ignition files",
    "Create network and load balancer",
    "Publish boot files",
    "Create bootstrap and control plane devices",
    "Wait for bootstrap to complete",
    "Remove the bootstrap device",
    "Create worker devices",
    "Wait for the cluster to complete",
)
TOPICS: Mapping[str, Sequence[str]] = {
    "network": (PHASES[1], PHASES[4], PHASES[7], PHASES[8]),
    "load balancer": (PHASES[2], PHASES[4]),
    "devices": (PHASES[1], PHASES[4], PHASES[7]),
    "records": PHASES[8:],
    "boot files": PHASES[8:],
    "services": PHASES[8:],
}
"""The phases that compare what no source has read, by its topic; of other topics every phase."""
SERVICES = "api, api-int, *.apps"


@dataclass(frozen=True)
class Installation:
    """How far an installation is.

    ``release``: of openshift-install, empty when Ignition files exist. ``bootstrap_over``: whether the control plane runs without the
    bootstrap device. ``reused``: the worker that this device becomes. ``network``: VLAN, gateway and addresses to create, kind and text.
    """

    release: str = ""
    bootstrap_over: bool = False
    reused: str = ""
    network: Sequence[tuple[str, str]] = ()


def plan_install(desired: Desired, world: World, state: Installation) -> Plan:
    _check, ignition, network, publish, create, wait, teardown, workers, complete = PHASES
    if not world.knows_devices:
        return Plan(desired.cluster, "install.yml", PHASES, [], None, world.problems, also=PHASES)
    again = {group: failed(desired, world, group) for group in ("control_plane", "workers")}
    left = dict.fromkeys(vanished_devices(desired, world), "its device does not exist any more")
    control_plane = [
        *orders(create, "bootstrap", world),
        *replaced(create, again["control_plane"], desired, world, drained=False),
        *orders(create, "control_plane", world),
    ]
    added = [*replaced(workers, again["workers"], desired, world, drained=False), *orders(workers, "workers", world, left)]
    removed = _teardown(teardown, desired, world, state, control_plane)
    if state.reused and removed:
        added = [step for step in added if step.object != state.reused]
    ordered = [step.object for step in control_plane]
    joining = coming(desired, world, [*ordered, *(step.object for step in added), *left])
    begins = not state.bootstrap_over
    steps = [
        *([Step(ignition, "write", "files", "Ignition files", f"written by openshift-install {state.release}")] if state.release else ()),
        *(Step(ignition, "create", kind, text, "of the cluster, does not exist") for kind, text in state.network),
        *orders(network, "load_balancer", world),
        *stale_nodes(network, desired, world),
        *boot_files(publish, joining),
        *control_plane,
        *changed_devices(create, "control_plane", desired, world),
        *records(create, ordered, desired, SERVICES),
        *([Step(wait, "wait", "cluster", "bootstrap", "until the control plane runs without it")] if begins else ()),
        *removed,
        *changed_configs(workers, desired, world),
        *added,
        *changed_devices(workers, "workers", desired, world),
        *records(workers, [step.object for step in added], desired),
        *changed_cluster(complete, desired, world, joining),
        *([Step(complete, "wait", "cluster", "cluster", "until nodes, operators and ClusterVersion are complete")] if begins else ()),
    ]
    also = PHASES if begins or world.problems else due_topics(TOPICS, PHASES, world)
    # What a machine needs to join may have been left out by an interrupted run: what it boots from, its device, its record, and for the
    # bootstrap device that is a worker by its tags already, the request to reinstall it.
    requested = any(tag.startswith(REQUESTED) for device in world.devices for tag in device.get("tags") or ())
    joins = [*([ignition, publish, create, workers] if joining else ()), *([teardown, workers] if requested or removed else ())]
    plan = Plan(desired.cluster, "install.yml", PHASES, steps, world.price_per_hour, world.problems, also=[*also, *joins])
    return plan.with_replacements((create, workers), desired.replace_failed)


def _teardown(phase: str, desired: Desired, world: World, state: Installation, ordered: Sequence[Step]) -> list[Step]:
    names = {machine["hostname"] for machine in desired.machines["bootstrap"]}
    created = [step for step in ordered if step.object in names]
    existing = [device for device in world.devices if f"{ROLE_TAG}bootstrap" in (device.get("tags") or ())]
    if not created and not existing:
        return []
    name = str(existing[0]["hostname"]) if existing else created[0].object
    price = price_of(existing[0]) if existing else created[0].price_per_hour
    step = Step(phase, "remove", "device", name, "the control plane runs without it", price_per_hour=None if price is None else -price)
    if not state.reused:
        return [step]
    becomes = f"reinstalled as {state.reused.partition('.')[0]}"
    return [replace(step, verb="change", detail=becomes, reason="openshift_bootstrap_becomes", price_per_hour=0.0)]
