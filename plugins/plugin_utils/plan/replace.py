# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of replace.yml."""

from __future__ import annotations

from ..machines.replacement import plan_replacement
from .devices import orders, replaced
from .joining import boot_files, requests
from .step import Plan, Step
from .world import Desired, World

PHASES = ("Run preflight checks", "Replace control plane machines", "Replace workers")


def plan_replace(desired: Desired, world: World) -> tuple[Plan, list[str]]:
    """Return the plan, in the order in which the machines are replaced, and why nothing can be replaced, a sentence each."""
    _check, masters, workers = PHASES
    if not (world.knows_devices and world.knows_nodes):
        return Plan(desired.cluster, "replace.yml", PHASES, [], None, world.problems), []
    chosen = plan_replacement(world.fleet(desired), **desired.replacement, now=world.now)
    drained = [name for name in chosen["workers"] if name in chosen["removed"]]
    others = {step.object: step for step in orders(workers, "workers", world)}
    by_name = {
        step.object: step for step in replaced(workers, dict.fromkeys(drained, "named in openshift_replace"), desired, world, drained=True)
    }
    control_plane = replaced(masters, dict.fromkeys(chosen["control_plane"], "named in openshift_replace"), desired, world, drained=True)
    # Without a step it has a device that an interrupted run has ordered, and may still join.
    ordered = [
        by_name.get(name) or others.get(name) or Step(workers, "wait", "device", name, "its device has no Node yet")
        for name in chosen["workers"]
    ]
    names = [*(step.object for step in control_plane), *chosen["workers"]]
    steps = [*control_plane, *boot_files(workers, names), *ordered, *requests(workers, names)]
    plan = Plan(desired.cluster, "replace.yml", PHASES, steps, world.price_per_hour, world.problems, notes=chosen["skipped"])
    return plan.with_replacements((masters, workers), desired.replace_failed), chosen["problems"]
