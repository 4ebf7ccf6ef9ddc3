# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers that leave: removed ones by the rules of ``machines/removal``, drained first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..machines.removal import Choice, choose_removals
from .step import Step
from .world import Desired, World, price_of


def choice(desired: Desired, world: World) -> Choice:
    return choose_removals(world.devices, desired.machines, desired.cluster, desired.removal) if world.knows_devices else Choice()


def removals(phase: str, chosen: Choice, world: World) -> list[Step]:
    """Return a step for each worker that is removed, with what its device costs less."""
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
