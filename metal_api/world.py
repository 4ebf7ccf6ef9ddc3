# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of one Metal API with all its resources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metal_api.accounts.record import ApiKey, User
from metal_api.core.database import Database, SqliteDatabase
from metal_api.core.machines import Machines
from metal_api.core.policy import Policy
from metal_api.core.resource import Resource
from metal_api.core.store import Observer, Store
from metal_api.core.world import STATE, Environment, World
from metal_api.first_start import Owner, first_start
from metal_api.resources import RESOURCES


class MetalWorld(World):
    """The world with all resources of a server.

    ``state_dir``: folder for metal.sqlite. ``owner``: the first user. ``database``: of the records, None for metal.sqlite, where changes
    survive a power failure. ``observe``: of the store, from the first change on. ``policy`` and ``resources``: those of a rack by default;
    ``store_type``: the class of the store.

    Call :meth:`start` on the running loop before the first request and :meth:`close` at the end; the caller closes ``machines``.
    """

    def __init__(  # noqa: PLR0913 - the parts of a server
        self,
        state_dir: Path,
        machines: Machines,
        *,
        environment: Environment,
        owner: Owner,
        database: Database | None = None,
        observe: Observer | None = None,
        policy: Policy | None = None,
        resources: Sequence[Resource] = RESOURCES,
        store_type: type[Store] = Store,
    ) -> None:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        database = database or SqliteDatabase(state_dir / STATE, is_durable=True)
        store = store_type(database, [kind for entry in resources for kind in entry.kinds])
        store.observe = observe
        super().__init__(store, machines, environment, policy or Policy())
        self.resources = tuple(resources)
        first_start(self, owner)
        for resource in resources:
            self.add(resource.service(self) if resource.service is not None else None, resource.on_erase, resource.blockers)

    @property
    def token(self) -> str:
        """The first token of a user that may write, empty if there is none."""
        return next((key.token for key in self.store[ApiKey] if key.user_id and not key.read_only), "")

    @property
    def project_id(self) -> str:
        """The first user's default project."""
        return next(iter(self.store[User])).project_id

    async def start(self) -> None:
        """Continue all pending operations, and restore the machines that were on."""
        for resource in self.resources:
            if resource.resume is not None:
                await resource.resume(self)
