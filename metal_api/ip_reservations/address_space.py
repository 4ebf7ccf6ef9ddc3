# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pools for the addresses of projects and devices.

| address | size | from |
|---|---|---|
| public IPv4 | /31 (more for some systems) | the public network of the environment; the subnet belongs to no project |
| public IPv6 | /127 | a /56 of the project, one per metro |
| private IPv4 | /31 | a /25 of the project per metro, further ones when it is full, out of the environment's private network |

(vendor's docs). The first device of a project in a metro creates the project's two blocks.
"""

from __future__ import annotations

import ipaddress

from metal_api.core.addressing import Network, Pool
from metal_api.core.addressing import network as parsed
from metal_api.core.world import World
from metal_api.ip_reservations.record import Assignment, Reservation

PRIVATE_BLOCK = 25
IPV6_BLOCK = 56


class AddressSpace:
    """All pools; rebuilt from the store at start."""

    def __init__(self, world: World) -> None:
        """Divide the public network: lower half for devices, third quarter for public reservations, last quarter for global ones."""
        self._world = world
        lower, upper = ipaddress.IPv4Network(world.environment.public_network).subnets()
        public, global_ = upper.subnets()
        self.devices = Pool(str(lower), 31)
        self._blocks = {
            "public_ipv4": Pool(str(public), 32),
            "global_ipv4": Pool(str(global_), 32),
            "private_ipv4": Pool(world.environment.private_network, PRIVATE_BLOCK),
            "public_ipv6": Pool("2604:1380::/32", IPV6_BLOCK),
        }
        self._inside: dict[str, Pool] = {}
        # (project, metro, type) -> ids of blocks with free addresses, in order.
        self._roomy: dict[tuple[str, str | None, str], dict[str, None]] = {}
        for reservation in world.store[Reservation]:
            if reservation.network:
                # The blocks of a VRF are the customer's own addresses: they belong to no pool.
                if reservation.type in self._blocks:
                    self._blocks[reservation.type].mark(parsed(reservation.network))
                self.open(reservation)
        for device in world.store["devices"]:
            if device.machine_network:
                self.devices.mark(parsed(device.machine_network))
        for assignment in world.store[Assignment]:
            if assignment.reservation_id:
                self.occupy(assignment.reservation_id, parsed(assignment.network))

    # Blocks of projects

    def reserve(self, type_: str, prefix: int) -> str:
        """Allocate a block. Raises :class:`ExhaustedError`."""
        return str(self._blocks[type_].take(prefix))

    def open(self, reservation: Reservation) -> None:
        """Create the pool of a reservation that got its block."""
        units = {"private_ipv4": 31, "public_ipv6": 127}
        network = parsed(str(reservation.network))
        self._inside[reservation.id] = Pool(str(network), units.get(reservation.type, network.max_prefixlen))
        if not reservation.for_gateway:
            self._roomy.setdefault(self._kind(reservation), {})[reservation.id] = None

    def close(self, reservation: Reservation) -> None:
        """Release the block of a reservation."""
        if reservation.network:
            if reservation.type in self._blocks:
                self._blocks[reservation.type].release(parsed(reservation.network))
            self._inside.pop(reservation.id, None)
            self._roomy.get(self._kind(reservation), {}).pop(reservation.id, None)

    def available(self, reservation: Reservation, prefix: int) -> list[str]:
        """Return free subnets of ``prefix`` in the block."""
        pool = self._inside.get(reservation.id)
        return [str(subnet) for subnet in pool.free(prefix)] if pool is not None else []

    def is_free(self, reservation_id: str, network: Network) -> bool:
        return self._inside[reservation_id].is_free(network)

    def occupy(self, reservation_id: str, network: Network) -> None:
        self._inside[reservation_id].mark(network)
        self._weigh(reservation_id)

    def free(self, assignment: Assignment) -> None:
        """Release the addresses of a management or elastic assignment."""
        if assignment.reservation_id and assignment.reservation_id in self._inside:
            self._inside[assignment.reservation_id].release(parsed(assignment.network))
            self._weigh(assignment.reservation_id)

    def take_inside(self, reservation_id: str, prefix: int) -> Network:
        network = self._inside[reservation_id].take(prefix)
        self._weigh(reservation_id)
        return network

    def roomy(self, project_id: str, metro: str, type_: str) -> list[str]:
        """Return the ids of the project's blocks with free addresses, in order."""
        return list(self._roomy.get((project_id, metro, type_), ()))

    @staticmethod
    def _kind(reservation: Reservation) -> tuple[str, str | None, str]:
        return reservation.project_id, reservation.metro, reservation.type

    def _weigh(self, reservation_id: str) -> None:
        reservation = self._world.store[Reservation].get(reservation_id)
        if reservation is None or reservation.for_gateway:
            return
        roomy = self._roomy.setdefault(self._kind(reservation), {})
        if self._inside[reservation_id].free_units:
            roomy.setdefault(reservation_id)
        else:
            roomy.pop(reservation_id, None)
