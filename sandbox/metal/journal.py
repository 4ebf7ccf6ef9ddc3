# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: every request, with its outcome and its caller; no headers, no bodies and no secrets. It survives a restart."""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Collection
from typing import Any

from metal_api.core.redaction import HIDDEN, hide, without_secrets

LOG = logging.getLogger(__name__)

KEPT = 200_000
_LONGEST = 2048
"""Characters of a method or path that are kept: any client writes entries."""


class Journal:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._cleared = 0.0
        self._has_failed = False
        database.execute(
            "CREATE TABLE IF NOT EXISTS journal (n INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, service TEXT NOT NULL,"
            " method TEXT NOT NULL, path TEXT NOT NULL, status INTEGER NOT NULL, who TEXT NOT NULL, seconds REAL NOT NULL,"
            " request_id TEXT NOT NULL, fault TEXT)"
        )

    def write(  # noqa: PLR0913 - one column each, all by name
        self,
        *,
        service: str,
        method: str,
        path: str,
        status: int,
        caller: str,
        started: float,
        request_id: str = "",
        fault: str | None = None,
        secrets: Collection[str] = (),
    ) -> None:
        """Add an entry. ``path``: with its query. ``status`` 0: the connection was cut before the request had an effect.

        ``started``: of time.time(). ``secrets``: texts that are hidden. A request that began before the journal was cleared is not written:
        it may have been delayed for long, and belong to an earlier test.
        """
        if started < self._cleared:
            return
        # Shortened afterwards: of a secret that is cut in half, one half would be shown.
        seconds, method, path = time.time() - started, _shortened(hide(method, secrets)), _shortened(without_secrets(path, secrets))
        try:
            row = self._database.execute(
                "INSERT INTO journal (time, service, method, path, status, who, seconds, request_id, fault)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (started, service, method, path, status, caller, seconds, request_id, fault),
            )
            if row.lastrowid and row.lastrowid % 1000 == 0:
                self._database.execute("DELETE FROM journal WHERE n <= ?", (row.lastrowid - KEPT,))
        except sqlite3.Error as error:
            # A full disk, for the most part: requests are answered all the same.
            if not self._has_failed:
                LOG.error("the journal cannot be written, requests are missing in it: %s", error)  # noqa: TRY400 - its words suffice
            self._has_failed = True
        else:
            self._has_failed = False

    def read(
        self, *, earliest: float = 0, after: int = 0, service: str | None = None, method: str | None = None, path: str | None = None
    ) -> list[dict[str, Any]]:
        """Return entries, oldest first. ``earliest``: seconds since 1970; ``after``: ``n`` of an entry; ``path``: regular expression."""
        rows = self._database.execute(
            "SELECT n, time, service, method, path, status, who, seconds, request_id, fault FROM journal"
            " WHERE time >= ? AND n > ? AND (? IS NULL OR service = ?) ORDER BY n",
            (earliest, after, service, service),
        )
        methods = {name.strip().upper() for name in method.split(",")} if method else None
        pattern = re.compile(path) if path else None
        names = [column[0] for column in rows.description]
        entries = (dict(zip(names, row, strict=True)) for row in rows)
        return [
            entry
            for entry in entries
            if (methods is None or entry["method"] in methods) and (pattern is None or pattern.search(entry["path"]))
        ]

    def clear(self) -> None:
        self._cleared = time.time()
        self._database.execute("DELETE FROM journal")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + HIDDEN
