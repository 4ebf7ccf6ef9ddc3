# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: every request, with its outcome and its caller; no headers, no bodies and no secrets. It survives a restart.

A client may put its token into a query parameter of any name, or into the path, by mistake. Hidden (``...``) are tokens of this sandbox and
of the request, every text with the form of a token, and the values of query parameters that the API does not have.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import unquote, unquote_plus

LOG = logging.getLogger(__name__)

# Query parameters whose values are shown. Not userdata, customdata, md5 and keys, though the API has them as parameters.
_NAMES = """
    address address_family asn bulk_disable bulk_enable categories cidr created[after] created[before] default_route deployment_type
    description details distro exclude facility fail_on_approval_required force_delete force_termination from global_ip hostname
    has_termination_time include ip_reservation_id label legacy mac_address metro name next_hop no_ssh_keys organization_id page per_page
    personal plan prefix preserve_data project_id provisionable public quantity query read_only remove_associated_instances reserved
    search slug sort_by sort_direction state tag type types until version virtual_network_id vnid vrf_id vxlan without_projects
"""
_SHOWN = frozenset(_NAMES.split())
# One long word with upper case, lower case and digits: tokens have this form; ids, slugs, hostnames and tags do not.
_LIKE_A_TOKEN = re.compile(r"(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{20,}(?![\w-])", re.ASCII)
_HIDDEN = "..."

KEPT = 200_000
_LONGEST = 2048
"""Characters of a method or path that are kept: any client writes entries."""
_MOST_PARAMETERS = 100
_MOST_ENCODINGS = 5
"""How often a text may be percent-encoded. Each level is read once more, and no client needs more than two."""


class Journal:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._cleared = 0.0
        self._has_failed = False
        # Gets service, method, status and seconds of each request.
        self.observe: Callable[[str, str, int, float], None] | None = None
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
        if self.observe is not None:
            self.observe(service, method, status, seconds)
        try:
            row = self._database.execute(
                "INSERT INTO journal (time, service, method, path, status, who, seconds, request_id, fault)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (started, service, method, path, status, who, seconds, request_id, fault),
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
        self, *, since: float = 0, after: int = 0, service: str | None = None, method: str | None = None, path: str | None = None
    ) -> list[dict[str, Any]]:
        """Return entries, oldest first. ``since``: seconds since 1970; ``after``: ``n`` of an entry; ``path``: regular expression."""
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


def without_secrets(path: str, secrets: Collection[str] = ()) -> str:
    """Return a path and its query without secrets."""
    path, mark, query = path.partition("?")
    parameters: list[str] = []
    for each in query.split("&", _MOST_PARAMETERS):
        if len(parameters) == _MOST_PARAMETERS:
            # All the others together.
            parameters.append(_HIDDEN)
            break
        name, equals, value = each.partition("=")
        known = unquote_plus(name).lower().removesuffix("[]") in _SHOWN
        # A parameter without value may be a token itself.
        shown = hide(value, secrets) if known else _HIDDEN if value else ""
        parameters.append(f"{name if known else hide(name, secrets)}{equals}{shown}")
    return hide(path, secrets) + mark + "&".join(parameters)


def hide(text: str, secrets: Collection[str] = ()) -> str:
    """Return ``text`` without ``secrets`` and without texts that have the form of a token, also where they are percent-encoded.

    A text that is percent-encoded more often than :data:`_MOST_ENCODINGS` is hidden as a whole.
    """
    plain = text
    for _level in range(_MOST_ENCODINGS):
        decoded = unquote(plain)
        if decoded == plain:
            break
        plain = decoded
    else:
        if unquote(plain) != plain:
            return _HIDDEN
    hidden = plain
    for each in secrets:
        if each:
            hidden = hidden.replace(each, _HIDDEN)
    hidden = _LIKE_A_TOKEN.sub(_HIDDEN, hidden)
    return text if hidden == plain else hidden


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + _HIDDEN
