# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every request, with its outcome and who made it; no bodies and no secrets. Kept over a restart."""

from __future__ import annotations

import re
import sqlite3
import time
from typing import Any
from urllib.parse import urlsplit

# Query parameters whose values may be secrets: userdata/validate takes the whole userdata in the query.
_SECRET = re.compile(r"(?<=[?&])(userdata|token|auth_token|md5|password|key)=[^&]*", re.IGNORECASE)

KEPT = 200_000


class Journal:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._cleared = 0.0
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
        who: str,
        started: float,
        request_id: str = "",
        fault: str | None = None,
    ) -> None:
        """``path`` with its query. ``status`` 0: the connection was cut before anything happened. ``started``: of time.time().

        What began before the journal was cleared is not written: a request can be held for long, and who made it be gone.
        """
        if started < self._cleared:
            return
        row = self._database.execute(
            "INSERT INTO journal (time, service, method, path, status, who, seconds, request_id, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (started, service, method, without_secrets(path), status, who, time.time() - started, request_id, fault),
        )
        if row.lastrowid and row.lastrowid % 1000 == 0:
            self._database.execute("DELETE FROM journal WHERE n <= ?", (row.lastrowid - KEPT,))

    def read(
        self, *, since: float = 0, after: int = 0, service: str | None = None, method: str | None = None, path: str | None = None
    ) -> list[dict[str, Any]]:
        """Oldest first. ``since``: seconds since 1970; ``after``: the ``n`` of an entry; ``path``: regular expression found in the path."""
        rows = self._database.execute(
            "SELECT n, time, service, method, path, status, who, seconds, request_id, fault FROM journal"
            " WHERE time >= ? AND n > ? AND (? IS NULL OR service = ?) ORDER BY n",
            (since, after, service, service),
        )
        methods = {each.strip().upper() for each in method.split(",")} if method else None
        pattern = re.compile(path) if path else None
        names = [each[0] for each in rows.description]
        entries = (dict(zip(names, row, strict=True)) for row in rows)
        return [
            entry
            for entry in entries
            if (methods is None or entry["method"] in methods) and (pattern is None or pattern.search(entry["path"]))
        ]

    def clear(self) -> None:
        self._cleared = time.time()
        self._database.execute("DELETE FROM journal")


def without_secrets(path: str) -> str:
    return _SECRET.sub(r"\1=...", path) if urlsplit(path).query else path
