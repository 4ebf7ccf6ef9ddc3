# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several VLAN changes of one port in one request, worked off afterwards.

States: queued, in_progress, completed or failed (vendor's OpenAPI text).
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.metal import ports
from sandbox.metal.calls import Call, Reply, Route, paths
from sandbox.metal.errors import ApiError, not_found, not_valid, unprocessable
from sandbox.metal.port_rules import Ports
from sandbox.metal.records import Port, VlanBatch

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld

UNDER_WAY = frozenset({"queued", "in_progress"})


def create_batch(call: Call) -> Reply:
    found, port = ports.find(call)
    asked = call.body.get("vlan_assignments")
    if not isinstance(asked, list) or not asked or not all(isinstance(each, dict) for each in asked):
        raise unprocessable("Vlan assignments can't be blank")
    assignments = []
    for each in asked:
        # Older texts and clients leave the state out for "assigned".
        state = each.get("state") or "assigned"
        if state not in ("assigned", "unassigned"):
            raise unprocessable(not_valid(state, "state"))
        vlan = found.vlan(each.get("vlan"))
        assignments.append({"vlan_id": vlan.id, "vlan": vlan.vxlan, "state": state, "native": bool(each.get("native"))})
    world, now = call.world, call.world.now()
    device = world.store.devices[port.device_id]
    batch = world.store.put(
        VlanBatch(
            id=str(uuid.uuid4()),
            port_id=port.id,
            project_id=device.project_id,
            state="queued",
            created_at=now,
            updated_at=now,
            assignments=tuple(assignments),
        )
    )
    world.lifecycle.spawn(batch.id, run(world, batch.id))
    return Reply(call.rendering.vlan_batch(batch, call.wanted), 201)


async def run(world: MetalWorld, batch_id: str) -> None:
    """Work a batch off: all of it or nothing. A port that is gone takes its batches with it."""
    for state in ("in_progress", "completed"):
        await world.clock.sleep(world.duration("vlan_batch") / 2)
        batch = world.store.vlan_batches.get(batch_id)
        if batch is None:
            return
        try:
            with world.store.transaction():
                if state == "completed":
                    _apply(world, batch)
                world.store.put(replace(batch, state=state, updated_at=world.now()))
        except ApiError as problem:
            world.store.put(replace(batch, state="failed", error_messages=problem.texts, updated_at=world.now()))


def _apply(world: MetalWorld, batch: VlanBatch) -> None:
    """What goes, goes first; what becomes native, last."""
    rules = Ports(world, world.store.devices[world.store.ports[batch.port_id].device_id])

    def port() -> Port:
        return world.store.ports[batch.port_id]

    def vlan(each: dict[str, Any]) -> Any:
        return rules.vlan(each["vlan_id"])

    for each in batch.assignments:
        # What is not there need not be taken off (clients' code); the call for a single VLAN refuses it.
        if each["state"] == "unassigned" and each["vlan_id"] in port().vlan_ids:
            if port().native_vlan_id == each["vlan_id"]:
                rules.clear_native(port())
            rules.unassign(port(), vlan(each))
    for each in batch.assignments:
        if each["state"] == "assigned" and each["vlan_id"] not in port().vlan_ids:
            rules.assign(port(), vlan(each))
    for each in batch.assignments:
        if each["state"] == "assigned" and each["native"]:
            rules.set_native(port(), vlan(each))


def list_batches(call: Call) -> Reply:
    port = ports.find(call)[1]
    found = call.world.store.vlan_batches.by("port", port.id)
    return Reply({"batches": [call.rendering.vlan_batch(each, call.wanted) for each in found]})


def show_batch(call: Call) -> Reply:
    port = ports.find(call)[1]
    batch = call.world.store.vlan_batches.get(call.params["batch_id"])
    if batch is None or batch.port_id != port.id:
        raise not_found()
    return Reply(call.rendering.vlan_batch(batch, call.wanted))


ROUTES: list[Route] = [
    *paths("GET", list_batches, "/ports/{id}/vlan-assignments/batches"),
    *paths("POST", create_batch, "/ports/{id}/vlan-assignments/batches"),
    *paths("GET", show_batch, "/ports/{id}/vlan-assignments/batches/{batch_id}"),
]
