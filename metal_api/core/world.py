# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state and the services that all resources of one Metal API share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from starlette.responses import Response

from metal_api.core.machines import Machines
from metal_api.core.policy import Policy
from metal_api.core.requests import Filter, Observer, Requested
from metal_api.core.store import Record, Store
from metal_api.core.tasks import Tasks

STATE: Final = "metal.sqlite"
"""In the state folder: the records, where they are not in PostgreSQL."""

S = TypeVar("S")


@dataclass(frozen=True)
class MetroNetwork:
    """The network of the servers in a metro: their first interface is in it, without VLANs.

    ``network``: with its prefix length; ``first``, ``last``: the addresses that servers get, both included.
    """

    network: str
    gateway: str
    first: str
    last: str


@dataclass(frozen=True)
class Environment:
    """The environment of one Metal API. ``boot_url``, ``metadata_url``: addresses of the two services for devices.

    ``public_network``: for the public IPv4 addresses of devices and reservations; ``private_network``: for the private ones, which the
    vendor's service took from 10.0.0.0/8. Both may only change with a new state folder. ``networks``: code of a metro -> the network of its
    servers. ``has_only_servers``: whether each device is a server; else the backend makes machines for plans without servers.
    ``boot_timeout``: real seconds in which a server has to ask the boot service after it was switched on, else its provisioning has failed.
    ``rescue_script_url``: iPXE script of the rescue system of servers, empty for none. ``has_agent``: whether the boot service has the
    agent that cleans disks. ``console_domain``: of the hosts with serial consoles, empty for none. ``manual``: the page that refusals name.
    """

    boot_url: str
    metadata_url: str
    public_network: str
    private_network: str
    networks: Mapping[str, MetroNetwork] = field(default_factory=dict)
    has_only_servers: bool = True
    boot_timeout: float = 1800
    rescue_script_url: str = ""
    has_agent: bool = False
    console_domain: str = ""
    manual: str = "docs/your-own-rack.md"

    @property
    def is_plain(self) -> bool:
        """Whether all devices are servers in plain networks."""
        return bool(self.networks) and self.has_only_servers


class World:
    """``filters``: of requests to the Metal API, the outermost first; ``observers``: of requests to all services."""

    def __init__(self, store: Store, machines: Machines, environment: Environment, policy: Policy) -> None:
        self.store = store
        self.machines = machines
        self.environment = environment
        self.policy = policy
        self.filters: list[Filter] = []
        self.observers: list[Observer] = []
        self.tasks = Tasks()
        # Slug of a plan that has servers -> codes of their metros.
        self.metros_of_servers: dict[str, frozenset[str]] = {}
        self._services: dict[type[Any], Any] = {}
        self._on_erase: dict[type[Record], list[Callable[[Any, Any], None]]] = {}
        self._blockers: dict[type[Record], list[Callable[[Any, Any], str]]] = {}

    def service(self, kind: type[S]) -> S:
        """Return the service of a resource, by its class."""
        service: S = self._services[kind]
        return service

    def add(
        self,
        service: object | None,
        on_erase: Mapping[type[Record], Callable[[Any, Any], None]],
        blockers: Mapping[type[Record], Callable[[Any, Any], str]],
    ) -> None:
        """Register a resource's service and functions."""
        if service is not None:
            self._services[type(service)] = service
        for kind, erase in on_erase.items():
            self._on_erase.setdefault(kind, []).append(erase)
        for kind, blocker in blockers.items():
            self._blockers.setdefault(kind, []).append(blocker)

    def erase(self, record: Record) -> None:
        """Drop a record and all records that belong to it, resources in reverse order of registration; in a transaction."""
        self.store.drop(record)
        for erase in reversed(self._on_erase.get(type(record), [])):
            erase(self, record)

    def blockers(self, record: Record) -> list[str]:
        """Return what still uses a record and blocks its deletion, as texts with counts."""
        return [text for blocker in self._blockers.get(type(record), []) if (text := blocker(self, record))]

    def record_request(self, requested: Requested, answer: Response) -> None:
        """Give the answer to a request to all observers."""
        for observer in self.observers:
            observer(requested, answer)

    async def close(self) -> None:
        """End all background tasks, and close the database."""
        await self.tasks.close()
        self.store.close()

    @staticmethod
    def now() -> str:
        """Return the time in the API's format: UTC, in seconds."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
