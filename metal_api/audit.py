# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit log: every change of the state, with its author and time, as lines of JSON in ``audit.log`` of the state folder.

Values of fields that may be secret (userdata, keys, custom data) are not in it, only their names. The file grows: rotate it with
``copytruncate`` of logrotate; the server opens it for each entry. While it cannot be written, entries are kept in
memory and written when it can be again; of more than :data:`MOST_KEPT` the oldest are lost, and a line has their number.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from metal_api.core.actor import ACTOR
from metal_api.core.store import Change

LOG = logging.getLogger(__name__)

NAME: Final = "audit.log"
MOST_KEPT: Final = 10_000

_SHOWN: Final = frozenset(
    {
        *("hostname", "name", "label", "description", "state", "plan", "metro", "operating_system", "device_id", "server_id", "project_id"),
        *("unavailable", "locked", "read_only", "email", "address", "vxlan"),
    }
)
"""Fields with their values in the log."""

_OMITTED: Final = frozenset({"events"})
"""Tables that are a history themselves."""

_IGNORED: Final = frozenset({"updated_at"})


class Audit:
    """Writes ``path``, which its owner alone may read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: deque[bytes] = deque()
        self._lost = 0
        self._has_failed = False

    def write(self, changes: Sequence[Change]) -> None:
        """Write the changes of a transaction, a line for each record. An error is logged: the changes are stored in any case."""
        actor = ACTOR.get()
        entries = [
            {"who": actor.name, "from": actor.address, "request": actor.request, **entry}
            for change in changes
            if (entry := _entry(change)) is not None
        ]
        if not entries:
            return
        self._kept += map(_line, entries)
        while len(self._kept) > MOST_KEPT:
            self._kept.popleft()
            self._lost += 1
        lines = [_line({"what": "lost", "lines": self._lost})] if self._lost else []
        try:
            _append(self._path, b"".join([*lines, *self._kept]))
        except OSError as error:
            if not self._has_failed:
                LOG.error("%s cannot be written, its entries are kept in memory: %s", self._path, error)  # noqa: TRY400 - its words suffice
            self._has_failed = True
            return
        if self._has_failed:
            LOG.info("%s is written again", self._path)
        self._kept.clear()
        self._lost, self._has_failed = 0, False


def _line(entry: dict[str, Any]) -> bytes:
    return orjson.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}) + b"\n"


def _append(path: Path, text: bytes) -> None:
    """Append all of ``text``, or nothing. Raises ``OSError``."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            # Unbuffered: on a full disk a part of it may be written.
            left = memoryview(text)
            while left:
                left = left[os.write(descriptor, left) :]
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _entry(change: Change) -> dict[str, Any] | None:
    """Return the line of a record: ``what`` is created, changed or deleted; None for no line."""
    if change.table in _OMITTED or (change.old is None and change.new is None):
        return None
    old, new = change.old or {}, change.new or {}
    entry: dict[str, Any] = {"kind": change.table, "id": change.id}
    if change.old is None or change.new is None:
        attributes = new or old
        return entry | {
            "what": "created" if change.old is None else "deleted",
            "values": {name: value for name, value in attributes.items() if name in _SHOWN and value not in (None, "", False)},
        }
    fields = sorted(name for name in new if name not in _IGNORED and old.get(name) != new[name])
    if not fields:
        return None
    values = {name: [old.get(name), new[name]] for name in fields if name in _SHOWN}
    return entry | {"what": "changed", "fields": fields, "values": values}
