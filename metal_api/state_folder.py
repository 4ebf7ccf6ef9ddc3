# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state folder of a server: one process uses it at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class StartError(Exception):
    """A server cannot start; the message is one sentence for the user."""


@contextlib.contextmanager
def locked(state: Path, name: str) -> Iterator[None]:
    """Make the folder and lock it. ``name``: of the server. Raises :class:`StartError` if it is in use or cannot be made."""
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (state / "lock").open("a+", encoding="ascii")
    except OSError as error:
        raise StartError(f"--state {state}: {os.strerror(error.errno or 0)}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StartError(f"--state {state}: another {name} (process {lock.read().strip() or 'unknown'}) uses this folder") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file in one step, readable for its owner alone."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_bytes(content.encode() if isinstance(content, str) else content)
    fresh.replace(path)
