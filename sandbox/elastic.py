# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where elastic addresses lead: to the device that one is assigned to, or to those that announce it by BGP; and those announced by ARP.

An elastic address is a loopback address of the sandbox's computer like those of devices. Connections to it are forwarded to the same port
of the device. A device answers for an address only if it has configured it, since the service routes packets and configures nothing on
devices (vendor's docs). An announcement counts only with a BGP session that is up, for a device in the address's project and metro. The
route to a device that is off remains for the hold time of its session, and connections on that route fail.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterator

from metal_api.bgp import BgpSession
from metal_api.core.addressing import network as parsed
from metal_api.core.world import World
from metal_api.devices.record import Device
from metal_api.ip_reservations.record import Assignment, Reservation
from sandbox.machines.announcements import Announcements
from sandbox.openshift.forward import Forward

_logger = logging.getLogger(__name__)

PORTS = (80, 443, 6443, 22623)
"""Ports of elastic addresses that carry traffic in the sandbox."""

_INTERVAL = 0.2

Hop = tuple[str, str]
"""Id and own address of a device."""


class ElasticRouting:
    """Forwards connections to elastic addresses."""

    def __init__(self, world: World, announcements: Announcements) -> None:
        self._world = world
        self._announcements = announcements
        self._routes: dict[str, list[Hop]] = {}
        self._open: dict[str, list[Forward]] = {}
        self._turns = itertools.count()

    async def run(self) -> None:
        """Follow the routes until cancelled."""
        try:
            while True:
                self._routes = dict(self._current())
                for address in self._open.keys() - self._routes.keys():
                    await self._close(address)
                for address in self._routes.keys() - self._open.keys():
                    await self._listen(address)
                # The records and the machines' announcements change without an event.
                await asyncio.sleep(_INTERVAL)
        finally:
            for address in list(self._open):
                await self._close(address)

    def _current(self) -> Iterator[tuple[str, list[Hop]]]:
        """Yield each address that leads to a device, with these devices."""
        store = self._world.store
        for reservation in store[Reservation]:
            if reservation.type not in {"public_ipv4", "global_ipv4"} or not reservation.network:
                continue
            assigned = {
                assignment.address: assignment.device_id
                for assignment in store[Assignment].matching("reservation", reservation.id)
                if not assignment.management
            }
            for ip in parsed(reservation.network):
                address = str(ip)
                device_ids = [assigned[address]] if address in assigned else self._announcing(reservation, address)
                devices = [store[Device].get(id_) for id_ in device_ids]
                if hops := [(device.id, device.machine_address) for device in devices if device is not None and device.machine_address]:
                    yield address, hops

        yield from ((address, [hop]) for address, hop in self._announcements.neighbors())

    def _announcing(self, reservation: Reservation, address: str) -> list[str]:
        store = self._world.store
        devices = [device for id_ in self._announcements.announcers(address) if (device := store[Device].get(id_)) is not None]
        return [
            device.id
            for device in devices
            if device.project_id == reservation.project_id
            and reservation.metro in {device.metro, None}
            and any(
                session.address_family == "ipv4" and session.status == "up" for session in store[BgpSession].matching("device", device.id)
            )
        ]

    async def _listen(self, address: str) -> None:
        self._open[address] = []
        for port in PORTS:
            forward = Forward(self._hop(address, port))
            try:
                await forward.open(address, port)
            except OSError as error:
                _logger.warning("elastic address %s carries no traffic to port %d: %s", address, port, error)
            else:
                self._open[address].append(forward)

    def _hop(self, address: str, port: int) -> Callable[[], tuple[str, int] | None]:
        """Return what chooses the device of a new connection: one after the other, as routers spread flows over equal routes."""

        def choose() -> tuple[str, int] | None:
            hops = self._routes.get(address)
            if not hops:
                return None
            device_id, own_address = hops[next(self._turns) % len(hops)]
            return (own_address, port) if self._announcements.accepts(device_id, address) else None

        return choose

    async def _close(self, address: str) -> None:
        for forward in self._open.pop(address):
            await forward.close()
