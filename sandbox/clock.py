"""Simulated time: durations of simulated machines, divided by a speed that may change while they run."""

from __future__ import annotations

import asyncio
import time


class Clock:
    """Sleeps in simulated seconds.

    ``speed``: simulated seconds per real second (60: an hour in a minute). When it changes, the remaining time of current sleeps is
    computed with the new speed.
    """

    def __init__(self, speed: float = 60.0) -> None:
        self._speed = _checked(speed)
        self._changed = asyncio.Event()

    @property
    def speed(self) -> float:
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        self._speed = _checked(value)
        # Each waiter holds the event it started with: setting it wakes them all, once.
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def sleep(self, simulated_seconds: float) -> None:
        """Return after ``simulated_seconds`` of simulated time."""
        left = simulated_seconds
        while left > 0:
            changed, speed, started = self._changed, self._speed, time.monotonic()
            try:
                async with asyncio.timeout(left / speed):
                    await changed.wait()
            except TimeoutError:
                return
            left -= (time.monotonic() - started) * speed


def _checked(speed: float) -> float:
    if not speed > 0:
        raise ValueError(f"speed must be more than 0, not {speed!r}")
    return speed
