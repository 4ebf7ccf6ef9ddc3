# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of a module while it runs: a file of its action plugin, which displays what the module appends.

A module cannot print before it ends. Each line of the file is a JSON object: a notice (``level``, ``text``), or progress (``pending``:
lines on what is waited for; ``stages``: the stage of each thing whose stage is new, by name). Without the file, as on another host and in
a background task, nothing is displayed before the module ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILE_VARIABLE = "EQUINIX_METAL_NOTICES"
"""Environment variable with the path of the file, which exists."""


def append(entry: Mapping[str, Any]) -> bool:
    """Append an entry to the file of this process; return whether there is one."""
    try:
        append_line(os.environ.get(FILE_VARIABLE, ""), entry)
    except OSError:
        return False
    return True


def append_line(path: str | Path, entry: Mapping[str, Any]) -> None:
    """Append an entry to a file that exists, in one write, since threads and other modules append too. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, json.dumps(dict(entry), default=str).encode() + b"\n")
    finally:
        os.close(file)


class Reader:
    """Reads what is appended to a file; without lines that are malformed, as those that a full disk has truncated."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._offset = 0

    def new_entries(self) -> Iterator[dict[str, Any]]:
        """Return the entries of the lines that are complete and were not returned yet."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            lines, end, _incomplete = file.read().rpartition(b"\n")
        self._offset += len(lines) + len(end)
        for line in lines.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry
