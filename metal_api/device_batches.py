# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches: orders for several devices in one request, processed in the background.

States: queued, in_progress, completed, failed (vendor's OpenAPI text); the first answer is queued, without devices (vendor's docs).
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project
from metal_api.core.call import Call, Reply, Route, paths, whole_number
from metal_api.core.database import DatabaseError
from metal_api.core.errors import ApiError, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with, resume_each
from metal_api.core.store import JSON, Kind, Record
from metal_api.core.world import World
from metal_api.devices.body import DeviceBody
from metal_api.devices.hostnames import hostnames
from metal_api.devices.ordering import deprovision, order
from metal_api.devices.record import Device

LOG = logging.getLogger(__name__)

UNDER_WAY = frozenset({"queued", "in_progress"})
# Ours: no limit is known. The request for a batch is one transaction.
LARGEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBatch(Record):
    """An order for several devices. ``body``: what the pending creates have in common, once: userdata may have megabytes.

    ``hostnames``: of the pending creates, None where the service chooses. ``orders``: bodies of the pending creates, in records of earlier
    versions.
    """

    project_id: str
    state: str
    quantity: int
    created_at: str
    updated_at: str
    created_by: str
    body: dict[str, Any] = field(default_factory=dict)
    hostnames: tuple[str | None, ...] = ()
    orders: tuple[dict[str, Any], ...] = ()
    device_ids: tuple[str, ...] = ()
    error_messages: tuple[str, ...] = ()


def render_device_batch(view: Rendering, batch: DeviceBatch, include: Include) -> JSON:
    devices = [device for device in map(view.store[Device].get, batch.device_ids) if device is not None]
    return {
        "id": batch.id,
        "state": batch.state,
        "quantity": batch.quantity,
        "error_messages": list(batch.error_messages),
        "devices": view.parts(include, "devices", devices),
        "project": view.part(include, "project", view.store[Project][batch.project_id]),
        "created_at": batch.created_at,
        "updated_at": batch.updated_at,
        "href": view.path("batches", batch.id),
    }


def create_batches(call: Call) -> Reply:
    """Create batches. Invalid bodies are refused at once; stock and quota are checked when the devices are ordered (ours)."""
    project, world, now = project_of(call), call.world, call.world.now()
    bodies = call.body.get("batches")
    if not isinstance(bodies, list) or not bodies or not all(isinstance(entry, dict) for entry in bodies):
        raise unprocessable("Batches can't be blank")
    quantities = [_quantity(entry) for entry in bodies]
    if sum(quantities) > LARGEST:
        raise unprocessable(f"Batches may have {LARGEST} devices together")
    made = []
    for body, quantity in zip(bodies, quantities, strict=True):
        names = hostnames(body, quantity)
        common = {
            name: value for name, value in body.items() if name not in {"quantity", "hostname", "hostnames", "facility_diversity_level"}
        }
        _check(world, common, names)
        batch = DeviceBatch(
            id=str(uuid.uuid4()),
            project_id=project.id,
            state="queued",
            quantity=quantity,
            body=common,
            hostnames=tuple(names),
            created_at=now,
            updated_at=now,
            created_by=call.caller.user_id,
        )
        made.append(world.store.put(batch))
    for batch in made:
        world.tasks.spawn(batch.id, run(world, batch.id))
    return Reply({"batches": [call.shown(record) for record in made]}, 201)


def _quantity(body: dict[str, Any]) -> int:
    quantity = whole_number(body.get("quantity", 1))
    if quantity is None or not 1 <= quantity <= LARGEST:
        raise unprocessable(f"Quantity must be between 1 and {LARGEST}")
    return quantity


def _check(world: World, body: dict[str, Any], names: list[str | None]) -> None:
    """Raise 422 for orders that are invalid whatever stock and quota are."""
    for number, name in enumerate(names):
        read = DeviceBody(world, _one(body, name))
        further = ("tags", "customdata", "userdata", "ipxe_script_url") if number == 0 else ()
        read.attributes("hostname", *further, blank={"hostname"})
        # A reservation has a plan.
        if number == 0 and not body.get("hardware_reservation_id"):
            read.operating_system(read.plan())
        read.fail()


def _one(body: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Return the body that creates one device of a batch."""
    return body if name is None else {**body, "hostname": name}


async def run(world: World, id_: str) -> None:
    """Order the devices of a batch one by one, so that other requests run in between. After a restart it continues with the next device."""
    await world.policy.pause("device_batch")
    while (batch := world.store[DeviceBatch].get(id_)) is not None and batch.state in UNDER_WAY:
        try:
            with world.store.transaction():
                world.store.put(_step(world, batch))
        except DatabaseError:
            raise
        except Exception as error:
            LOG.exception("an order of batch %s failed", id_)
            text = f"Error of the Metal API server, its log has more: {type(error).__name__}: {error}"
            world.store.put(replace(_ended(batch, "failed"), error_messages=(*batch.error_messages, text), updated_at=world.now()))
        await asyncio.sleep(0)


def _step(world: World, batch: DeviceBatch) -> DeviceBatch:
    batch = replace(batch, updated_at=world.now())
    project = world.store[Project].get(batch.project_id)
    if not (batch.orders or batch.hostnames) or project is None:
        return _ended(batch, "failed" if batch.error_messages else "completed")
    if batch.orders:
        body, batch = batch.orders[0], replace(batch, orders=batch.orders[1:])
    else:
        body, batch = _one(batch.body, batch.hostnames[0]), replace(batch, hostnames=batch.hostnames[1:])
    try:
        device = order(world, body, project, user_id=batch.created_by)
    except ApiError as problem:
        # The other orders of the batch are still tried (ours); equal messages are listed once.
        texts = tuple(dict.fromkeys((*batch.error_messages, *problem.texts)))
        return replace(batch, state="in_progress", error_messages=texts)
    return replace(batch, state="in_progress", device_ids=(*batch.device_ids, device.id))


def _ended(batch: DeviceBatch, state: str) -> DeviceBatch:
    return replace(batch, state=state, body={}, hostnames=(), orders=())


def list_batches(call: Call) -> Reply:
    batches = call.world.store[DeviceBatch].matching("project", project_of(call).id)
    return Reply({"batches": [call.shown(batch) for batch in batches]})


def show_batch(call: Call) -> Reply:
    return Reply(call.shown(call.find(DeviceBatch)))


def delete_batch(call: Call) -> Reply:
    """Delete a batch and its pending orders. Its devices stay, unless ``remove_associated_instances`` is set."""
    batch = call.find(DeviceBatch)
    if call.flag("remove_associated_instances"):
        for device in filter(None, map(call.world.store[Device].get, batch.device_ids)):
            deprovision(call.world, device)
    call.world.store.drop(batch)
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("POST", create_batches, "/projects/{id}/devices/batch"),
    *paths("GET", list_batches, "/projects/{id}/batches"),
    *paths("GET", show_batch, "/batches/{id}"),
    *paths("DELETE", delete_batch, "/batches/{id}"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[Kind(DeviceBatch, "device_batches", "batches", render_device_batch, keys={"project": lambda r: r.project_id})],
    resume=resume_each(DeviceBatch, lambda r: r.state in UNDER_WAY, run),
    on_erase={Project: drop_with(DeviceBatch, "project")},
)
