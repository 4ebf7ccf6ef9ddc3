# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A store that keeps the past for a while, for stale reads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from metal_api.core.database import Database
from metal_api.core.store import Kind, Record, Store, Table, Undo


class PastStore(Store):
    """``lag``: returns the age of the state that reads return, in real seconds; 0: of the current state."""

    def __init__(self, database: Database, kinds: Iterable[Kind[Any]]) -> None:
        super().__init__(database, kinds)
        self.lag: Callable[[], float] = lambda: 0.0
        # The previous versions of recently changed records, kept only if keep_past() was called with a duration.
        self._past: deque[tuple[float, Table[Any], str, Record | None]] = deque()
        self._past_kept = 0.0

    def keep_past(self, seconds: float) -> None:
        """Keep previous versions for this many real seconds; 0: do not keep them."""
        self._past_kept = seconds
        if not seconds:
            self._past.clear()

    def reading(self) -> AbstractContextManager[None]:
        lag = self.lag()
        return self._as_of(lag) if lag else super().reading()

    @contextmanager
    def _as_of(self, seconds: float) -> Iterator[None]:
        """Restore all tables, inside, to their state ``seconds`` (real) ago. For reads only: no writes and no await inside."""
        moment = time.monotonic() - seconds
        recent = [change for change in self._past if change[0] > moment]
        undone = [(table, id_, table.set(id_, old)) for _when, table, id_, old in reversed(recent)]
        try:
            yield
        finally:
            for table, id_, new in reversed(undone):
                table.set(id_, new)

    def _committed(self, undo: Sequence[Undo]) -> None:
        if not self._past_kept:
            return
        now = time.monotonic()
        while self._past and self._past[0][0] < now - self._past_kept:
            self._past.popleft()
        self._past.extend((now, *change) for change in undo)
