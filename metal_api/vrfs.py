# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VRFs: routing tables of the customer's own addresses. Error texts are ours: none is published."""

from __future__ import annotations

import ipaddress
import uuid
from dataclasses import dataclass, replace
from typing import Any

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project, User
from metal_api.catalogue.data import catalogue
from metal_api.catalogue.rendering import metro_part
from metal_api.core.addressing import Network, contains
from metal_api.core.addressing import network as parsed
from metal_api.core.body import Body
from metal_api.core.call import Call, Reply, Route, paths, updates
from metal_api.core.errors import not_valid, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with
from metal_api.core.store import JSON, Kind, Record

# Prefix lengths of an IP range by family (clients' code; vendor's OpenAPI text).
RANGES = {4: range(8, 30), 6: range(56, 65)}

# The example of the vendor's OpenAPI text; the default is not documented.
DEFAULT_ASN = 65000
LARGEST_ASN = 4294967295


@dataclass(frozen=True, slots=True, kw_only=True)
class Vrf(Record):
    """A customer's routing table in one metro; blocks of its ``ip_ranges`` are reserved like other blocks."""

    project_id: str
    name: str
    metro: str
    local_asn: int
    created_at: str
    updated_at: str
    created_by: str
    description: str | None = None
    ip_ranges: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def render_vrf(view: Rendering, vrf: Vrf, include: Include) -> JSON:
    metro, user = catalogue().metros[vrf.metro], view.store[User][vrf.created_by]
    return {
        "id": vrf.id,
        "name": vrf.name,
        "description": vrf.description,
        "local_asn": vrf.local_asn,
        "ip_ranges": list(vrf.ip_ranges),
        "tags": list(vrf.tags),
        "bill": False,
        "bgp_dynamic_neighbors_enabled": False,
        "bgp_dynamic_neighbors_export_route_map": False,
        "bgp_dynamic_neighbors_bfd_enabled": False,
        "virtual_circuits": [],
        "metro": metro_part(view, include, metro, by_default=True),
        "project": view.part(include, "project", view.store[Project][vrf.project_id]),
        "created_by": view.part(include, "created_by", user),
        "created_at": vrf.created_at,
        "updated_at": vrf.updated_at,
        "href": view.path("vrfs", vrf.id),
    }


def list_vrfs(call: Call) -> Reply:
    """Not paged (vendor's OpenAPI text). Filter: metro."""
    vrfs: list[Vrf] = call.world.store[Vrf].matching("project", project_of(call).id)
    if codes := call.values("metro"):
        metros = {getattr(catalogue().metro(code), "code", None) for code in codes}
        vrfs = [vrf for vrf in vrfs if vrf.metro in metros]
    return Reply({"vrfs": [call.shown(vrf) for vrf in vrfs]})


def create_vrf(call: Call) -> Reply:
    project, world = project_of(call), call.world
    read = Body(call.body)
    attributes = _attributes(call, read)
    if not attributes.get("name"):
        read.problems.append("Name can't be blank")
    name = call.field("metro")
    metro = catalogue().metro(name)
    if metro is None:
        read.problems.append(not_valid(name, "metro"))
    if any(existing.name == attributes.get("name") for existing in world.store[Vrf].matching("project", project.id)):
        read.problems.append("Name has already been taken")
    read.fail()
    assert metro is not None  # noqa: S101 - else fail() has raised
    now = world.now()
    vrf = Vrf(
        id=str(uuid.uuid4()),
        project_id=project.id,
        metro=metro.code,
        created_at=now,
        updated_at=now,
        created_by=call.caller.user_id,
        **{"local_asn": DEFAULT_ASN, **attributes},
    )
    return Reply(call.shown(world.store.put(vrf)), 201)


def _attributes(call: Call, read: Body) -> dict[str, Any]:
    changes = read.attributes("tags", "description")
    if call.field("name") is not None:
        changes["name"] = str(call.field("name"))
    asn = call.field("local_asn")
    if asn is not None:
        if not isinstance(asn, int) or isinstance(asn, bool) or not 0 <= asn <= LARGEST_ASN:
            read.problems.append(f"Local asn must be between 0 and {LARGEST_ASN}")
        else:
            changes["local_asn"] = asn
    if call.body.get("ip_ranges") is not None:
        changes["ip_ranges"] = _ranges(call.body["ip_ranges"], read)
    return changes


def _ranges(value: object, read: Body) -> tuple[str, ...]:
    if not isinstance(value, list):
        read.problems.append("Ip ranges must be a list of subnets")
        return ()
    networks: list[Network] = []
    for text in value:
        try:
            network = ipaddress.ip_network(str(text))
        except ValueError:
            read.problems.append(f"Ip ranges: {text} is not a subnet")
            continue
        allowed = RANGES[network.version]
        if network.prefixlen not in allowed:
            read.problems.append(f"Ip ranges: {text} must be between /{allowed[0]} and /{allowed[-1]}")
        if any(contains(other, network) or contains(network, other) for other in networks):
            read.problems.append(f"Ip ranges: {text} overlaps with another")
        networks.append(network)
    return tuple(map(str, networks))


def show_vrf(call: Call) -> Reply:
    return Reply(call.shown(call.find(Vrf)))


def update_vrf(call: Call) -> Reply:
    """Update a VRF. A range with reservations cannot be removed; the ASN cannot change while a gateway's VLAN is on a device."""
    vrf, store = call.find(Vrf), call.world.store
    read = Body(call.body)
    changes = _attributes(call, read)
    if changes.get("name") == "":
        read.problems.append("Name can't be blank")
    blocks = store["reservations"].matching("vrf", vrf.id)
    for block in blocks:
        if "ip_ranges" in changes and not any(contains(parsed(ip_range), parsed(str(block.network))) for ip_range in changes["ip_ranges"]):
            read.problems.append(f"Ip ranges: {block.network} is reserved and has to stay within one")
    vlan_ids = {gateway.vlan_id for gateway in store["metal_gateways"].matching("vrf", vrf.id)}
    in_use = any(not vlan_ids.isdisjoint(port.vlan_ids) for port in store["ports"].matching("in_use", True))
    if changes.get("local_asn", vrf.local_asn) != vrf.local_asn and in_use:
        read.problems.append("Local asn cannot be changed while a virtual network of its metal gateways is assigned to an instance")
    read.fail()
    vrf = store.put(replace(vrf, updated_at=call.world.now(), **changes))
    return Reply(call.shown(vrf))


def delete_vrf(call: Call) -> Reply:
    vrf, store = call.find(Vrf), call.world.store
    if store["metal_gateways"].count("vrf", vrf.id):
        raise unprocessable("Cannot delete a VRF that has metal gateways")
    if store["reservations"].count("vrf", vrf.id):
        raise unprocessable("Cannot delete a VRF that has IP reservations")
    store.drop(vrf)
    return Reply(status=204)


def list_learned_routes(call: Call) -> Reply:
    """Return an empty list: no device has BGP sessions with a VRF."""
    call.find(Vrf)
    return Reply({"learned_routes": []})


def list_bgp_neighbors(call: Call) -> Reply:
    call.find(Vrf)
    return Reply({"bgp_neighbors": []})


ROUTES: list[Route] = [
    *paths("GET", list_vrfs, "/projects/{id}/vrfs"),
    *paths("POST", create_vrf, "/projects/{id}/vrfs"),
    *paths("GET", show_vrf, "/vrfs/{id}"),
    *updates("/vrfs/{id}", update_vrf),
    *paths("DELETE", delete_vrf, "/vrfs/{id}"),
    *paths("GET", list_learned_routes, "/vrfs/{id}/learned-routes"),
    *paths("GET", list_bgp_neighbors, "/vrfs/{id}/bgp-neighbors"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[Kind(Vrf, "vrfs", "vrfs", render_vrf, keys={"project": lambda r: r.project_id})],
    on_erase={Project: drop_with(Vrf, "project")},
)
