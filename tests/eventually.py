"""Waits for what another process does."""

import asyncio
import contextlib
import socket
import subprocess
import time
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


def until(condition: Callable[[], Any], what: str = "", *, within: float = 60.0) -> Any:
    """Return the first true answer of ``condition``, asked again and again for ``within`` seconds at most."""
    ends = time.monotonic() + within
    while not (answer := condition()):
        assert time.monotonic() < ends, f"not within {within:g} s: {what}"
        time.sleep(0.05)
    return answer


def until_listening(port: int, address: str, process: subprocess.Popen[Any]) -> None:
    """Wait until a program accepts connections at a port. Fails when it ends before."""

    def listens() -> bool:
        assert process.poll() is None, f"{process.args!r} ended, and nobody listens at port {port}"
        with socket.socket() as probe:
            return probe.connect_ex((address, port)) == 0

    until(listens, f"{address} listens at port {port}")
