# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of VLAN changes of one port, processed in the background.

States: queued, in_progress, completed or failed (vendor's OpenAPI text).
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, replace
from typing import Any

from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.database import DatabaseError
from metal_api.core.errors import ApiError, not_found, not_valid, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.store import JSON, Record
from metal_api.core.world import World
from metal_api.devices.record import Device, Port
from metal_api.ports.routes import find
from metal_api.ports.rules import Ports

LOG = logging.getLogger(__name__)

UNDER_WAY = frozenset({"queued", "in_progress"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VlanBatch(Record):
    """A request to change the VLANs of one port: ``assignments`` as ``{"vlan_id", "vlan", "state", "native"}``."""

    port_id: str
    project_id: str
    state: str
    created_at: str
    updated_at: str
    assignments: tuple[dict[str, Any], ...] = ()
    error_messages: tuple[str, ...] = ()


def render_vlan_batch(view: Rendering, batch: VlanBatch, include: Include) -> JSON:
    port = view.store[Port].get(batch.port_id)
    return {
        "id": batch.id,
        "state": batch.state,
        "quantity": len(batch.assignments),
        "error_messages": list(batch.error_messages),
        "vlan_assignments": [
            {"id": assignment["vlan_id"], "vlan": assignment["vlan"], "state": assignment["state"], "native": assignment["native"]}
            for assignment in batch.assignments
        ],
        "port": view.part(include, "port", port) if port is not None else None,
        "project": {"href": view.path("projects", batch.project_id)},
        "created_at": batch.created_at,
        "updated_at": batch.updated_at,
        "href": f"{view.base}/ports/{batch.port_id}/vlan-assignments/batches/{batch.id}",
    }


def create_batch(call: Call) -> Reply:
    rules, port = find(call)
    entries = call.body.get("vlan_assignments")
    if not isinstance(entries, list) or not entries or not all(isinstance(item, dict) for item in entries):
        raise unprocessable("Vlan assignments can't be blank")
    assignments = []
    for entry in entries:
        # Older OpenAPI texts and clients omit the state for "assigned".
        state = entry.get("state") or "assigned"
        if state not in ("assigned", "unassigned"):
            raise unprocessable(not_valid(state, "state"))
        vlan = rules.vlan(entry.get("vlan"))
        assignments.append({"vlan_id": vlan.id, "vlan": vlan.vxlan, "state": state, "native": bool(entry.get("native"))})
    world, now = call.world, call.world.now()
    device = world.store[Device][port.device_id]
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
    world.tasks.spawn(batch.id, run(world, batch.id))
    return Reply(call.shown(batch), 201)


async def run(world: World, batch_id: str) -> None:
    """Apply a batch: all changes or none. A deleted port deletes its batches."""
    for state in ("in_progress", "completed"):
        await world.policy.pause("vlan_batch", share=0.5)
        batch = world.store[VlanBatch].get(batch_id)
        if batch is None:
            return
        try:
            with world.store.transaction():
                if state == "completed":
                    _apply(world, batch)
                world.store.put(replace(batch, state=state, updated_at=world.now()))
        except ApiError as problem:
            world.store.put(replace(batch, state="failed", error_messages=problem.texts, updated_at=world.now()))
        except DatabaseError:
            raise
        except Exception as error:
            LOG.exception("batch %s failed", batch_id)
            text = f"Error of the Metal API server, its log has more: {type(error).__name__}: {error}"
            world.store.put(replace(batch, state="failed", error_messages=(text,), updated_at=world.now()))


def _apply(world: World, batch: VlanBatch) -> None:
    """Apply the changes: first unassign, then assign, then set the native VLAN."""
    rules = Ports(world, world.store[Device][world.store[Port][batch.port_id].device_id])

    def port() -> Port:
        return world.store[Port][batch.port_id]

    def vlan(change: dict[str, Any]) -> Any:
        return rules.vlan(change["vlan_id"])

    for assignment in batch.assignments:
        # A batch may unassign a VLAN that is not assigned (clients' code); the call for a single VLAN refuses it.
        if assignment["state"] == "unassigned" and assignment["vlan_id"] in port().vlan_ids:
            if port().native_vlan_id == assignment["vlan_id"]:
                rules.clear_native(port())
            rules.unassign(port(), vlan(assignment))
    for assignment in batch.assignments:
        if assignment["state"] == "assigned" and assignment["vlan_id"] not in port().vlan_ids:
            rules.assign(port(), vlan(assignment))
    for assignment in batch.assignments:
        if assignment["state"] == "assigned" and assignment["native"]:
            rules.set_native(port(), vlan(assignment))


def list_batches(call: Call) -> Reply:
    port = find(call)[1]
    batches = call.world.store[VlanBatch].matching("port", port.id)
    return Reply({"batches": [call.shown(batch) for batch in batches]})


def show_batch(call: Call) -> Reply:
    port = find(call)[1]
    batch = call.world.store[VlanBatch].get(call.params["batch_id"])
    if batch is None or batch.port_id != port.id:
        raise not_found()
    return Reply(call.shown(batch))


ROUTES: list[Route] = [
    *paths("GET", list_batches, "/ports/{id}/vlan-assignments/batches"),
    *paths("POST", create_batch, "/ports/{id}/vlan-assignments/batches"),
    *paths("GET", show_batch, "/ports/{id}/vlan-assignments/batches/{batch_id}"),
]
