# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers of the rack: the device of each one, and whether it can be ordered.

A backend reports them (:meth:`Servers.refresh`); a plan with servers is served by these alone. The record of a server has its device, in
the same transaction as the order: no server is given to two devices, and none is forgotten when the process is killed.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from metal_api.accounts.record import Organization, Project
from metal_api.catalogue.data import catalogue
from metal_api.core.resource import Resource
from metal_api.core.store import Kind, Record
from metal_api.core.world import World
from metal_api.hardware_reservations import HardwareReservation

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class FoundServer:
    """A server as its backend reports it. ``address``: the one chosen for it there, empty for the next free one of its metro.

    ``reserved_for``: id or name of the project that it is reserved for, empty for none. ``instance``: its user at the backend:
    the id of a device or anything else. ``unavailable``: why it cannot be ordered now, empty if it can. ``cleaning``: whether its
    disks are cleaned now.
    """

    id: str
    name: str
    plan: str
    metro: str
    macs: tuple[str, ...]
    address: str = ""
    architecture: str = "x86_64"
    reserved_for: str = ""
    instance: str = ""
    unavailable: str = ""
    cleaning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(Record):
    """A server. ``id``: as the backend names it. ``device_id``: the device it is, also while that is being deleted.

    ``address``, ``network``, ``gateway``: of its first interface; empty where its metro has no network of its own: a device has addresses
    as without a server then. ``unavailable``: why it cannot be ordered, empty if it can. ``project_id``: reserved for this project.
    """

    name: str
    plan: str
    metro: str
    macs: tuple[str, ...] = ()
    architecture: str = "x86_64"
    address: str = ""
    network: str = ""
    gateway: str = ""
    unavailable: str = ""
    cleaning: bool = False
    project_id: str | None = None
    device_id: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether its network is the plain one of its metro, without VLANs, BGP and elastic addresses."""
        return bool(self.network)

    @property
    def is_free(self) -> bool:
        return self.device_id is None and not self.unavailable


class Servers:
    """All servers."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._table = world.store[Server]
        self._count_metros()

    def provides(self, plan: str) -> bool:
        """Return whether devices of this plan are servers, of which there may be none; else the backend makes machines for them."""
        return self._table.count("plan", plan) > 0 or self._world.environment.has_only_servers

    def free(self, metro: str, plan: str) -> list[Server]:
        """Return the servers that can be ordered without a reservation."""
        return [server for server in self._table.matching("stock", (metro, plan)) if server.is_free]

    def take(self, server: Server, device_id: str) -> None:
        """Give a free server to a device; in the transaction that stores the device."""
        if server.device_id is not None:
            raise RuntimeError(f"server {server.name} is device {server.device_id} already")
        self._world.store.put(replace(server, device_id=device_id))

    def of_device(self, device_id: str) -> Server | None:
        return self._table.first("device", device_id)

    def is_plain(self, device_id: str) -> bool:
        """Return whether a device is a server in a plain network, which the firmware of a machine boots."""
        server = self.of_device(device_id)
        return server is not None and server.is_plain

    def release(self, device_id: str) -> None:
        """Free the server of a device, which its backend has cleaned; in a transaction."""
        server = self.of_device(device_id)
        if server is not None:
            self._world.store.put(replace(server, device_id=None))

    def refresh(self, servers: Iterable[FoundServer], kept: Collection[str] = ()) -> None:
        """Take over what the backend reports now. Servers that it reports no longer are dropped, or kept as unavailable while in use.

        ``kept``: ids of those that are kept in any case, since the backend will report them again.
        """
        reported = {entry.id: entry for entry in servers}
        with self._world.store.transaction():
            for server in list(self._table):
                if server.id not in reported:
                    self._gone(server, is_kept=server.id in kept)
            taken = {record.address for record in self._table if record.address}
            devices = {mac: record for record in self._table if record.device_id is not None for mac in record.macs}
            for report in reported.values():
                other = next((devices[mac] for mac in report.macs if mac in devices and devices[mac].id != report.id), None)
                self._put(report, taken, other)
        self._count_metros()

    def _count_metros(self) -> None:
        metros: dict[str, set[str]] = {}
        for server in self._table:
            metros.setdefault(server.plan, set()).add(server.metro)
        self._world.metros_of_servers = {plan: frozenset(codes) for plan, codes in metros.items()}

    def _gone(self, server: Server, *, is_kept: bool) -> None:
        if server.device_id is None and not is_kept:
            self._drop_reservation(server)
            self._world.store.drop(server)
        else:
            unavailable = replace(server, unavailable="the backend does not list it any more")
            self._change(server, unavailable)
            self._reserve(unavailable)

    def _put(self, reported: FoundServer, taken: set[str], other: Server | None) -> None:
        """``taken``: addresses of servers. ``other``: the record of a device's server with a MAC address of this one."""
        known = self._table.get(reported.id)
        device_id = known.device_id if known is not None else None
        unavailable = reported.unavailable
        if device_id is None and reported.instance and not unavailable:
            unavailable = f"in use by instance {reported.instance}, which is no device of this API"
        if device_id is None and other is not None:
            # The backend has lost the server of a device, which runs on, and reports it as a new one.
            unavailable = unavailable or f"it has the MAC address of server {other.name}, which is device {other.device_id}"
        address, network, gateway = known.address if known else "", "", ""
        if (plain := self._world.environment.networks.get(reported.metro)) is not None:
            network, gateway = plain.network, plain.gateway
            if device_id is None and reported.address and reported.address != address:
                taken.discard(address)
                address = "" if reported.address in taken else reported.address
            if not address:
                address = _next_address(plain.first, plain.last, taken)
            if not address:
                unavailable = unavailable or f"no address is left for it in {plain.first} to {plain.last} of metro {reported.metro}"
            taken.add(address)
        elif device_id is not None and known is not None:
            # Its metro was taken out of the rack file: the device runs on where it is.
            network, gateway = known.network, known.gateway
        project = self._project(reported.reserved_for)
        if reported.reserved_for and project is None:
            unavailable = unavailable or f"it is reserved for project {reported.reserved_for!r}, which does not exist"
        server = Server(
            id=reported.id,
            name=reported.name,
            plan=reported.plan,
            metro=reported.metro,
            macs=reported.macs,
            architecture=reported.architecture,
            address=address if network else "",
            network=network,
            gateway=gateway,
            unavailable=unavailable,
            cleaning=reported.cleaning,
            project_id=project.id if project is not None else None,
            device_id=device_id,
        )
        self._change(known, server)
        self._reserve(server)

    def _change(self, before: Server | None, after: Server) -> None:
        # Every poll reports all servers: only changes are written.
        if before == after:
            return
        if after.device_id is None and (before is None or before.unavailable != after.unavailable):
            state = f"not offered: {after.unavailable}" if after.unavailable else "offered"
            LOG.info("server %s (%s in %s) %s", after.name, after.plan or "no plan", after.metro or "no metro", state)
        self._world.store.put(after)

    def _project(self, name: str) -> Project | None:
        if not name:
            return None
        projects = self._world.store[Project]
        # A name is that of a project of the first organization: users of other organizations could create one of the same name.
        first = next((organization.id for organization in self._world.store[Organization]), None)
        return projects.get(name) or next(
            (project for project in projects if project.name == name and project.organization_id == first), None
        )

    def _reserve(self, server: Server) -> None:
        """Keep the hardware reservation of a server, which has the server's id."""
        known = self._world.store[HardwareReservation].get(server.id)
        if server.project_id is None:
            self._drop_reservation(server)
            return
        if server.plan not in catalogue().plans or server.metro not in catalogue().metros:
            return
        if known is None:
            known = HardwareReservation(
                id=server.id,
                project_id=server.project_id,
                plan=server.plan,
                metro=server.metro,
                created_at=self._world.now(),
                switch_uuid=server.id[:8],
            )
        current = replace(known, project_id=server.project_id, device_id=server.device_id, provisionable=server.is_free, freeing=False)
        if current != self._world.store[HardwareReservation].get(server.id):
            self._world.store.put(current)

    def _drop_reservation(self, server: Server) -> None:
        known = self._world.store[HardwareReservation].get(server.id)
        if known is not None and server.device_id is None:
            self._world.store.drop(known)


def _next_address(first: str, last: str, taken: Sequence[str] | set[str]) -> str:
    """Return the first free address, empty if all are taken."""
    start, end = int(ipaddress.IPv4Address(first)), int(ipaddress.IPv4Address(last))
    return next((text for number in range(start, end + 1) if (text := str(ipaddress.IPv4Address(number))) not in taken), "")


RESOURCE = Resource(
    kinds=[
        Kind(
            Server,
            "servers",
            keys={
                "plan": lambda r: r.plan,
                "stock": lambda r: None if r.project_id else (r.metro, r.plan),
                "device": lambda r: r.device_id,
                "address": lambda r: r.address or None,
            },
        )
    ],
    service=Servers,
)
