"""Waits for what another process does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any


async def eventually(look: Callable[[], Awaitable[Any]], *, within: float = 20.0, what: str = "") -> Any:
    """Return the first true answer of ``look``, asked ten times a second for ``within`` seconds at most."""
    answer = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            while not (answer := await look()):  # noqa: ASYNC110 - it polls another process
                await asyncio.sleep(0.1)
            return answer
    raise AssertionError(f"not within {within} s: {what or look}; last answer {answer!r}")
