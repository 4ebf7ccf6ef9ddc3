# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which addresses a device gets, and the blocks they come from.

| address | size | from |
|---|---|---|
| public IPv4 | /31 (more for some systems) | the sandbox's public network; the subnet belongs to no project |
| public IPv6 | /127 | a /56 of the project, one per metro |
| private IPv4 | /31 | a /25 of the project out of 10.0.0.0/8 per metro, further ones when it is full |

(vendor's docs). The first device of a project in a metro makes the two blocks appear among its reservations. Public IPv4 lies inside
127.0.0.0/8, all of which answers on Linux: each machine can have an address of its own without any right.
"""

from __future__ import annotations

import ipaddress
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.metal.addressing import ExhaustedError, Network, Pool
from sandbox.metal.addressing import network as parsed
from sandbox.metal.records import Assignment, Device, Reservation

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld

PRIVATE_BLOCK = 25
IPV6_BLOCK = 56


def gateway_and_address(network: Network) -> tuple[str, str]:
    """Even gateway and odd address of a /31 or /127; .1 and .2 of a bigger one; all equal for a single address (recorded answers)."""
    first = network.network_address
    if network.num_addresses == 1:
        return str(first), str(first)
    if network.num_addresses == 2:
        return str(first), str(first + 1)
    return str(first + 1), str(first + 2)


class AddressSpace:
    """All pools; rebuilt from the store at start."""

    def __init__(self, world: MetalWorld, public_network: str) -> None:
        """``public_network``: lower half for devices, third quarter for public reservations, last quarter for global ones."""
        self._world = world
        lower, upper = ipaddress.IPv4Network(public_network).subnets()
        public, global_ = upper.subnets()
        self._devices = Pool(str(lower), 31)
        self._blocks = {
            "public_ipv4": Pool(str(public), 32),
            "global_ipv4": Pool(str(global_), 32),
            "private_ipv4": Pool("10.0.0.0/8", PRIVATE_BLOCK),
            "public_ipv6": Pool("2604:1380::/32", IPV6_BLOCK),
        }
        self._inside: dict[str, Pool] = {}
        # (project, metro, type) -> ids of blocks that still have room, in order.
        self._roomy: dict[tuple[str, str | None, str], dict[str, None]] = {}
        for reservation in world.store.reservations:
            if reservation.network:
                # The blocks of a VRF are the customer's own: they come out of no pool.
                if reservation.type in self._blocks:
                    self._blocks[reservation.type].mark(parsed(reservation.network))
                self.open(reservation)
        for device in world.store.devices:
            if device.machine_network:
                self._devices.mark(parsed(device.machine_network))
        for assignment in world.store.assignments:
            if assignment.reservation_id:
                self.occupy(assignment.reservation_id, parsed(assignment.network))

    # Blocks of projects

    def reserve(self, type_: str, prefix: int) -> str:
        """A new block. Raises :class:`ExhaustedError`."""
        return str(self._blocks[type_].take(prefix))

    def open(self, reservation: Reservation) -> None:
        """``reservation`` has its block now: addresses can be taken out of it."""
        units = {"private_ipv4": 31, "public_ipv6": 127}
        network = parsed(str(reservation.network))
        self._inside[reservation.id] = Pool(str(network), units.get(reservation.type, network.max_prefixlen))
        if not reservation.for_gateway:
            self._roomy.setdefault(self._kind(reservation), {})[reservation.id] = None

    def close(self, reservation: Reservation) -> None:
        """The block is given back."""
        if reservation.network:
            if reservation.type in self._blocks:
                self._blocks[reservation.type].release(parsed(reservation.network))
            self._inside.pop(reservation.id, None)
            self._roomy.get(self._kind(reservation), {}).pop(reservation.id, None)

    def available(self, reservation: Reservation, prefix: int) -> list[str]:
        """Free subnets of ``prefix`` in the block."""
        pool = self._inside.get(reservation.id)
        return [str(each) for each in pool.free(prefix)] if pool is not None else []

    def is_free(self, reservation_id: str, network: Network) -> bool:
        return self._inside[reservation_id].is_free(network)

    def occupy(self, reservation_id: str, network: Network) -> None:
        self._inside[reservation_id].mark(network)
        self._weigh(reservation_id)

    def free(self, assignment: Assignment) -> None:
        """The addresses of a management or elastic assignment go back to their block."""
        if assignment.reservation_id and assignment.reservation_id in self._inside:
            self._inside[assignment.reservation_id].release(parsed(assignment.network))
            self._weigh(assignment.reservation_id)

    def take_inside(self, reservation_id: str, prefix: int) -> Network:
        network = self._inside[reservation_id].take(prefix)
        self._weigh(reservation_id)
        return network

    @staticmethod
    def _kind(reservation: Reservation) -> tuple[str, str | None, str]:
        return reservation.project_id, reservation.metro, reservation.type

    def _weigh(self, reservation_id: str) -> None:
        reservation = self._world.store.reservations.get(reservation_id)
        if reservation is None or reservation.for_gateway:
            return
        roomy = self._roomy.setdefault(self._kind(reservation), {})
        if self._inside[reservation_id].free_units:
            roomy.setdefault(reservation_id)
        else:
            roomy.pop(reservation_id, None)

    # Devices

    def equip(self, device: Device, wanted_addresses: tuple[dict[str, Any], ...] | None = None) -> Device:
        """Give ``device`` addresses, by default those it was ordered with, and return its next version; to be called in a transaction."""
        bond = next(each for each in self._world.store.ports.by("device", device.id) if each.is_bond)
        asked = device.wanted_addresses if wanted_addresses is None else wanted_addresses
        for wanted in sorted(asked, key=lambda each: (not each["public"], each["address_family"])):
            device = self._allot(device, wanted, bond.id)
        if device.machine_address is None:
            device = self._machine_block(device, 31)
        return self._world.store.put(device)

    def _allot(self, device: Device, wanted: dict[str, Any], port_id: str) -> Device:
        family, public, prefix = wanted["address_family"], wanted["public"], wanted["cidr"]
        reservation_id: str | None
        if public and family == 4 and not wanted["ip_reservations"]:
            # After layer 2 a device has its old block still: a pretended machine cannot change its address while it runs (ours).
            if device.machine_network is None:
                device = self._machine_block(device, prefix)
            network: Network = parsed(str(device.machine_network))
            reservation_id = None
        else:
            type_ = ("public_ipv4" if family == 4 else "public_ipv6") if public else "private_ipv4"
            reservation_id, network = self._from_block(device, type_, prefix, wanted["ip_reservations"])
        gateway, address = gateway_and_address(network)
        if public and family == 4 and device.machine_address is None:
            device = replace(device, machine_address=address)
        self._world.store.put(
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
                created_at=self._world.now(),
                reservation_id=reservation_id,
            )
        )
        return device

    def _machine_block(self, device: Device, prefix: int) -> Device:
        network = self._devices.take(prefix)
        return replace(device, machine_network=str(network), machine_address=gateway_and_address(network)[1])

    def _from_block(self, device: Device, type_: str, prefix: int, chosen: list[str]) -> tuple[str, Network]:
        for reservation_id in chosen or list(self._roomy.get((device.project_id, device.metro, type_), ())):
            try:
                return reservation_id, self.take_inside(reservation_id, prefix)
            except ExhaustedError:
                continue
        if chosen:
            raise ExhaustedError(f"no /{prefix} left in the reservations given")
        size = IPV6_BLOCK if type_ == "public_ipv6" else PRIVATE_BLOCK
        block = self._world.store.put(
            Reservation(
                id=str(uuid.uuid4()),
                project_id=device.project_id,
                type=type_,
                quantity=1 << (32 - size) if type_ == "private_ipv4" else 1,
                network=self.reserve(type_, size),
                metro=device.metro,
                state="created",
                created_at=self._world.now(),
                requested_by=device.created_by,
                requested=False,
            )
        )
        self.open(block)
        return block.id, self.take_inside(block.id, prefix)

    def release(self, device: Device) -> None:
        """Everything the device had is free again; to be called in a transaction that drops the device."""
        for assignment in self._world.store.assignments.by("device", device.id):
            self.free(assignment)
            self._world.store.drop(assignment)
        if device.machine_network:
            self._devices.release(parsed(device.machine_network))
