# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metal gateways: routers of VLANs, with a block of addresses. A deletion answers 202.

A gateway is ``ready`` until a port joins its VLAN, and then becomes ``active`` in the background: equinix.cloud waits for ``ready``, and
all published samples of gateways without ports have it. One that is ready is gone right after its deletion (metal-cli's end-to-end tests),
an active one is ``deleting`` first. Error texts are ours: none is published.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project
from metal_api.core.addressing import ExhaustedError
from metal_api.core.addressing import network as parsed
from metal_api.core.call import Call, Reply, Route, paths, whole_number
from metal_api.core.errors import unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, resume_each
from metal_api.core.store import JSON, Kind, Record
from metal_api.core.world import World
from metal_api.ip_reservations.address_space import AddressSpace
from metal_api.ip_reservations.record import Assignment, Reservation
from metal_api.virtual_networks import VirtualNetwork, devices_in
from metal_api.vrfs import Vrf

PRIVATE_SIZES = (8, 16, 32, 64, 128)
# Public blocks of gateways: /29 to /25 (vendor's docs).
PUBLIC_PREFIXES = range(25, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalGateway(Record):
    """A router of one VLAN. ``state``: ready, active, deleting (vendor's OpenAPI text)."""

    project_id: str
    vlan_id: str
    reservation_id: str
    state: str
    created_at: str
    updated_at: str
    created_by: str
    vrf_id: str | None = None


def brief(view: Rendering, gateway: MetalGateway) -> JSON:
    block = parsed(str(view.store[Reservation][gateway.reservation_id].network))
    return {
        "id": gateway.id,
        "state": gateway.state,
        "vlan": view.store[VirtualNetwork][gateway.vlan_id].vxlan,
        # The first host of the block, with its prefix (vendor's OpenAPI text).
        "gateway_address": f"{block.network_address + 1}/{block.prefixlen}",
        "created_at": gateway.created_at,
        "updated_at": gateway.updated_at,
        "href": view.path("metal-gateways", gateway.id),
    }


def render_metal_gateway(view: Rendering, gateway: MetalGateway, include: Include) -> JSON:
    store = view.store
    block = store[Reservation][gateway.reservation_id]
    vlan, vrf = store[VirtualNetwork][gateway.vlan_id], store[Vrf].get(gateway.vrf_id)
    lite = brief(view, gateway)
    lite.pop("vlan")
    shown = {
        **lite,
        "created_by": {"href": f"{view.base}/users/{gateway.created_by}"},
        "project": view.part(include, "project", store[Project][gateway.project_id]),
        "virtual_network": view.part(include, "virtual_network", vlan),
        "ip_reservation": view.part(include, "ip_reservation", block),
    }
    if vrf is not None:
        shown["vrf"] = view.part(include, "vrf", vrf)
    if set(shown["ip_reservation"]) == {"href"}:
        # SDKs distinguish their two models by the type and the stub of the VRF, so a stub with only an href fits neither (ours).
        shown["ip_reservation"] |= {"type": block.type, **({"vrf": {"href": shown["vrf"]["href"]}} if vrf is not None else {})}
    return shown


def list_gateways(call: Call) -> Reply:
    call_project = project_of(call, call.params["project_id"])
    gateways = call.world.store[MetalGateway].matching("project", call_project.id)
    return call.page("metal_gateways", gateways, call.shown)


def create_gateway(call: Call) -> Reply:
    project, world = project_of(call, call.params["project_id"]), call.world
    vlan = _vlan(call, project.id)
    size, reservation_id = call.field("private_ipv4_subnet_size"), call.field("ip_reservation_id")
    if bool(size) == bool(reservation_id):
        raise unprocessable("Exactly one of ip_reservation_id and private_ipv4_subnet_size must be given")
    existing = None if size else _reservation(call, vlan, str(reservation_id))
    _refuse_beside_others(call, vlan, existing)
    # The last check: an allocated block stays allocated.
    reservation = _private_block(call, vlan, size) if existing is None else existing
    now = world.now()
    gateway = world.store.put(
        MetalGateway(
            id=str(uuid.uuid4()),
            project_id=project.id,
            vlan_id=vlan.id,
            reservation_id=reservation.id,
            state="ready",
            created_at=now,
            updated_at=now,
            created_by=call.caller.user_id,
            vrf_id=reservation.vrf_id,
        )
    )
    activate(world, vlan.id)
    return Reply(call.shown(gateway), 201)


def activate(world: World, vlan_id: str) -> None:
    """Start to activate the gateways of a VLAN that a port has joined."""
    for gateway in world.store[MetalGateway].matching("vlan", vlan_id):
        if gateway.state == "ready":
            world.tasks.spawn(gateway.id, run(world, gateway.id))


def _has_devices(world: World, gateway: MetalGateway) -> bool:
    return bool(devices_in(world.store, world.store[VirtualNetwork][gateway.vlan_id]))


def _refuse_beside_others(call: Call, vlan: VirtualNetwork, block: Reservation | None) -> None:
    """Raise 422 for a gateway that cannot share its VLAN with the existing ones. ``block`` None: a private one will be created.

    Several private gateways may share a VLAN (equinix.cloud's test against the real service creates two), and those of one VRF, each with
    its own block. A public gateway is the only one (ours: no published example has more).
    """
    store = call.world.store
    present = [gateway for gateway in store[MetalGateway].matching("vlan", vlan.id) if gateway.state != "deleting"]
    kinds = {(store[Reservation][gateway.reservation_id].type, gateway.vrf_id) for gateway in present}
    kind = ("private_ipv4", None) if block is None else (block.type, block.vrf_id)
    if kinds and (kinds != {kind} or kind[0] == "public_ipv4"):
        raise unprocessable("Virtual network already has a metal gateway")


def _vlan(call: Call, project_id: str) -> VirtualNetwork:
    name = call.field("virtual_network_id")
    vlan = call.world.store[VirtualNetwork].get(str(name))
    if vlan is None or vlan.project_id != project_id:
        raise unprocessable("Virtual network can't be blank" if not name else f"Virtual network {name} does not exist in this project")
    return vlan


def _private_block(call: Call, vlan: VirtualNetwork, size: object) -> Reservation:
    number = whole_number(size)
    if number is None or number not in PRIVATE_SIZES:
        raise unprocessable(f"Private ipv4 subnet size must be one of {', '.join(map(str, PRIVATE_SIZES))}")
    world = call.world
    try:
        network = world.service(AddressSpace).reserve("private_ipv4", 33 - number.bit_length())
    except ExhaustedError as problem:
        raise unprocessable(str(problem)) from problem
    block = world.store.put(
        Reservation(
            id=str(uuid.uuid4()),
            project_id=vlan.project_id,
            type="private_ipv4",
            quantity=number,
            network=network,
            metro=vlan.metro,
            state="created",
            created_at=world.now(),
            requested_by=call.caller.user_id,
            requested=False,
            for_gateway=True,
        )
    )
    world.service(AddressSpace).open(block)
    return block


def _reservation(call: Call, vlan: VirtualNetwork, id_: str) -> Reservation:
    store = call.world.store
    reservation = store[Reservation].get(id_)
    if reservation is None or reservation.project_id != vlan.project_id:
        raise unprocessable(f"IP reservation {id_} does not exist in this project")
    if reservation.network is None:
        raise unprocessable("IP reservation is not approved yet")
    if reservation.metro != vlan.metro:
        raise unprocessable("IP reservation must be in the same metro as the virtual network")
    if reservation.type != "vrf" and (reservation.type != "public_ipv4" or parsed(reservation.network).prefixlen not in PUBLIC_PREFIXES):
        raise unprocessable(f"IP reservation must be a public IPv4 block between /{PUBLIC_PREFIXES[0]} and /{PUBLIC_PREFIXES[-1]}")
    if store[MetalGateway].count("reservation", reservation.id) or store[Assignment].count("reservation", reservation.id):
        raise unprocessable("IP reservation is already in use")
    return reservation


async def run(world: World, id_: str) -> None:
    """Finish the activation or deletion of a gateway."""
    gateway = world.store[MetalGateway].get(id_)
    if gateway is None:
        return
    if gateway.state == "ready":
        if not _has_devices(world, gateway):
            return
        await world.policy.pause("gateway")
        gateway = world.store[MetalGateway].get(id_)
        if gateway is not None and _has_devices(world, gateway):
            world.store.put(replace(gateway, state="active", updated_at=world.now()))
    elif gateway.state == "deleting":
        await world.policy.pause("gateway_delete")
        with world.store.transaction():
            erase(world, world.store[MetalGateway][id_])


def erase(world: World, gateway: MetalGateway) -> None:
    """Erase a gateway and the private block that it created; in a transaction."""
    world.erase(gateway)
    block = world.store[Reservation].get(gateway.reservation_id)
    if block is not None and block.for_gateway:
        world.service(AddressSpace).close(block)
        world.store.drop(block)


def _erase_by(key: str) -> Callable[[World, Record], None]:
    """Return a function that erases the gateways whose ``key`` is the erased record's id."""

    def erase_gateways(world: World, owner: Record) -> None:
        for gateway in world.store[MetalGateway].matching(key, owner.id):
            erase(world, gateway)

    return erase_gateways


def show_gateway(call: Call) -> Reply:
    return Reply(call.shown(call.find(MetalGateway)))


def delete_gateway(call: Call) -> Reply:
    gateway, world = call.find(MetalGateway), call.world
    deleting = replace(gateway, state="deleting", updated_at=world.now())
    reply = Reply(call.shown(deleting), 202)
    if gateway.state == "ready":
        erase(world, gateway)
    elif gateway.state == "active":
        world.store.put(deleting)
        world.tasks.spawn(gateway.id, run(world, gateway.id))
    return reply


ROUTES: list[Route] = [
    *paths("GET", list_gateways, "/projects/{project_id}/metal-gateways"),
    *paths("POST", create_gateway, "/projects/{project_id}/metal-gateways"),
    *paths("GET", show_gateway, "/metal-gateways/{id}"),
    *paths("DELETE", delete_gateway, "/metal-gateways/{id}"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[
        Kind(
            MetalGateway,
            "metal_gateways",
            "metal-gateways",
            render_metal_gateway,
            brief,
            keys={
                "project": lambda r: r.project_id,
                "vlan": lambda r: r.vlan_id,
                "reservation": lambda r: r.reservation_id,
                "vrf": lambda r: r.vrf_id,
            },
        )
    ],
    resume=resume_each(MetalGateway, lambda r: r.state != "active", run),
    on_erase={Project: _erase_by("project"), VirtualNetwork: _erase_by("vlan")},
)
