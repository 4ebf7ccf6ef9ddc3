# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Polling with a timeout and an interval, for all waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import CollectionError


class WaitTimeout(CollectionError):  # noqa: N818 - read as "raise WaitTimeout": it is the time that ran out, nothing failed
    """The timeout of a wait is over. ``waiting``: what is still pending, one text each."""

    def __init__(self, message: str, waiting: Sequence[str]) -> None:
        super().__init__(message, {"waiting": list(waiting)})
        self.waiting = list(waiting)


def clock(
    timeout: float,
    interval: float,
    *,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[float]:
    """Yield the elapsed seconds: at once, then every ``interval`` seconds, and a last time at ``timeout``.

    The time of the loop's body counts. The clock is monotonic.
    """
    started = now()
    elapsed = 0.0
    while True:
        yield elapsed
        elapsed = now() - started
        if elapsed >= timeout:
            return
        sleep(min(interval, timeout - elapsed))
        elapsed = now() - started


@dataclass
class Waiter:
    """The waits of one module call, with the options of the fragment ``_wait``.

    ``poll`` is called until it returns nothing pending, ``tick`` before each poll, and ``report`` with what it returned. After
    ``wait_timeout`` :class:`WaitTimeout` is raised. The clock starts with the first wait and is shared by all waits of a call.
    """

    timeout: float
    interval: float
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    tick: Callable[[], None] = lambda: None
    report: Callable[[Sequence[str]], None] = lambda _pending: None
    started: float | None = None

    @classmethod
    def by_options(cls, params: Mapping[str, Any], **named: Any) -> Waiter:
        return cls(params["wait_timeout"] * params["time_scale"], params["wait_interval"], **named)

    def until_nothing_pending(self, poll: Callable[[], Sequence[str]], what: str, *, interval: float | None = None) -> None:
        """Call ``poll`` until it returns no text. Each text names one pending object and its last state.

        ``what``: the subject of the message of a timeout. An exception of ``poll`` ends the wait at once. ``interval``: seconds between two
        polls, in place of the option.
        """
        if self.started is None:
            self.started = self.now()
        left = max(0.0, self.timeout - (self.now() - self.started))
        waiting: list[str] = []
        for _elapsed in clock(left, self.interval if interval is None else interval, sleep=self.sleep, now=self.now):
            self.tick()
            waiting = list(poll())
            self.report(waiting)
            if not waiting:
                return
        raise WaitTimeout(f"{what} was not completed within wait_timeout. Pending: " + "; ".join(waiting), waiting)
