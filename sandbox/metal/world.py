# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Metal API of the sandbox: that of a rack with simulated time, faults, settings and a journal around it, and a spot market."""

from __future__ import annotations

import base64
import hashlib
import logging
import random
from pathlib import Path
from typing import Any

from starlette.responses import Response

from metal_api.accounts.authentication import Authentication
from metal_api.catalogue.data import catalogue
from metal_api.core.database import SqliteDatabase
from metal_api.core.errors import ApiError
from metal_api.core.machines import Machines
from metal_api.core.requests import Requested
from metal_api.core.world import STATE, Environment
from metal_api.first_start import Owner
from metal_api.world import MetalWorld
from sandbox.clock import Clock
from sandbox.metal.faults import Faults
from sandbox.metal.filters import Delay, Faulted, Limit, MeetFaults, ShiftClock
from sandbox.metal.journal import Journal
from sandbox.metal.policy import SandboxPolicy
from sandbox.metal.resources import RESOURCES
from sandbox.metal.settings import DEFAULTS, Settings, Stock, merged
from sandbox.metal.spot_market_requests import market_changed
from sandbox.metal.store import PastStore

LOG = logging.getLogger(__name__)

JOURNAL = "journal.sqlite"
"""In the state folder: the requests."""


def of_sandbox(seed: int) -> Owner:
    """Return the first user of a sandbox: like nearly every account with an SSH key. ``seed``: ids and token are computed from it.

    So orders of devices need no ``no_ssh_keys``.
    """
    chance = random.Random(f"equinix_metal.openshift sandbox {seed}")  # noqa: S311 - the values have to be reproducible
    point = hashlib.sha256(b"nobody has the private half of this key").digest()
    key = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + point).decode()
    return Owner("Sandbox", "User", "user@sandbox.test", "sandbox", chance, f"ssh-ed25519 {key} user@sandbox.test")


def environment_of_sandbox(boot_url: str, metadata_url: str, public_network: str, private_network: str, **fields: Any) -> Environment:
    """Return the environment of a sandbox: plans without servers are simulated, and machines have serial consoles."""
    defaults = {"has_only_servers": False, "console_domain": "platformequinix.com", "manual": "docs/sandbox.md"}
    return Environment(boot_url, metadata_url, public_network, private_network, **{**defaults, **fields})


class SandboxWorld(MetalWorld):
    """See :class:`metal_api.world.MetalWorld`. Its devices end with the power, so a change need not have reached the disk.

    The journal is a file beside the records: it is no state, and each request writes it.
    """

    store: PastStore
    policy: SandboxPolicy

    def __init__(self, state_dir: Path, clock: Clock, machines: Machines, *, environment: Environment, owner: Owner) -> None:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.clock = clock
        self.faults = Faults()
        self._settings = Settings()
        self._stock = Stock(catalogue().metros, catalogue().plans)
        policy = SandboxPolicy(clock, self._settings, self.faults)
        super().__init__(
            state_dir,
            machines,
            environment=environment,
            owner=owner,
            database=SqliteDatabase(state_dir / STATE),
            policy=policy,
            resources=RESOURCES,
            store_type=PastStore,
        )
        policy.world = self
        self._settings.values = self._kept_settings()
        self.store.lag = lambda: self.read_lag
        self.store.keep_past(self.read_lag)
        self._local = SqliteDatabase(state_dir / JOURNAL)
        self.journal = Journal(self._local.connection)
        self.observers.append(self._record)
        authentication = self.service(Authentication)
        self.filters += [
            ShiftClock(self._settings),
            MeetFaults(self.faults),
            Delay(self._settings),
            Limit(self._settings, authentication),
        ]

    def _record(self, requested: Requested, answer: Response) -> None:
        """Write a request into the journal."""
        self.journal.write(
            service=requested.service,
            method=requested.method,
            path=requested.target,
            status=answer.status_code,
            caller=requested.caller,
            started=requested.started,
            request_id=requested.request_id,
            fault=answer.fault.id if isinstance(answer, Faulted) else None,
            secrets=[*self.service(Authentication).tokens(), *requested.secrets],
        )

    async def close(self) -> None:
        await super().close()
        self._local.close()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that are in force."""
        return self._settings.values

    def change_settings(self, change: dict[str, Any]) -> None:
        """Change settings. Raises 422 for invalid ones, and then changes nothing."""
        self._set(merged(self.settings, change, self._stock), set(change))

    def reset_settings(self) -> None:
        """Restore the defaults of all settings."""
        self._set(merged(DEFAULTS, {}, self._stock), {"capacity", "spot"})

    def _set(self, changed: dict[str, Any], groups: set[str]) -> None:
        self.store.write_value("settings", changed)
        self._settings.values = changed
        self.store.keep_past(self.read_lag)
        if "capacity" in groups:
            self.policy.forget_taken()
        if {"spot", "capacity"} & groups:
            market_changed(self, self._settings.duration("spot_notice") / self.clock.speed)

    def _kept_settings(self) -> dict[str, Any]:
        kept = self.store.read_value("settings") or {}
        try:
            return merged(DEFAULTS, kept, self._stock)
        except ApiError as problem:
            LOG.warning("the settings of the last start are not used: %s", problem)
            return merged(DEFAULTS, {}, self._stock)

    @property
    def read_lag(self) -> float:
        """The age of the state that reads return, in real seconds."""
        return float(self.settings["stale_reads"]["seconds"]) / self.clock.speed
