# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware reservations: servers reserved for a project, which can be moved between projects and chosen for a device.

The API cannot order them (the vendor sold them): the control API creates them. Of two error texts only the middle is known (clients search
for these words); the rest of them is ours, as is every other text here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project
from metal_api.catalogue.data import catalogue
from metal_api.catalogue.rendering import facility_part, plan_part
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.errors import is_blank, not_found, not_valid, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, blocked_by, resume_each
from metal_api.core.store import JSON, Kind, Record
from metal_api.core.world import World

NEXT = "next-available"

_NONE_LEFT = "There are no available hardware reservations for this project matching your criteria"  # known: " no available ... "
_NOT_READY = "Server is not provisionable"  # known: these words


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareReservation(Record):
    """A server reserved for a project. ``provisionable`` is False while it is in use, and until it is wiped after that.

    ``freeing``: its device is deleted and it is being wiped, which continues after a restart of the server.
    """

    project_id: str
    plan: str
    metro: str
    created_at: str
    switch_uuid: str
    device_id: str | None = None
    provisionable: bool = True
    freeing: bool = False
    spare: bool = False
    need_of_service: bool = False
    custom_rate: float | None = None
    description: str | None = None
    termination_time: str | None = None


def render_hardware_reservation(view: Rendering, reservation: HardwareReservation, include: Include) -> JSON:
    plan, metro = catalogue().plans[reservation.plan], catalogue().metros[reservation.metro]
    device = view.store["devices"].get(reservation.device_id)
    project = view.store[Project][reservation.project_id]
    return {
        "id": reservation.id,
        "short_id": reservation.id[:8],
        "custom_rate": reservation.custom_rate,
        "provisionable": reservation.provisionable,
        "spare": reservation.spare,
        "need_of_service": reservation.need_of_service,
        "switch_uuid": reservation.switch_uuid,
        "termination_time": reservation.termination_time,
        "plan": plan_part(view, include, plan, by_default=True),
        "facility": facility_part(view, include, metro),
        "project": view.part(include, "project", project),
        "device": view.part(include, "device", device) if device is not None else None,
        "created_at": reservation.created_at,
        "href": view.path("hardware-reservations", reservation.id),
    }


def choose(world: World, project: Project, body: dict[str, Any]) -> HardwareReservation | None:
    """Return the reservation that the body of a create requests, by id or ``next-available``, None for none. Raises 422."""
    name = body.get("hardware_reservation_id")
    if not name:
        return None
    own: list[HardwareReservation] = world.store[HardwareReservation].matching("project", project.id)
    plan = catalogue().plan(body.get("plan"))
    if plan is None and not is_blank(body.get("plan")):
        raise unprocessable(not_valid(body["plan"], "plan"))
    metros = _metros(world, body)
    if name == NEXT:
        for candidate in own:
            if usable(candidate) and (plan is None or candidate.plan == plan.slug) and (metros is None or candidate.metro in metros):
                return candidate
        raise unprocessable(_NONE_LEFT)
    reservation = next((entry for entry in own if entry.id == name), None)
    if reservation is None:
        raise unprocessable(not_valid(name, "hardware reservation"))
    if not usable(reservation):
        raise unprocessable(_NOT_READY)
    # Plan and location may be omitted (vendor's docs), else they have to be those of the reservation.
    if plan is not None and plan.slug != reservation.plan:
        raise unprocessable(f"Hardware reservation is for plan {reservation.plan}")
    if metros is not None and reservation.metro not in metros:
        raise unprocessable(f"Hardware reservation is in metro {reservation.metro}")
    return reservation


def _metros(world: World, body: dict[str, Any]) -> set[str] | None:
    """Return the codes of the requested metros, None for any. Invalid names are reported when the location is read."""
    places = body.get("metro") or body.get("facility")
    names = places if isinstance(places, list) else [places] if places else []
    if not names or any(str(name).lower() == "any" for name in names):
        return None
    metros = (catalogue().metro(name) or catalogue().metro_of_facility(name) for name in names)
    return {metro.code for metro in metros if metro is not None}


def usable(reservation: HardwareReservation) -> bool:
    return reservation.provisionable and reservation.device_id is None and not reservation.spare and not reservation.need_of_service


def take(world: World, reservation: HardwareReservation, device_id: str) -> None:
    world.store.put(replace(reservation, device_id=device_id, provisionable=False))


def release(world: World, reservation: HardwareReservation) -> None:
    """Release the reservation of a deleted device and start to wipe it, before which it cannot be used (public issue threads).

    To be called in a transaction.
    """
    world.store.put(replace(reservation, device_id=None, provisionable=False, freeing=True))
    world.tasks.spawn(reservation.id, wipe(world, reservation.id))


async def wipe(world: World, id_: str) -> None:
    await world.policy.pause("reservation_wipe")
    world.store.put(replace(world.store[HardwareReservation][id_], provisionable=True, freeing=False))


def list_reservations(call: Call) -> Reply:
    """List reservations. ``query`` searches ids, plan and location (ours in detail); ``state``: active, spare, need_of_service.

    ``provisionable=only``: without those that cannot be used.
    """
    world = call.world
    reservations: list[HardwareReservation] = world.store[HardwareReservation].matching("project", project_of(call).id)
    if text := call.query.get("query", "").lower():
        reservations = [
            reservation
            for reservation in reservations
            if any(text in part for part in (reservation.id, reservation.plan, reservation.metro, _facility(call, reservation)))
        ]
    if states := call.values("state"):
        reservations = [reservation for reservation in reservations if state(reservation) in states]
    if call.query.get("provisionable") == "only":
        reservations = [reservation for reservation in reservations if usable(reservation)]
    return call.page("hardware_reservations", reservations, call.shown)


def _facility(call: Call, reservation: HardwareReservation) -> str:
    return catalogue().metros[reservation.metro].facility


def state(reservation: HardwareReservation) -> str:
    return "spare" if reservation.spare else "need_of_service" if reservation.need_of_service else "active"


def show_reservation(call: Call) -> Reply:
    return Reply(call.shown(call.find(HardwareReservation)))


def move(call: Call) -> Reply:
    """Move a reservation to another project of the caller. The reservation of a server is moved in the rack file."""
    reservation = call.find(HardwareReservation)
    server = call.world.store["servers"].get(reservation.id)
    if server is not None:
        raise unprocessable(f"Cannot move the hardware reservation of server {server.name}: reserved_for in the rack file sets its project")
    if not call.field("project_id"):
        raise unprocessable("Project can't be blank")
    target = call.world.store[Project].get(str(call.field("project_id")))
    if target is None or not call.caller.sees(target.id):
        raise not_found()
    if reservation.device_id is not None:
        raise unprocessable("Cannot move a hardware reservation with an active device")
    moved = call.world.store.put(replace(reservation, project_id=target.id))
    return Reply(call.shown(moved), 201)


def activate(call: Call) -> Reply:
    """Turn a spare into an ordinary reservation."""
    reservation = call.find(HardwareReservation)
    if not reservation.spare:
        raise unprocessable("Hardware reservation is not a spare")
    description = call.field("description")
    active = replace(reservation, spare=False, description=str(description) if description is not None else None)
    return Reply(call.shown(call.world.store.put(active)), 201)


ROUTES: list[Route] = [
    *paths("GET", list_reservations, "/projects/{id}/hardware-reservations"),
    *paths("GET", show_reservation, "/hardware-reservations/{id}"),
    *paths("POST", move, "/hardware-reservations/{id}/move"),
    *paths("POST", activate, "/hardware-reservations/{id}/activate"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[
        Kind(
            HardwareReservation,
            "hardware_reservations",
            "hardware-reservations",
            render_hardware_reservation,
            keys={"project": lambda r: r.project_id, "device": lambda r: r.device_id},
        )
    ],
    resume=resume_each(HardwareReservation, lambda r: r.freeing, wipe),
    blockers={Project: blocked_by(HardwareReservation, "project", "hardware reservations")},
)
