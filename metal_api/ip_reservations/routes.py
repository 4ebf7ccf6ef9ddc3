# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks of addresses of a project, and addresses of them on devices: both live under /ips/{id} (vendor's OpenAPI text)."""

from __future__ import annotations

import ipaddress
import uuid
from dataclasses import replace

from metal_api.accounts.members import project_of
from metal_api.catalogue.data import catalogue
from metal_api.catalogue.places import one_place
from metal_api.core.addressing import ExhaustedError, contains, gateway_and_address
from metal_api.core.addressing import network as parsed
from metal_api.core.body import Body
from metal_api.core.call import Call, Reply, Route, paths, updates, whole_number
from metal_api.core.errors import not_found, not_valid, unprocessable
from metal_api.core.world import World
from metal_api.ip_reservations.address_space import AddressSpace
from metal_api.ip_reservations.record import Assignment, Reservation
from metal_api.ip_reservations.vrf_blocks import request_block

# Quantity -> prefix (clients' code and vendor's docs); global blocks have at most four addresses (vendor's docs).
PREFIXES = {1: 32, 2: 31, 4: 30, 8: 29, 16: 28, 32: 27, 64: 26, 128: 25, 256: 24}
GLOBAL_QUANTITIES = (1, 2, 4)

# The first device in a metro creates the project's private and IPv6 blocks.
REQUESTABLE = ("public_ipv4", "global_ipv4", "vrf")


def list_reservations(call: Call) -> Reply:
    """Filters: types, metro, facility, state, tag, public, global_ip (any field of an answer may be one: vendor's OpenAPI text)."""
    project = project_of(call)
    reservations: list[Reservation] = call.world.store[Reservation].matching("project", project.id)
    if types := call.values("types"):
        reservations = [reservation for reservation in reservations if reservation.type in types]
    if codes := call.values("metro"):
        metros = {getattr(catalogue().metro(code), "code", None) for code in codes}
        reservations = [reservation for reservation in reservations if reservation.metro in metros]
    if states := call.values("state"):
        reservations = [reservation for reservation in reservations if reservation.state in states]
    if tags := call.values("tag"):
        reservations = [reservation for reservation in reservations if tags.issubset(reservation.tags)]
    return call.page("ip_addresses", reservations, call.shown, per_page=250)


def request_reservation(call: Call) -> Reply:
    """Request a block. Over quota: 201 and pending, or 422 with ``fail_on_approval_required`` (vendor's OpenAPI text)."""
    project, world = project_of(call), call.world
    read = Body(call.body)
    attributes = read.attributes("customdata", "tags")
    type_, quantity = call.field("type"), whole_number(call.field("quantity"))
    if type_ == "vrf":
        read.fail()
        block = world.store.put(request_block(call, project.id, attributes))
        world.service(AddressSpace).open(block)
        return Reply(call.shown(block), 201)
    if type_ not in REQUESTABLE:
        read.problems.append(not_valid(type_, "type"))
    if quantity not in PREFIXES or (type_ == "global_ipv4" and quantity not in GLOBAL_QUANTITIES):
        allowed = GLOBAL_QUANTITIES if type_ == "global_ipv4" else tuple(PREFIXES)
        read.problems.append(f"Quantity must be one of {', '.join(map(str, allowed))}")
    metro = one_place(call, read) if type_ == "public_ipv4" else None
    read.fail()
    assert quantity is not None  # noqa: S101 - one of PREFIXES, or fail() has raised
    held = sum(earlier.quantity for earlier in _held(world, project.id, type_))
    approved = world.policy.grants(type_, held, quantity)
    if not approved and call.flag("fail_on_approval_required"):
        # Ours: the real text is not published.
        raise unprocessable(f"IP quota exceeded: {quantity} more {type_} addresses need approval for this project, which has {held} now")
    try:
        network = world.service(AddressSpace).reserve(type_, PREFIXES[quantity]) if approved else None
    except ExhaustedError as problem:
        raise unprocessable(str(problem)) from problem
    details = call.field("details")
    reservation = world.store.put(
        Reservation(
            id=str(uuid.uuid4()),
            project_id=project.id,
            type=type_,
            quantity=quantity,
            network=network,
            metro=metro.code if metro else None,
            state="created" if approved else "pending",
            created_at=world.now(),
            requested_by=call.caller.user_id,
            details=str(details) if details is not None else None,
            **attributes,
        )
    )
    if approved:
        world.service(AddressSpace).open(reservation)
    else:
        world.tasks.spawn(reservation.id, wait_for_decision(world, reservation.id))
    return Reply(call.shown(reservation), 201)


def _held(world: World, project_id: str, type_: str) -> list[Reservation]:
    return [
        reservation
        for reservation in world.store[Reservation].matching("project", project_id)
        if reservation.type == type_ and reservation.state != "denied"
    ]


def decide(world: World, reservation: Reservation, *, approved: bool) -> Reservation:
    """Approve or deny a pending request, as the vendor's staff did. Raises 422; to be called in a transaction."""
    if reservation.state != "pending":
        raise unprocessable(f"The request is {reservation.state} already")
    if not approved:
        return world.store.put(replace(reservation, state="denied"))
    try:
        network = world.service(AddressSpace).reserve(reservation.type, PREFIXES[reservation.quantity])
    except ExhaustedError as problem:
        raise unprocessable(str(problem)) from problem
    reservation = world.store.put(replace(reservation, state="created", network=network))
    world.service(AddressSpace).open(reservation)
    return reservation


async def wait_for_decision(world: World, id_: str) -> None:
    """Decide a pending request as the policy does, unless the decision is made elsewhere."""
    approved = await world.policy.decision()
    reservation = world.store[Reservation].get(id_)
    if approved is not None and reservation is not None and reservation.state == "pending":
        with world.store.transaction():
            decide(world, reservation, approved=approved)


def _reservation_or_assignment(call: Call) -> Reservation | Assignment:
    store = call.world.store
    reservation = store[Reservation].get(call.params["id"])
    if reservation is not None and call.caller.sees(reservation.project_id):
        return reservation
    assignment = store[Assignment].get(call.params["id"])
    if assignment is not None and call.caller.sees(store["devices"][assignment.device_id].project_id):
        return assignment
    raise not_found()


def show(call: Call) -> Reply:
    return Reply(call.shown(_reservation_or_assignment(call)))


def update(call: Call) -> Reply:
    record = _reservation_or_assignment(call)
    read = Body(call.body)
    changes = read.attributes("customdata", *(["tags"] if isinstance(record, Reservation) else []))
    if isinstance(record, Reservation) and "details" in call.body:
        changes["details"] = str(call.body["details"]) if call.body["details"] is not None else None
    read.fail()
    return Reply(call.shown(call.world.store.put(replace(record, **changes))))


def delete(call: Call) -> Reply:
    """Delete an assignment or a reservation."""
    record = _reservation_or_assignment(call)
    if isinstance(record, Assignment):
        if record.management:
            # Ours: the real answer is not known. A conversion to layer 2 removes these addresses.
            raise unprocessable("Cannot unassign a management address")
        call.world.service(AddressSpace).free(record)
        call.world.store.drop(record)
        return Reply(status=204)
    assigned = call.world.store[Assignment].matching("reservation", record.id)
    # Assignments of deprovisioning devices do not block: clients delete a block right after the device that was ordered with it.
    if any(call.world.store["devices"][address.device_id].state != "deprovisioning" for address in assigned):
        raise unprocessable("Cannot delete an IP reservation with addresses that are assigned")
    if call.world.store["metal_gateways"].count("reservation", record.id):
        raise unprocessable("Cannot delete an IP reservation that is used by a metal gateway")
    for assignment in assigned:
        call.world.store.drop(assignment)
    call.world.service(AddressSpace).close(record)
    call.world.store.drop(record)
    return Reply(status=204)


def available(call: Call) -> Reply:
    """Return the free subnets of a size. ``cidr`` is required, 20 to 128 (vendor's OpenAPI text)."""
    record = _reservation_or_assignment(call)
    if not isinstance(record, Reservation):
        raise not_found()
    prefix = whole_number(call.query.get("cidr"))
    if prefix is None or not 20 <= prefix <= 128:
        raise unprocessable("Cidr must be between 20 and 128")
    block = parsed(record.network) if record.network else None
    # Only IPv6 has prefixes longer than 32.
    fits = block is not None and prefix <= block.max_prefixlen
    return Reply({"available": call.world.service(AddressSpace).available(record, prefix) if fits else []})


def show_customdata(call: Call) -> Reply:
    return Reply({"customdata": _reservation_or_assignment(call).customdata})


def list_device_addresses(call: Call) -> Reply:
    device = call.find("devices")
    assignments = call.world.store[Assignment].matching("device", device.id)
    return Reply({"ip_addresses": [call.shown(assignment) for assignment in assignments]})


def assign(call: Call) -> Reply:
    """Assign a subnet of a reservation of the same project and metro (vendor's docs). Nothing is configured on the device."""
    device, world = call.find("devices"), call.world
    text = str(call.field("address") or "")
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError:
        raise unprocessable("Address can't be blank" if not text else "Address is invalid") from None
    network = interface.network
    reservation = _containing(call, device.project_id, device.metro, network)
    if reservation is None:
        raise unprocessable(f"Address {text} is not in an IP reservation of this project in this metro")
    if not world.service(AddressSpace).is_free(reservation.id, network):
        raise unprocessable("Address has already been taken")  # real
    read = Body(call.body)
    attributes = read.attributes("customdata")
    read.fail()
    bond = next(port for port in world.store["ports"].matching("device", device.id) if port.is_bond)
    # A single address is also its network and gateway.
    gateway = gateway_and_address(network)[0]
    assignment = world.store.put(
        Assignment(
            id=str(uuid.uuid4()),
            device_id=device.id,
            port_id=bond.id,
            network=str(network),
            address=str(interface.ip),
            gateway=gateway,
            public=reservation.type != "private_ipv4",
            management=False,
            metro=device.metro,
            created_at=world.now(),
            reservation_id=reservation.id,
            global_ip=reservation.type == "global_ipv4",
            **attributes,
        )
    )
    world.service(AddressSpace).occupy(reservation.id, network)
    return Reply(call.shown(assignment), 201)


def _containing(call: Call, project_id: str, metro: str, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> Reservation | None:
    for reservation in call.world.store[Reservation].matching("project", project_id):
        block = parsed(reservation.network) if reservation.network and reservation.type != "vrf" and not reservation.for_gateway else None
        if block is not None and reservation.metro in {None, metro} and contains(block, network):
            return reservation
    return None


ROUTES: list[Route] = [
    *paths("GET", list_reservations, "/projects/{id}/ips"),
    *paths("POST", request_reservation, "/projects/{id}/ips"),
    *paths("GET", show, "/ips/{id}"),
    *updates("/ips/{id}", update),
    *paths("DELETE", delete, "/ips/{id}"),
    *paths("GET", available, "/ips/{id}/available"),
    *paths("GET", show_customdata, "/ips/{id}/customdata", "/projects/{project_id}/ips/{id}/customdata"),
    *paths("GET", show_customdata, "/devices/{instance_id}/ips/{id}/customdata"),
    *paths("GET", list_device_addresses, "/devices/{id}/ips"),
    *paths("POST", assign, "/devices/{id}/ips"),
]
