# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Background tasks that continue after an answer: at most one for each object."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Tasks:
    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def spawn(self, id_: str, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` in the background. A task that is still running for ``id_`` is cancelled."""
        before = self._tasks.pop(id_, None)
        if before is not None:
            before.cancel()
        task = self._tasks[id_] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda done: self._tasks.pop(id_, None) if self._tasks.get(id_) is done else None)

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
