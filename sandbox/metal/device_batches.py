# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders for several devices in one request, worked off afterwards.

States: queued, in_progress, completed, failed (vendor's OpenAPI text); the first answer is queued and names no devices (vendor's docs).
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.metal.calls import Call, Reply, Route, paths, whole_number
from sandbox.metal.device_input import DeviceInput, Order
from sandbox.metal.devices import give_up, order
from sandbox.metal.errors import ApiError, unprocessable
from sandbox.metal.hostnames import hostnames
from sandbox.metal.records import DeviceBatch

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld

UNDER_WAY = frozenset({"queued", "in_progress"})
# Ours: no figure is known. A batch is one transaction until it is answered.
LARGEST = 1000


def create_batches(call: Call) -> Reply:
    """What no device of a batch could be made of is refused at once; stock and quota are looked at when the devices are ordered (ours)."""
    project, world, now = call.project(), call.world, call.world.now()
    asked = call.body.get("batches")
    if not isinstance(asked, list) or not asked or not all(isinstance(each, dict) for each in asked):
        raise unprocessable("Batches can't be blank")
    made = []
    for body in asked:
        orders = _orders(world, body)
        batch = DeviceBatch(
            id=str(uuid.uuid4()),
            project_id=project.id,
            state="queued",
            quantity=len(orders),
            orders=orders,
            created_at=now,
            updated_at=now,
            created_by=call.caller.user_id,
        )
        made.append(world.store.put(batch))
    for batch in made:
        world.lifecycle.spawn(batch.id, run(world, batch.id))
    return Reply({"batches": [call.rendering.device_batch(each, call.wanted) for each in made]}, 201)


def _orders(world: MetalWorld, body: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    quantity = whole_number(body.get("quantity", 1))
    if quantity is None or not 1 <= quantity <= LARGEST:
        raise unprocessable(f"Quantity must be between 1 and {LARGEST}")
    names = hostnames(body, quantity)
    one = {name: value for name, value in body.items() if name not in {"quantity", "hostname", "hostnames", "facility_diversity_level"}}
    orders = [{**one, **({"hostname": name} if name is not None else {})} for name in names]
    if not body.get("hardware_reservation_id"):
        for number, each in enumerate(orders):
            read = DeviceInput(Order(world, each))
            further = ("tags", "customdata", "userdata", "ipxe_script_url") if number == 0 else ()
            read.attributes("hostname", *further, blank={"hostname"})
            if number == 0:
                read.operating_system(read.plan())
            read.fail()
    return tuple(orders)


async def run(world: MetalWorld, id_: str) -> None:
    """Work a batch off, a device a step, so that other requests come between. Killed, it goes on with the next device."""
    await world.clock.sleep(world.duration("device_batch"))
    while (batch := world.store.device_batches.get(id_)) is not None and batch.state in UNDER_WAY:
        with world.store.transaction():
            world.store.put(_step(world, batch))
        await asyncio.sleep(0)


def _step(world: MetalWorld, batch: DeviceBatch) -> DeviceBatch:
    batch = replace(batch, updated_at=world.now())
    project = world.store.projects.get(batch.project_id)
    if not batch.orders or project is None:
        return replace(batch, state="failed" if batch.error_messages else "completed")
    try:
        device = order(world, batch.orders[0], project, user_id=batch.created_by)
    except ApiError as problem:
        # The others of the batch are still tried (ours); one text is told once.
        texts = tuple(dict.fromkeys((*batch.error_messages, *problem.texts)))
        return replace(batch, state="in_progress", orders=batch.orders[1:], error_messages=texts)
    return replace(batch, state="in_progress", orders=batch.orders[1:], device_ids=(*batch.device_ids, device.id))


def list_batches(call: Call) -> Reply:
    found = call.world.store.device_batches.by("project", call.project().id)
    return Reply({"batches": [call.rendering.device_batch(each, call.wanted) for each in found]})


def _batch(call: Call) -> DeviceBatch:
    found: DeviceBatch = call.find(call.world.store.device_batches)
    return found


def show_batch(call: Call) -> Reply:
    return Reply(call.rendering.device_batch(_batch(call), call.wanted))


def delete_batch(call: Call) -> Reply:
    """What is not ordered yet is not ordered any more. Its devices stay, unless ``remove_associated_instances`` is said."""
    batch = _batch(call)
    if call.flag("remove_associated_instances"):
        for device in filter(None, map(call.world.store.devices.get, batch.device_ids)):
            give_up(call.world, device)
    call.world.store.drop(batch)
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("POST", create_batches, "/projects/{id}/devices/batch"),
    *paths("GET", list_batches, "/projects/{id}/batches"),
    *paths("GET", show_batch, "/batches/{id}"),
    *paths("DELETE", delete_batch, "/batches/{id}"),
]
