# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file with a module's notices for the operator, which its action plugin shows while the module runs, each once.

Each line is a JSON object: a notice (``level``, ``text``), or a mark that all notices above it were shown. Lines are only appended, under
a file lock.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_SHOWN = {"shown": True}


def append(path: str, notices: Iterable[Mapping[str, str]]) -> None:
    """Append notices; a new file gets mode 0600."""
    text = "".join(json.dumps(dict(notice)) + "\n" for notice in notices)
    if text:
        with _locked(path, os.O_CREAT | os.O_RDWR | os.O_APPEND) as file:
            file.write(text)


def take_unshown(path: str) -> list[dict[str, Any]]:
    """Return the notices that were not shown yet, and mark them as shown; an empty list without the file."""
    if not Path(path).is_file():
        return []
    with _locked(path, os.O_RDWR | os.O_APPEND) as file:
        entries = list(_entries(file))
        marks = [number for number, entry in enumerate(entries) if entry == _SHOWN]
        unshown = [entry for entry in entries[marks[-1] + 1 if marks else 0 :] if "text" in entry]
        if unshown:
            file.write(json.dumps(_SHOWN) + "\n")
        return unshown


@contextmanager
def _locked(path: str, flags: int) -> Iterator[IO[str]]:
    with os.fdopen(os.open(path, flags, 0o600), "r+" if flags & os.O_RDWR else "r", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _entries(file: IO[str]) -> Iterator[dict[str, Any]]:
    file.seek(0)
    for line in file:
        try:
            entry = json.loads(line)
        except ValueError:
            # Truncated by a full disk or a kill.
            continue
        if isinstance(entry, dict):
            yield entry
