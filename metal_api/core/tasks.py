# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Background tasks that continue after an answer: at most one for each object."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from metal_api.core.database import DatabaseError

log = logging.getLogger(__name__)


class Tasks:
    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def spawn(self, id_: str, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` in the background. A task that is still running for ``id_`` is cancelled."""
        before = self._tasks.pop(id_, None)
        if before is not None:
            before.cancel()
        task = self._tasks[id_] = asyncio.get_running_loop().create_task(work)

        def done(task: asyncio.Task[None]) -> None:
            if self._tasks.get(id_) is task:
                del self._tasks[id_]
            error = None if task.cancelled() else task.exception()
            # A loss of the database is logged by the database.
            if error is not None and not isinstance(error, DatabaseError):
                log.error("the task of %s failed", id_, exc_info=error)

        task.add_done_callback(done)

    def cancel(self) -> None:
        """Cancel all tasks; those that have not begun do nothing."""
        for task in self._tasks.values():
            task.cancel()

    async def close(self) -> None:
        """Cancel all tasks, and return when they have ended."""
        tasks = list(self._tasks.values())
        self.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
