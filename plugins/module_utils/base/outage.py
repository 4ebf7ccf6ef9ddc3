# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A notice for the operator when a service serves no request, while requests are still retried."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

NOTICE_AFTER = 30.0
"""Seconds without an answer after which a notice is shown."""


class Outage:
    """An outage of a service, during which every request fails; shared by the threads of a client.

    ``notify`` gets a line after ``NOTICE_AFTER`` seconds, also during a pause or a blocked request, and one when the service answers again.
    """

    def __init__(
        self, service: str, notify: Callable[[str], None] = lambda _line: None, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._service = service
        self._notify = notify
        self._now = now
        self._lock = threading.Lock()
        self._since: float | None = None
        self._reason = ""
        self._timer: threading.Timer | None = None
        self._said = False

    @contextmanager
    def watched(self, *failures: type[Exception]) -> Iterator[None]:
        """Run one request. Any result except these exceptions is an answer, errors of the service included."""
        began = self._now()
        try:
            yield
        except failures as error:
            self._failed(began, str(error))
            raise
        except BaseException:
            self._answered()
            raise
        else:
            self._answered()

    def _failed(self, began: float, reason: str) -> None:
        with self._lock:
            self._reason = reason
            if self._since is None:
                self._since = began
            if self._timer is None and not self._said:
                self._timer = threading.Timer(max(0.0, self._since + NOTICE_AFTER - self._now()), self._say)
                self._timer.daemon = True
                self._timer.start()

    def _answered(self) -> None:
        with self._lock:
            if self._said and self._since is not None:
                self._notify(f"{self._service} serves requests again, after {self._now() - self._since:.0f} s")
            self._forget()

    def _say(self) -> None:
        with self._lock:
            if self._since is None or self._said:
                return
            self._said = True
            seconds = self._now() - self._since
            since = datetime.now(UTC) - timedelta(seconds=seconds)
            self._notify(
                f"{self._service} has served no request for {seconds:.0f} s (since {since:%H:%M:%SZ}), still trying: {self._reason}"
            )

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._since, self._timer, self._said = None, None, False
