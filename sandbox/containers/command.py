# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of the computer that make a container."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class ContainerError(Exception):
    """The container cannot be made, started or removed; the message has the reason."""


async def run(*command: str) -> None:
    """Run a command. Raises :class:`ContainerError` with the command and its last words."""
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    _output, error = await process.communicate()
    if process.returncode:
        raise ContainerError(f"{' '.join(command)}: {error.decode(errors='replace').strip()}")


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await what is done without power, also when the machine is switched off meanwhile: that cancels its task, which may reboot then."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
