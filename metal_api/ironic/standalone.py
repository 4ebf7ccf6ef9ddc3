# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs Ironic with SQLite as the program ``ironic`` does, in Ironic's own environment: nothing of this project can be imported here.

Ironic begins a transaction that writes as one that reads. When two of them meet, SQLite refuses one at once with "database is locked",
whatever its timeout, and Ironic leaves a node in ``deleting``, or an allocation in ``allocating``, for ever. Here such a transaction begins
with ``BEGIN IMMEDIATE`` and waits for the other one.

The process that does the work is a child of the one that was started. After the end of its parent by ``kill -9`` it would finish what it
has begun, for up to a minute, beside the Ironic of the next start: two of them would change one machine. Here it ends with its parent.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from cotyledon import _service_worker
from ironic.command import singleprocess
from ironic.db.sqlalchemy import api
from sqlalchemy import event
from sqlalchemy.engine import Engine

_writes: ContextVar[bool] = ContextVar("writes", default=False)
_session_for_write = api._session_for_write


@contextlib.contextmanager
def _session() -> Iterator[Any]:
    token = _writes.set(True)
    try:
        with _session_for_write() as session:
            yield session
    finally:
        _writes.reset(token)


@event.listens_for(Engine, "before_cursor_execute", retval=True)  # type: ignore[untyped-decorator] # SQLAlchemy is not installed here
def _begin(_connection: object, _cursor: object, statement: str, parameters: Any, _context: object, _executemany: bool) -> tuple[str, Any]:
    return ("BEGIN IMMEDIATE" if statement == "BEGIN" and _writes.get() else statement), parameters


def _end_with_parent(_worker: object, parent: tuple[Any, Any]) -> None:
    """Wait for the end of the parent process. ``parent``: a pipe that it writes nothing to and that ends with it."""
    reader, writer = parent
    writer.close()
    with contextlib.suppress(EOFError):
        reader.recv()
    os._exit(1)


if __name__ == "__main__":
    api._session_for_write = _session
    _service_worker.ServiceWorker._watch_parent_process = _end_with_parent
    sys.exit(singleprocess.main())
