# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state and the services that all resources of one Metal API share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from metal_api.core import settings
from metal_api.core.clock import Clock
from metal_api.core.database import Database, SqliteDatabase
from metal_api.core.errors import ApiError
from metal_api.core.faults import Faults
from metal_api.core.journal import Journal
from metal_api.core.machines import Machines
from metal_api.core.store import Kind, Observer, Record, Store
from metal_api.core.tasks import Tasks

LOG = logging.getLogger(__name__)

STATE = "metal.sqlite"
JOURNAL = "journal.sqlite"
"""In the state folder: the records, where they are not in PostgreSQL, and the requests."""

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
    servers. ``is_simulated``: plans without servers are simulated, and so are the networks between devices. ``boot_timeout``: real seconds
    in which a server has to ask the boot service after it was switched on, else its provisioning has failed. ``rescue_script_url``: iPXE
    script of the rescue system of servers, empty for none. ``has_agent``: whether the boot service has the agent that cleans disks.
    """

    boot_url: str
    metadata_url: str
    public_network: str
    private_network: str
    networks: Mapping[str, MetroNetwork] = field(default_factory=dict)
    is_simulated: bool = True
    boot_timeout: float = 1800
    rescue_script_url: str = ""
    has_agent: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether all devices are servers in plain networks."""
        return bool(self.networks) and not self.is_simulated


class World:
    """``kinds``: of all records. ``stock``: codes of metros and slugs of plans that settings may name.

    ``database``: of the records, None for ``metal.sqlite`` in the folder, where changes of servers that exist survive a power failure. The
    journal is a file beside it: it is no state, and each request writes it. ``observe``: of the store, from the first change on.
    """

    def __init__(  # noqa: PLR0913 - the parts of the sandbox
        self,
        state_dir: Path,
        clock: Clock,
        machines: Machines,
        *,
        environment: Environment,
        kinds: Iterable[Kind[Any]],
        stock: settings.Stock,
        database: Database | None = None,
        observe: Observer | None = None,
    ) -> None:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        database = database or SqliteDatabase(state_dir / STATE, is_durable=not environment.is_simulated)
        self.clock = clock
        self.machines = machines
        self.environment = environment
        self.store = Store(database, kinds)
        self.store.observe = observe
        self._local = SqliteDatabase(state_dir / JOURNAL)
        self.journal = Journal(self._local.connection)
        self.faults = Faults()
        self.tasks = Tasks()
        # Slug of a plan that has servers -> codes of their metros.
        self.metros_of_servers: dict[str, frozenset[str]] = {}
        self._stock = stock
        self.settings = self._kept_settings()
        self.store.keep_past(self.read_lag)
        self._services: dict[type[Any], Any] = {}
        self._on_erase: dict[type[Record], list[Callable[[Any, Any], None]]] = {}
        self._blockers: dict[type[Record], list[Callable[[Any, Any], str]]] = {}

    def service(self, kind: type[S]) -> S:
        """Return the object of a class that a resource has besides its records."""
        found: S = self._services[kind]
        return found

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
        return [text for each in self._blockers.get(type(record), []) if (text := each(self, record))]

    async def close(self) -> None:
        """End all background tasks, and close the databases."""
        await self.tasks.close()
        self.store.close()
        self._local.close()

    def change_settings(self, change: dict[str, Any]) -> None:
        """Change settings. Raises 422 for invalid ones, and then changes nothing."""
        self._set(settings.merged(self.settings, change, self._stock), set(change))

    def reset_settings(self) -> None:
        """Restore the defaults of all settings."""
        self._set(settings.merged(settings.DEFAULTS, {}, self._stock), {"capacity", "spot"})

    def _set(self, changed: dict[str, Any], groups: set[str]) -> None:
        self.store.write_value("settings", changed)
        self.settings = changed
        self.settings_changed(groups)

    def settings_changed(self, groups: set[str]) -> None:
        self.store.keep_past(self.read_lag)

    def _kept_settings(self) -> dict[str, Any]:
        kept = self.store.read_value("settings") or {}
        try:
            return settings.merged(settings.DEFAULTS, kept, self._stock)
        except ApiError as problem:
            LOG.warning("the settings of the last start are not used: %s", problem)
            return settings.merged(settings.DEFAULTS, {}, self._stock)

    @property
    def read_lag(self) -> float:
        """The age of the state that reads return, in real seconds."""
        return float(self.settings["stale_reads"]["seconds"]) / self.clock.speed

    def duration(self, name: str) -> float:
        """Return a duration in simulated seconds."""
        return float(self.settings["durations"][name])

    async def sleep(self, name: str) -> None:
        """Sleep for the duration of this name."""
        await self.clock.sleep(self.duration(name))

    @staticmethod
    def now() -> str:
        """Return the time in the API's format: UTC, in seconds."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
