# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices: which are ordered, and which are replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...module_utils.nodes.identity import identify, read_result
from ...module_utils.nodes.ownership import judge
from ..machines.replacement import unhealthy_machines
from .step import Step, total
from .world import Desired, Machine, Machines, Offer, World, price_of

NEW = "in the inventory, no device"


def missing_machines(machines: Machines, existing: Iterable[str], *, bootstrap_over: bool, reused: str = "") -> dict[str, list[Machine]]:
    """Return the machines whose devices do not exist yet, by group.

    ``existing``: host names of devices. ``reused``: the worker that the bootstrap device becomes.
    """
    present = {*existing, reused}
    return {
        group: [] if group == "bootstrap" and bootstrap_over else [machine for machine in members if machine["hostname"] not in present]
        for group, members in machines.items()
    }


def orders(phase: str, group: str, world: World, reasons: Mapping[str, str] | None = None) -> list[Step]:
    """Return a step for each machine of the group that is ordered. ``reasons``: of machines that had a device, by host name."""
    if not world.knows_devices:
        return []
    machines = {str(machine["hostname"]): machine for machine in world.missing.get(group, ())}
    reason_of = reasons or {}
    return [_order(phase, name, machine, world, reason_of.get(name, NEW)) for name, machine in sorted(machines.items())]


def _order(phase: str, name: str, machine: Machine, world: World, reason: str) -> Step:
    offer = _offer(machine, world)
    return Step(
        phase=phase,
        verb="create",
        kind="device",
        object=name,
        detail=offer.text,
        reason=reason,
        after={"plan": offer.plan, "metro": offer.metro},
        price_per_hour=offer.price_per_hour,
    )


def _offer(machine: Machine, world: World) -> Offer:
    """Return what is offered for a machine; without offers, as for the status, at the price of devices of the same plan."""
    if offer := world.offers.get(str(machine["hostname"])):
        return offer
    plan = str(machine.get("plan") or "")
    prices = {price_of(device) for device in world.devices if device.get("plan") == plan and not device.get("hardware_reservation_id")}
    return Offer(plan, str(machine.get("metro") or ""), prices.pop() if len(prices) == 1 else None)


def replaced(phase: str, names: Mapping[str, str], desired: Desired, world: World, *, drained: bool) -> list[Step]:
    """Return a step for each machine whose device is deleted and ordered again. ``names``: the reason by host name."""
    devices, machines = world.fleet(desired).devices, {machine["hostname"]: machine for machine in desired.nodes}
    steps = []
    for name, reason in names.items():
        device, offer = devices.get(name, {}), _offer(machines[name], world)
        # A device of the same kind costs what the one before did.
        price = price_of(device) if offer.price_per_hour is None and offer.plan in ("", device.get("plan")) else offer.price_per_hour
        before = price_of(device)
        steps.append(
            Step(
                phase=phase,
                verb="replace",
                kind="device",
                object=name,
                detail="drained first, then another device" if drained else "deleted, then another device",
                reason=reason,
                before={key: device.get(key) for key in ("id", "plan", "metro")},
                after={"plan": offer.plan, "metro": offer.metro, "drained": drained},
                price_per_hour=total([price, None if before is None else -before]),
            )
        )
    return steps


def due(desired: Desired, world: World) -> dict[str, str]:
    """Return the workers that scale.yml replaces because they are unhealthy, with the reason by host name."""
    if not (world.knows_devices and world.knows_nodes):
        return {}
    unhealthy = unhealthy_machines(world.fleet(desired), now=world.now, replace_after=desired.replace_not_ready_after)
    return {
        entry["hostname"]: entry["reason"]
        for entry in [candidate for candidate in unhealthy if candidate["is_due"]][: desired.replace_at_most]
    }


def failed(desired: Desired, world: World, group: str) -> dict[str, str]:
    """Return the machines whose failed device is replaced while the machines of this group are created, by host name."""
    devices = world.fleet(desired).devices
    members = {str(machine["hostname"]) for machine in desired.machines[group]}
    names = sorted(name for name, device in devices.items() if name in members and device.get("state") == "failed")
    return dict.fromkeys(names[: desired.replace_failed], "its device has failed")


def vanished_devices(desired: Desired, world: World) -> dict[str, str]:
    """Return the Nodes that are left by a device that does not exist any more, with the id of that device by name: of present and former
    workers, by the rule of ``node_ownership``.
    """
    if not (world.knows_devices and world.knows_nodes):
        return {}
    identities = identify(world.nodes, world.devices)
    hostnames = {str(device.get("hostname")).lower() for device in world.devices}
    workers = {str(machine["hostname"]) for machine in desired.machines["workers"]}
    left = {node.name: node.device_id for node in map(read_result, world.nodes) if judge(node, identities, hostnames, workers) == "left"}
    # The module that deletes them asks the same of the whole project.
    elsewhere = {str(device[key]) for device in world.others or () for key in ("id", "hostname")}
    tagged = {str(device["id"]) for device in world.devices} | hostnames
    return {name: device for name, device in left.items() if not {name, device} & (elsewhere - tagged)}


def stale_nodes(phase: str, desired: Desired, world: World) -> list[Step]:
    """Return a step for each Node that is left by its device."""
    return [
        Step(phase, "remove", "node", name, "its device does not exist any more", detail="the Node", before={"device": device})
        for name, device in sorted(vanished_devices(desired, world).items())
    ]
