# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of VRFs: only static default routes are accepted (vendor's OpenAPI text). Error texts are ours."""

from __future__ import annotations

import ipaddress
import uuid
from dataclasses import dataclass, replace

from metal_api.core.addressing import contains
from metal_api.core.addressing import network as parsed
from metal_api.core.body import Body
from metal_api.core.call import Call, Reply, Route, paths, updates
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with, resume_each
from metal_api.core.store import JSON, Kind, Record
from metal_api.core.world import World
from metal_api.ip_reservations.record import Reservation
from metal_api.metal_gateways import MetalGateway
from metal_api.virtual_networks import VirtualNetwork
from metal_api.vrfs import Vrf

_ANYWHERE = ("0.0.0.0/0", "::/0")


@dataclass(frozen=True, slots=True, kw_only=True)
class VrfRoute(Record):
    """A static default route. ``status``: pending, active, deleting (vendor's OpenAPI text)."""

    vrf_id: str
    project_id: str
    gateway_id: str
    prefix: str
    next_hop: str
    status: str
    created_at: str
    updated_at: str
    tags: tuple[str, ...] = ()


def render_vrf_route(view: Rendering, route: VrfRoute, include: Include) -> JSON:
    store = view.store
    gateway = store[MetalGateway][route.gateway_id]
    vlan, vrf = store[VirtualNetwork][gateway.vlan_id], store[Vrf][route.vrf_id]
    return {
        "id": route.id,
        "type": "static",
        "status": route.status,
        "prefix": route.prefix,
        "next_hop": route.next_hop,
        "tags": list(route.tags),
        "vrf": view.part(include, "vrf", vrf),
        "metal_gateway": view.part(include, "metal_gateway", gateway),
        "virtual_network": view.part(include, "virtual_network", vlan),
        "created_at": route.created_at,
        "updated_at": route.updated_at,
        "href": view.path("routes", route.id),
    }


def list_routes(call: Call) -> Reply:
    routes = call.world.store[VrfRoute].matching("vrf", call.find(Vrf).id)
    return Reply({"routes": [call.shown(route) for route in routes]})


def create_route(call: Call) -> Reply:
    """Create a route: the answer is 200 and pending, later it is active. Its next hop is in the block of one of the VRF's gateways."""
    vrf, world = call.find(Vrf), call.world
    read = Body(call.body)
    attributes = read.attributes("tags")
    prefix = str(call.field("prefix") or "")
    if prefix not in _ANYWHERE:
        read.problems.append(f"Prefix must be one of {', '.join(_ANYWHERE)}")
    if any(existing.prefix == prefix for existing in world.store[VrfRoute].matching("vrf", vrf.id)):
        read.problems.append("Prefix has already been taken")
    next_hop = str(call.field("next_hop") or "")
    gateway = _gateway(world, vrf, next_hop)
    if gateway is None:
        read.problems.append("Next hop is not an address of a metal gateway's block in this VRF")
    read.fail()
    assert gateway is not None  # noqa: S101 - else fail() has raised
    now = world.now()
    route = world.store.put(
        VrfRoute(
            id=str(uuid.uuid4()),
            vrf_id=vrf.id,
            project_id=vrf.project_id,
            gateway_id=gateway.id,
            prefix=prefix,
            next_hop=next_hop,
            status="pending",
            created_at=now,
            updated_at=now,
            **attributes,
        )
    )
    world.tasks.spawn(route.id, run_route(world, route.id))
    return Reply(call.shown(route))


def _gateway(world: World, vrf: Vrf, next_hop: str) -> MetalGateway | None:
    try:
        hop = ipaddress.ip_network(next_hop)
    except ValueError:
        return None
    for gateway in world.store[MetalGateway].matching("vrf", vrf.id):
        block = world.store[Reservation][gateway.reservation_id]
        if gateway.state != "deleting" and contains(parsed(str(block.network)), hop):
            return gateway
    return None


async def run_route(world: World, id_: str) -> None:
    await world.policy.pause("vrf_route")
    route = world.store[VrfRoute].get(id_)
    if route is None:
        return
    if route.status == "deleting":
        world.store.drop(route)
    else:
        world.store.put(replace(route, status="active", updated_at=world.now()))


def show_route(call: Call) -> Reply:
    return Reply(call.shown(call.find(VrfRoute)))


def update_route(call: Call) -> Reply:
    """Update next hop and tags; the answer is 202."""
    route, world = call.find(VrfRoute), call.world
    read = Body(call.body)
    changes = read.attributes("tags")
    if call.field("next_hop") is not None:
        gateway = _gateway(world, world.store[Vrf][route.vrf_id], str(call.field("next_hop")))
        if gateway is None:
            read.problems.append("Next hop is not an address of a metal gateway's block in this VRF")
        else:
            changes |= {"next_hop": str(call.field("next_hop")), "gateway_id": gateway.id, "status": "pending"}
    read.fail()
    route = world.store.put(replace(route, updated_at=world.now(), **changes))
    world.tasks.spawn(route.id, run_route(world, route.id))
    return Reply(call.shown(route), 202)


def delete_route(call: Call) -> Reply:
    world = call.world
    route = world.store.put(replace(call.find(VrfRoute), status="deleting", updated_at=world.now()))
    world.tasks.spawn(route.id, run_route(world, route.id))
    return Reply(call.shown(route), 202)


ROUTES: list[Route] = [
    *paths("GET", list_routes, "/vrfs/{id}/routes"),
    *paths("POST", create_route, "/vrfs/{id}/routes"),
    *paths("GET", show_route, "/routes/{id}"),
    *updates("/routes/{id}", update_route),
    *paths("DELETE", delete_route, "/routes/{id}"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[Kind(VrfRoute, "vrf_routes", "routes", render_vrf_route, keys={"vrf": lambda r: r.vrf_id, "gateway": lambda r: r.gateway_id})],
    resume=resume_each(VrfRoute, lambda r: r.status != "active", run_route),
    on_erase={MetalGateway: drop_with(VrfRoute, "gateway")},
)
