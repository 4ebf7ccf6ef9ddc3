# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many API calls this process has sent, and how many of them failed and were repeated: for the run report."""

from __future__ import annotations

import threading
from collections import Counter


class Tally:
    """Calls and repeated calls by API; shared by all clients and threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._repeated: Counter[tuple[str, str]] = Counter()

    def call(self, api: str) -> None:
        with self._lock:
            self._calls[api] += 1

    def repeat(self, api: str, reason: str) -> None:
        with self._lock:
            self._repeated[api, reason] += 1

    def clear(self) -> None:
        """Forget all calls: a fork has those of its parent."""
        self._lock = threading.Lock()
        self._calls.clear()
        self._repeated.clear()

    def result(self) -> list[dict[str, object]]:
        """Return the numbers of each API, empty when nothing was sent."""
        with self._lock:
            return [
                {
                    "api": api,
                    "calls": number,
                    "repeated": {reason: times for (name, reason), times in sorted(self._repeated.items()) if name == api},
                }
                for api, number in sorted(self._calls.items())
            ]


TALLY = Tally()
"""The tally of this process."""
