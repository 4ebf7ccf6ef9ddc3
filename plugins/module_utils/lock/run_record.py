# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a playbook's run, as lines of JSON in a file of the controller, until the run report is made of it.

The file is named after the process of ansible-playbook, so all tasks and modules of a run find it. It exists from the first phase of a
playbook on; a module that runs elsewhere, or outside of such a playbook, records nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..base.errors import CollectionError
from ..base.live_output import Reader, append_line
from ..base.play import find_play
from .run import KEPT, runs_folder

LARGEST = 8 * 1024 * 1024
"""Bytes: a run of days with a fault in each second ends up with a report that lacks its last lines, not with a full disk."""


def record_path() -> Path | None:
    """Return the file of this run; None where no file can be kept."""
    try:
        main = find_play().main
        return runs_folder() / f"record-{main.pid}-{main.started}.jsonl"
    except (CollectionError, OSError):
        return None


def begin_record() -> None:
    """Create the file, empty, and delete those of runs that were killed."""
    path = record_path()
    if path is not None:
        with suppress(OSError):
            for other in path.parent.glob("record-*.jsonl"):
                if time.time() - other.stat().st_mtime > KEPT:
                    other.unlink(missing_ok=True)
            path.write_bytes(b"")
            path.chmod(0o600)


def record(kind: str, values: Mapping[str, Any]) -> None:
    """Append an event. A report is no reason for a run to fail: without a file nothing is recorded."""
    path = record_path()
    with suppress(OSError):
        # Only a file that a playbook has begun.
        if path is not None and path.stat().st_size <= LARGEST:
            append_line(path, {"kind": kind, "at": round(time.time(), 1), **values})


def read_record() -> list[dict[str, Any]]:
    """Return what was recorded, without malformed lines."""
    path = record_path()
    with suppress(OSError):
        return [event for event in Reader(path).new_entries() if isinstance(event.get("at"), (int, float))] if path else []
    return []


def end_record() -> None:
    path = record_path()
    if path is not None:
        with suppress(OSError):
            path.unlink(missing_ok=True)
