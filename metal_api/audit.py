# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit log: every change of the state, with who caused it and when, as lines of JSON in ``audit.log`` of the state folder.

Values of fields that may be secret (userdata, keys, custom data) are not in it, only their names. The file grows: rotate it with
``copytruncate`` of logrotate, or with its own means; the server opens it for each entry.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from metal_api.core.actor import ACTOR
from metal_api.core.store import Change

NAME: Final = "audit.log"

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

    def write(self, changes: Sequence[Change]) -> None:
        """Write the changes of a transaction, a line for each record."""
        actor, now = ACTOR.get(), datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = [
            orjson.dumps({"time": now, "who": actor.name, "from": actor.address, "request": actor.request, **entry})
            for each in changes
            if (entry := _entry(each)) is not None
        ]
        if lines:
            with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
                file.write(b"\n".join([*lines, b""]))


def _entry(change: Change) -> dict[str, Any] | None:
    """Return the line of a record: ``what`` is created, changed or deleted; None for no line."""
    if change.table in _OMITTED or (change.old is None and change.new is None):
        return None
    old, new = change.old or {}, change.new or {}
    entry: dict[str, Any] = {"kind": change.table, "id": change.id}
    if change.old is None or change.new is None:
        given = new or old
        return entry | {
            "what": "created" if change.old is None else "deleted",
            "values": {name: value for name, value in given.items() if name in _SHOWN and value not in (None, "", False)},
        }
    fields = sorted(name for name in new if name not in _IGNORED and old.get(name) != new[name])
    if not fields:
        return None
    values = {name: [old.get(name), new[name]] for name in fields if name in _SHOWN}
    return entry | {"what": "changed", "fields": fields, "values": values}
