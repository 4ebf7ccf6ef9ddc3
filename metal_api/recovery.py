# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server does when its database fails: as after the end of the process, without its end.

All operations are cancelled in the step in which a change is not stored or not confirmed, also those that this very change was to begin.
When the database answers again, the records in memory are what is stored, and every operation that they name is continued from there.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from metal_api.core.database import DatabaseError, ReplacedError, UnusableError
from metal_api.world import MetalWorld

LOG = logging.getLogger(__name__)

CHECK_EVERY: Final = 2.0
"""Seconds between two checks of the database, while it is up and while it is not."""


class Recovery:
    """``world``: one whose database may fail. :meth:`run` has to run as long as it."""

    def __init__(self, world: MetalWorld) -> None:
        self._world = world
        self._lost = asyncio.Event()
        world.store.failed = self._failed

    def _failed(self) -> None:
        self._world.tasks.cancel()
        self._lost.set()

    async def run(self) -> None:
        """Check the database, and recover from each failure. Raises :class:`ReplacedError` when only a new start can."""
        database = self._world.store.database
        while True:
            try:
                async with asyncio.timeout(CHECK_EVERY):
                    await self._lost.wait()
            except TimeoutError:
                try:
                    database.check()
                except DatabaseError:
                    self._failed()
            if self._lost.is_set():
                await self._recover()

    async def _recover(self) -> None:
        store, reported = self._world.store, ""
        while True:
            try:
                await asyncio.to_thread(store.database.reconnect)
                break
            except ReplacedError:
                raise
            except UnusableError as error:
                if str(error) != reported:
                    LOG.warning("trying again: %s", error)
                    reported = str(error)
            await asyncio.sleep(CHECK_EVERY)
        self._lost.clear()
        store.settle()
        LOG.info("the database stores changes again; operations go on")
        await self._world.start()
        # A database that fails at each change is not tried more often.
        await asyncio.sleep(CHECK_EVERY)
