# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of one Metal API with all its resources."""

from __future__ import annotations

from pathlib import Path

from metal_api.accounts.record import ApiKey, User
from metal_api.catalogue.data import catalogue
from metal_api.core.clock import Clock
from metal_api.core.database import Database
from metal_api.core.machines import Machines
from metal_api.core.settings import Stock
from metal_api.core.store import Observer
from metal_api.core.world import Environment, World
from metal_api.first_start import Owner, first_start
from metal_api.resources import RESOURCES


class MetalWorld(World):
    """The world with all resources.

    ``state_dir``: folder for metal.sqlite. ``owner``: the first user. ``database``: see :class:`World`.

    Call :meth:`start` on the running loop before the first request and :meth:`close` at the end; the caller closes ``machines``.
    """

    def __init__(  # noqa: PLR0913 - the parts of the sandbox, as in World
        self,
        state_dir: Path,
        clock: Clock,
        machines: Machines,
        *,
        environment: Environment,
        owner: Owner,
        database: Database | None = None,
        observe: Observer | None = None,
    ) -> None:
        kinds = [kind for each in RESOURCES for kind in each.kinds]
        stock = Stock(catalogue().metros, catalogue().plans)
        super().__init__(state_dir, clock, machines, environment=environment, kinds=kinds, stock=stock, database=database, observe=observe)
        first_start(self, owner)
        for each in RESOURCES:
            self.add(each.service(self) if each.service is not None else None, each.on_erase, each.blockers)

    @property
    def token(self) -> str:
        """The first token of a user that may write, empty if there is none."""
        return next((key.token for key in self.store[ApiKey] if key.user_id and not key.read_only), "")

    @property
    def project_id(self) -> str:
        """The first user's default project."""
        return next(iter(self.store[User])).project_id

    async def start(self) -> None:
        """Continue all pending operations, and restore the simulated devices that were on."""
        for each in RESOURCES:
            if each.resume is not None:
                await each.resume(self)

    def settings_changed(self, groups: set[str]) -> None:
        super().settings_changed(groups)
        for each in RESOURCES:
            if each.settings_changed is not None:
                each.settings_changed(self, groups)
