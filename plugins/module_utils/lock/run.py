# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as files on the controller: the state that its modules share, and whether one of them still runs.

There are two files, in a folder of the user below the folder for temporary files. Modules read ``<run>.json``: the holder, the locked
scope, and the id of the lock object once it exists. Each module of the run has a shared ``flock`` on ``<run>.lock`` while it runs; the
kernel releases it when the process ends, however it ends. The content of that file is the time until which the last write may still arrive.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..base.errors import CollectionError
from ..base.play import Process, boot_id, boot_time
from .record import Holder

KEPT = 86400.0
"""Seconds after which another run removes the files of an ended run."""

_WIDTH = 20


@dataclass(frozen=True)
class Locked:
    """What is locked: devices of one project with these ownership ``tags``. ``scope`` is the name of that set.

    ``metro``: where the lock object is created; empty: in any metro. ``lifetime``: of the lock, in seconds.
    """

    scope: str
    tags: list[str]
    project: str
    metro: str
    lifetime: float


@dataclass
class Run:
    """A run that writes to the locked scope. ``path``: its file, the value of the modules' option ``cluster_lock``.

    ``lock``: the id of its lock object; empty if it has none. ``unsure``: whether there may be another lock object, of a create whose
    answer was lost. ``renewed``: when the lock was acquired or last renewed, by ``boot_time``.
    """

    path: Path
    holder: Holder
    locked: Locked
    lock: str = ""
    unsure: bool = False
    renewed: float = 0.0
    _marker: int = -1
    _settled_at: float = 0.0

    # The file

    @classmethod
    def begin(cls, holder: Holder, locked: Locked) -> Run:
        """Return this run, read from its file or with a new file. Raises CollectionError if the file cannot be read or written."""
        folder = runs_folder()
        path = folder / f"{holder.run}.json"
        run = cls(path, holder, locked)
        if path.exists():
            known = cls.load(path)
            run.lock, run.unsure, run.renewed = known.lock, known.unsure, known.renewed
        else:
            _remove_old(folder)
        run.save()
        run.attach()
        return run

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Return the run in a file. Raises CollectionError if the file cannot be read or is malformed."""
        path = Path(path)
        try:
            content = json.loads(path.read_bytes())
            process = Process(int(content["process"]["pid"]), str(content["process"]["started"]))
            names = ("run", "user", "operation", "job", "boot", "namespace")
            holder = Holder(**{name: str(content[name]) for name in names}, process=process)
            tags = [str(tag) for tag in content["tags"]]
            locked = Locked(str(content["scope"]), tags, str(content["project"]), str(content["metro"]), float(content["lifetime"]))
            return cls(path, holder, locked, lock=str(content["lock"]), unsure=bool(content["unsure"]), renewed=float(content["renewed"]))
        except (OSError, ValueError, TypeError, KeyError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is not the file of a run"
            raise CollectionError(
                f"Cannot read the run {path} (cluster_lock): {reason}. Set cluster_lock to the run that metal_cluster_lock returned"
                " on this computer"
            ) from problem

    def save(self) -> None:
        """Replace the file atomically."""
        state = {"lock": self.lock, "unsure": self.unsure, "renewed": self.renewed}
        content = {**asdict(self.holder), **asdict(self.locked), **state}
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            fresh.write_text(json.dumps(content), encoding="utf-8")
            fresh.rename(self.path)
        except OSError as problem:
            raise CollectionError(f"Cannot write the run {self.path}: {problem.strerror}") from problem

    def note_lock(self, lock: str, *, unsure: bool) -> None:
        """Save the id of the lock object, acquired or renewed now, for the next modules of the run."""
        self.lock, self.unsure, self.renewed = lock, unsure, boot_time()
        self.save()

    def remove(self) -> None:
        for path in (self.path, self._marker_path):
            path.unlink(missing_ok=True)

    # Its modules

    @property
    def _marker_path(self) -> Path:
        return self.path.with_suffix(".lock")

    def attach(self) -> None:
        """Register this process as a module of the run until it ends."""
        if self._marker >= 0:
            return
        try:
            self._marker = os.open(self._marker_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._marker, fcntl.LOCK_SH)
        except OSError as problem:
            raise CollectionError(f"Cannot open {self._marker_path}: {problem.strerror}") from problem

    def note_write(self, within: float) -> None:
        """Save that a write is sent now, which takes effect within this number of seconds or never."""
        self.attach()
        self._settled_at = max(self._settled_at, boot_time() + within)
        os.pwrite(self._marker, f"{self._settled_at:{_WIDTH}.3f}".encode(), 0)


def settled_at(holder: Holder) -> float | None:
    """Return the ``boot_time`` from which no write of a run can arrive, whose process and modules have certainly ended.

    None: it still runs, or this cannot be checked here (another computer, container, user or folder for temporary files).
    """
    if not holder.is_of_this_computer() or not holder.process.is_gone():
        return None
    try:
        marker = os.open(runs_folder() / f"{holder.run}.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, CollectionError):
        return None
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return float(os.pread(marker, _WIDTH, 0) or b"-inf")
    except (OSError, ValueError):
        return None
    finally:
        os.close(marker)


def ended_runs(locked: Locked) -> list[Run]:
    """Return the runs that ended on this computer without deleting their lock object of this scope, or that may have left one."""
    ended = []
    for path in sorted(runs_folder().glob("*.json")):
        # The file of a run that releases its lock now, or no file of a run.
        with suppress(CollectionError):
            run = Run.load(path)
            is_of_scope = (run.locked.scope, run.locked.project) == (locked.scope, locked.project)
            if is_of_scope and (run.lock or run.unsure) and settled_at(run.holder) is not None:
                ended.append(run)
    return ended


def runs_folder() -> Path:
    """Return the folder of this user's runs. Raises CollectionError if another user has access to it."""
    folder = Path(tempfile.gettempdir()) / f"equinix_metal.openshift-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as problem:
        raise CollectionError(
            f"Cannot create the folder {folder}: {problem.strerror}. Set TMPDIR to a folder that you can write to"
        ) from problem
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise CollectionError(f"Cannot use {folder}: other users have access to it. Remove it, or set TMPDIR to a private folder")
    return folder


def _remove_old(folder: Path) -> None:
    """Remove the files of runs that ended more than KEPT seconds ago."""
    for path in folder.glob("*.json"):
        with suppress(OSError, CollectionError):
            run = Run.load(path)
            ended = run.holder.boot != boot_id() or run.holder.process.is_gone()
            if ended and time.time() - path.stat().st_mtime > KEPT:
                run.remove()
