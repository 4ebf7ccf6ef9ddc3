# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a server of this project runs: its parts start one after the other, and end in reverse order, at a signal or after a failure."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

LOG = logging.getLogger(__name__)


class Parts:
    """What was started, with how it ends."""

    def __init__(self) -> None:
        self._endings: list[tuple[str, Callable[[], Awaitable[None]]]] = []

    async def stop(self) -> None:
        """End everything that was started, in reverse order; a part that fails to end does not keep the others from it."""
        while self._endings:
            name, end = self._endings.pop()
            try:
                await end()
            except Exception:
                LOG.exception("%s did not end well", name)

    def _ends(self, name: str, end: Callable[[], Awaitable[None]]) -> None:
        self._endings.append((name, end))

    def _ends_task(self, task: asyncio.Task[None]) -> None:
        """Cancel a task in the end, named as the task."""

        async def cancel() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._ends(task.get_name(), cancel)


class Runnable(Parts, ABC):
    """A process that serves until it is ended."""

    @abstractmethod
    async def start(self) -> None:
        """Start all parts. Raises :class:`metal_api.state_folder.StartError`."""


async def run(server: Runnable, ready: Callable[[], AbstractContextManager[object]], ended: asyncio.Event) -> int:
    """Run a server until SIGINT, SIGTERM or ``ended``, and return the exit status.

    ``ready``: entered when it has started, left when it ends. What :meth:`Runnable.start` raises passes through, after everything that was
    started has ended.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    try:
        starting = asyncio.create_task(server.start())
        waiting = asyncio.create_task(ended.wait())
        await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
            with ready():
                await ended.wait()
        waiting.cancel()
        LOG.info("ending")
    finally:
        await server.stop()
    return 0
