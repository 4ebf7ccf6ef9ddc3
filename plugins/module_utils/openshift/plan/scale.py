# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of scale.yml.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.plan.devices import (
    due,
    failed,
    gone,
    orders,
    replaced,
    stale_nodes,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.plan.joining import (
    boot_files,
    coming,
    records,
    requests,
    settings,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.plan.removal import choice, removals
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.plan.step import Plan
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.plan.world import Desired, World

PHASES = (
    "Run preflight checks",
    "Create network and load balancer",
    "Publish boot files",
    "Create worker devices",
    "Wait for workers to join",
    "Remove workers",
)


def plan_scale(desired: Desired, world: World) -> Plan:
    """Return the plan."""
    _check, network, publish, create, join, remove = PHASES
    chosen = choice(desired, world)
    drained = due(desired, world)
    again = {name: why for name, why in failed(desired, world, "workers").items() if name not in drained}
    left = dict.fromkeys(gone(desired, world), "its device does not exist any more")
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
        *boot_files(publish, joining),
        *devices,
        *records(create, ordered, desired),
        *requests(join, joining),
        *settings(join, desired, world),
        *removals(remove, chosen, world),
    ]
    names = ",".join(name.partition(".")[0] for name in chosen.kept)
    notes = [f"To remove a worker that is kept, run scale.yml with -e openshift_remove={names}"] if names else []
    return Plan(desired.cluster, "scale.yml", PHASES, steps, world.price_per_hour, world.problems, chosen.kept, notes)
