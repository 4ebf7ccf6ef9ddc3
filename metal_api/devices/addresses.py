# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocates and releases the addresses of a device."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from metal_api.core.addressing import ExhaustedError, Network, gateway_and_address
from metal_api.core.addressing import network as parsed
from metal_api.core.world import World
from metal_api.devices.record import Device, Port
from metal_api.ip_reservations.address_space import IPV6_BLOCK, PRIVATE_BLOCK, AddressSpace
from metal_api.ip_reservations.record import Assignment, Reservation
from metal_api.servers import Server, Servers


def equip(world: World, device: Device, wanted_addresses: tuple[dict[str, Any], ...] | None = None) -> Device:
    """Allocate addresses for ``device``, by default those of its order, and return its next version; to be called in a transaction."""
    bond = next(port for port in world.store[Port].matching("device", device.id) if port.is_bond)
    server = world.service(Servers).of_device(device.id)
    if server is not None and server.is_plain:
        return _on_plain_network(world, device, server, bond.id)
    addresses = device.wanted_addresses if wanted_addresses is None else wanted_addresses
    for requested in sorted(addresses, key=lambda address: (not address["public"], address["address_family"])):
        device = _allot(world, device, requested, bond.id)
    if device.machine_address is None:
        device = _machine_block(world, device, 31)
    return world.store.put(device)


def _on_plain_network(world: World, device: Device, server: Server, port_id: str) -> Device:
    """Give the device the address of its server, which DHCP has for that server, whatever it is used for."""
    world.store.put(
        Assignment(
            id=str(uuid.uuid4()),
            device_id=device.id,
            port_id=port_id,
            network=server.network,
            address=server.address,
            gateway=server.gateway,
            public=True,
            management=True,
            metro=device.metro,
            created_at=world.now(),
        )
    )
    return world.store.put(replace(device, machine_address=server.address))


def _allot(world: World, device: Device, requested: dict[str, Any], port_id: str) -> Device:
    family, public, prefix = requested["address_family"], requested["public"], requested["cidr"]
    reservation_id: str | None
    if public and family == 4 and not requested["ip_reservations"]:
        # After layer 2 a device gets its old block: a machine cannot change its address while it runs (ours).
        if device.machine_network is None:
            device = _machine_block(world, device, prefix)
        network: Network = parsed(str(device.machine_network))
        reservation_id = None
    else:
        type_ = ("public_ipv4" if family == 4 else "public_ipv6") if public else "private_ipv4"
        reservation_id, network = _from_block(world, device, type_, prefix, requested["ip_reservations"])
    gateway, address = gateway_and_address(network)
    if public and family == 4 and device.machine_address is None:
        device = replace(device, machine_address=address)
    world.store.put(
        Assignment(
            id=str(uuid.uuid4()),
            device_id=device.id,
            port_id=port_id,
            network=str(network),
            address=address,
            gateway=gateway,
            public=public,
            management=True,
            metro=device.metro,
            created_at=world.now(),
            reservation_id=reservation_id,
        )
    )
    return device


def _machine_block(world: World, device: Device, prefix: int) -> Device:
    network = world.service(AddressSpace).devices.take(prefix)
    return replace(device, machine_network=str(network), machine_address=gateway_and_address(network)[1])


def _from_block(world: World, device: Device, type_: str, prefix: int, chosen: list[str]) -> tuple[str, Network]:
    space = world.service(AddressSpace)
    for reservation_id in chosen or space.roomy(device.project_id, device.metro, type_):
        try:
            return reservation_id, space.take_inside(reservation_id, prefix)
        except ExhaustedError:
            continue
    if chosen:
        raise ExhaustedError(f"no /{prefix} left in the reservations given")
    size = IPV6_BLOCK if type_ == "public_ipv6" else PRIVATE_BLOCK
    block = world.store.put(
        Reservation(
            id=str(uuid.uuid4()),
            project_id=device.project_id,
            type=type_,
            quantity=1 << (32 - size) if type_ == "private_ipv4" else 1,
            network=space.reserve(type_, size),
            metro=device.metro,
            state="created",
            created_at=world.now(),
            requested_by=device.created_by,
            requested=False,
        )
    )
    space.open(block)
    return block.id, space.take_inside(block.id, prefix)


def release(world: World, device: Device) -> None:
    """Release all addresses of the device; to be called in a transaction that drops the device."""
    for assignment in world.store[Assignment].matching("device", device.id):
        world.service(AddressSpace).free(assignment)
        world.store.drop(assignment)
    if device.machine_network:
        world.service(AddressSpace).devices.release(parsed(device.machine_network))
