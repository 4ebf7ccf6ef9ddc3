# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VRFs: routing tables of the customer's own addresses. Texts of refusals are ours: none is in a public copy."""

from __future__ import annotations

import ipaddress
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.metal.addressing import Network
from sandbox.metal.addressing import network as parsed
from sandbox.metal.calls import Call, Reply, Route, paths, updates
from sandbox.metal.device_input import DeviceInput
from sandbox.metal.errors import not_found, not_valid, unprocessable
from sandbox.metal.records import MetalGateway, Reservation, Vrf, VrfRoute

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld

# Prefix lengths of an IP range, and of a reservation in one, by family (clients' code; vendor's OpenAPI text).
RANGES = {4: range(8, 30), 6: range(56, 65)}
RESERVATIONS = {4: range(22, 30), 6: range(64, 65)}

# The example of the vendor's OpenAPI text; which number comes by itself is not documented.
DEFAULT_ASN = 65000
LARGEST_ASN = 4294967295

_ANYWHERE = ("0.0.0.0/0", "::/0")


def contains(outer: Network, inner: Network) -> bool:
    return outer.version == inner.version and (
        int(outer.network_address) <= int(inner.network_address) and int(inner.broadcast_address) <= int(outer.broadcast_address)
    )


def list_vrfs(call: Call) -> Reply:
    """Not paged (vendor's OpenAPI text). Filter: metro."""
    found: list[Vrf] = call.world.store.vrfs.by("project", call.project().id)
    if codes := call.values("metro"):
        metros = {getattr(call.world.catalogue.metro(each), "code", None) for each in codes}
        found = [each for each in found if each.metro in metros]
    return Reply({"vrfs": [call.rendering.vrf(each, call.wanted) for each in found]})


def create_vrf(call: Call) -> Reply:
    project, world = call.project(), call.world
    read = DeviceInput(call)
    attributes = _attributes(call, read)
    if not attributes.get("name"):
        read.problems.append("Name can't be blank")
    name = call.field("metro")
    metro = world.catalogue.metro(name)
    if metro is None:
        read.problems.append(not_valid(name, "metro"))
    if any(each.name == attributes.get("name") for each in world.store.vrfs.by("project", project.id)):
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
    return Reply(call.rendering.vrf(world.store.put(vrf), call.wanted), 201)


def _attributes(call: Call, read: DeviceInput) -> dict[str, Any]:
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


def _ranges(asked: object, read: DeviceInput) -> tuple[str, ...]:
    if not isinstance(asked, list):
        read.problems.append("Ip ranges must be a list of subnets")
        return ()
    found: list[Network] = []
    for each in asked:
        try:
            network = ipaddress.ip_network(str(each))
        except ValueError:
            read.problems.append(f"Ip ranges: {each} is not a subnet")
            continue
        allowed = RANGES[network.version]
        if network.prefixlen not in allowed:
            read.problems.append(f"Ip ranges: {each} must be between /{allowed[0]} and /{allowed[-1]}")
        if any(contains(one, network) or contains(network, one) for one in found):
            read.problems.append(f"Ip ranges: {each} overlaps with another")
        found.append(network)
    return tuple(map(str, found))


def find(call: Call) -> Vrf:
    found: Vrf = call.find(call.world.store.vrfs)
    return found


def show_vrf(call: Call) -> Reply:
    return Reply(call.rendering.vrf(find(call), call.wanted))


def update_vrf(call: Call) -> Reply:
    """A range that has reservations cannot be taken out; the number cannot change while a gateway's VLAN is on a device."""
    vrf, store = find(call), call.world.store
    read = DeviceInput(call)
    changes = _attributes(call, read)
    if changes.get("name") == "":
        read.problems.append("Name can't be blank")
    blocks = store.reservations.by("vrf", vrf.id)
    for block in blocks:
        if "ip_ranges" in changes and not any(contains(parsed(each), parsed(str(block.network))) for each in changes["ip_ranges"]):
            read.problems.append(f"Ip ranges: {block.network} is reserved and has to stay within one")
    vlans = [store.virtual_networks[each.vlan_id] for each in store.metal_gateways.by("vrf", vrf.id)]
    if changes.get("local_asn", vrf.local_asn) != vrf.local_asn and any(call.world.devices_in(each) for each in vlans):
        read.problems.append("Local asn cannot be changed while a virtual network of its metal gateways is assigned to an instance")
    read.fail()
    vrf = store.put(replace(vrf, updated_at=call.world.now(), **changes))
    return Reply(call.rendering.vrf(vrf, call.wanted))


def delete_vrf(call: Call) -> Reply:
    vrf, store = find(call), call.world.store
    if store.metal_gateways.count("vrf", vrf.id):
        raise unprocessable("Cannot delete a VRF that has metal gateways")
    if store.reservations.count("vrf", vrf.id):
        raise unprocessable("Cannot delete a VRF that has IP reservations")
    store.drop(vrf)
    return Reply(status=204)


# Blocks. They are requested under /projects/{id}/ips like all others, see ip_reservations.


def request_block(call: Call, project_id: str, attributes: dict[str, Any]) -> Reservation:
    """``{"type": "vrf", "vrf_id", "network", "cidr"}``: a subnet of one of the VRF's ranges that nobody has yet. Raises 422."""
    world = call.world
    vrf = world.store.vrfs.get(str(call.field("vrf_id") or call.field("vrf") or ""))
    if vrf is None or vrf.project_id != project_id:
        raise unprocessable("Vrf must exist")
    try:
        network = ipaddress.ip_network(f"{call.field('network')}/{call.field('cidr')}")
    except ValueError:
        raise unprocessable("Network and cidr are not a subnet") from None
    allowed = RESERVATIONS[network.version]
    if network.prefixlen not in allowed:
        raise unprocessable(f"Cidr must be between {allowed[0]} and {allowed[-1]}")
    if not any(contains(parsed(each), network) for each in vrf.ip_ranges):
        raise unprocessable("Network is not within an IP range of the VRF")
    taken = [parsed(str(each.network)) for each in world.store.reservations.by("vrf", vrf.id)]
    if any(contains(each, network) or contains(network, each) for each in taken):
        raise unprocessable("Network has already been taken")
    details = call.field("details")
    return Reservation(
        id=str(uuid.uuid4()),
        project_id=project_id,
        type="vrf",
        quantity=min(network.num_addresses, 1 << 32),
        network=str(network),
        metro=vrf.metro,
        state="created",
        created_at=world.now(),
        requested_by=call.caller.user_id,
        vrf_id=vrf.id,
        details=str(details) if details is not None else None,
        **attributes,
    )


def list_blocks(call: Call) -> Reply:
    found = call.world.store.reservations.by("vrf", find(call).id)
    return Reply({"ip_addresses": [call.rendering.reservation(each, call.wanted) for each in found]})


def show_block(call: Call) -> Reply:
    vrf: Vrf = call.find(call.world.store.vrfs, call.params["vrf_id"])
    block = call.world.store.reservations.get(call.id)
    if block is None or block.vrf_id != vrf.id:
        raise not_found()
    return Reply(call.rendering.reservation(block, call.wanted))


# Routes: only static default ones are taken (vendor's OpenAPI text).


def list_routes(call: Call) -> Reply:
    found = call.world.store.vrf_routes.by("vrf", find(call).id)
    return Reply({"routes": [call.rendering.vrf_route(each, call.wanted) for each in found]})


def create_route(call: Call) -> Reply:
    """Answered with 200 and pending, active a little later. The next hop lies in the block of one of the VRF's gateways."""
    vrf, world = find(call), call.world
    read = DeviceInput(call)
    attributes = read.attributes("tags")
    prefix = str(call.field("prefix") or "")
    if prefix not in _ANYWHERE:
        read.problems.append(f"Prefix must be one of {', '.join(_ANYWHERE)}")
    if any(each.prefix == prefix for each in world.store.vrf_routes.by("vrf", vrf.id)):
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
    world.lifecycle.spawn(route.id, run_route(world, route.id))
    return Reply(call.rendering.vrf_route(route, call.wanted))


def _gateway(world: MetalWorld, vrf: Vrf, next_hop: str) -> MetalGateway | None:
    try:
        hop = ipaddress.ip_network(next_hop)
    except ValueError:
        return None
    for each in world.store.metal_gateways.by("vrf", vrf.id):
        block = world.store.reservations[each.reservation_id]
        if each.state != "deleting" and contains(parsed(str(block.network)), hop):
            return each
    return None


async def run_route(world: MetalWorld, id_: str) -> None:
    await world.clock.sleep(world.duration("vrf_route"))
    route = world.store.vrf_routes.get(id_)
    if route is None:
        return
    if route.status == "deleting":
        world.store.drop(route)
    else:
        world.store.put(replace(route, status="active", updated_at=world.now()))


def _route(call: Call) -> VrfRoute:
    found: VrfRoute = call.find(call.world.store.vrf_routes)
    return found


def show_route(call: Call) -> Reply:
    return Reply(call.rendering.vrf_route(_route(call), call.wanted))


def update_route(call: Call) -> Reply:
    """Next hop and tags; answered with 202."""
    route, world = _route(call), call.world
    read = DeviceInput(call)
    changes = read.attributes("tags")
    if call.field("next_hop") is not None:
        gateway = _gateway(world, world.store.vrfs[route.vrf_id], str(call.field("next_hop")))
        if gateway is None:
            read.problems.append("Next hop is not an address of a metal gateway's block in this VRF")
        else:
            changes |= {"next_hop": str(call.field("next_hop")), "gateway_id": gateway.id, "status": "pending"}
    read.fail()
    route = world.store.put(replace(route, updated_at=world.now(), **changes))
    world.lifecycle.spawn(route.id, run_route(world, route.id))
    return Reply(call.rendering.vrf_route(route, call.wanted), 202)


def delete_route(call: Call) -> Reply:
    world = call.world
    route = world.store.put(replace(_route(call), status="deleting", updated_at=world.now()))
    world.lifecycle.spawn(route.id, run_route(world, route.id))
    return Reply(call.rendering.vrf_route(route, call.wanted), 202)


def list_learned_routes(call: Call) -> Reply:
    """Nobody speaks BGP with a pretended router: none."""
    find(call)
    return Reply({"learned_routes": []})


def list_bgp_neighbors(call: Call) -> Reply:
    find(call)
    return Reply({"bgp_neighbors": []})


ROUTES: list[Route] = [
    *paths("GET", list_vrfs, "/projects/{id}/vrfs"),
    *paths("POST", create_vrf, "/projects/{id}/vrfs"),
    *paths("GET", show_vrf, "/vrfs/{id}"),
    *updates("/vrfs/{id}", update_vrf),
    *paths("DELETE", delete_vrf, "/vrfs/{id}"),
    *paths("GET", list_blocks, "/vrfs/{id}/ips"),
    *paths("GET", show_block, "/vrfs/{vrf_id}/ips/{id}"),
    *paths("GET", list_routes, "/vrfs/{id}/routes"),
    *paths("POST", create_route, "/vrfs/{id}/routes"),
    *paths("GET", list_learned_routes, "/vrfs/{id}/learned-routes"),
    *paths("GET", list_bgp_neighbors, "/vrfs/{id}/bgp-neighbors"),
    *paths("GET", show_route, "/routes/{id}"),
    *updates("/routes/{id}", update_route),
    *paths("DELETE", delete_route, "/routes/{id}"),
]
