# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as a file of this computer: what its modules have to know of it, and whether one of them still runs.

Two files in a folder of the user's own below the folder for temporary files. ``<run>.json`` is what modules read: the holder, what is
locked, and the id of the lock object once one of them has created it. Each module of the run keeps a shared ``flock`` on ``<run>.lock``
for as long as it runs; the kernel ends that with the process, however it ends. In that file stands until when the last write that was sent
may still arrive.

Note that this module util is private to the collection: it may change without notice.
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

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import Process, boot_id, boot_time
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.record import Holder

KEPT = 86400.0
"""Seconds after which the files of a run that has ended are removed by another one."""

_WIDTH = 20


@dataclass(frozen=True)
class Locked:
    """What is locked: devices of one project with these ownership ``tags``, which is ``scope`` as one word.

    ``metro``: where the lock object is created; empty: wherever it can be. ``lifetime``: of the lock, in seconds.
    """

    scope: str
    tags: list[str]
    project: str
    metro: str
    lifetime: float


@dataclass
class Run:
    """A run that writes to what is locked. ``path`` is its file, the identity that modules are given as ``cluster_lock``.

    ``lock``: the id of its lock object; empty while it has none. ``unsure``: whether there may be another one, of a create whose
    answer was lost. ``renewed``: when the lock was taken or renewed last, by ``boot_time``.
    """

    path: Path
    holder: Holder
    locked: Locked
    lock: str = ""
    unsure: bool = False
    renewed: float = 0.0
    _marker: int = -1
    _quiet_from: float = 0.0

    # The file.

    @classmethod
    def begin(cls, holder: Holder, locked: Locked) -> Run:
        """Return this run: as its file has it, or with a file that is written now. Raises CollectionError when there can be none."""
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

    @staticmethod
    def is_begun(holder: Holder) -> bool:
        """Return whether this run has its file already."""
        return (runs_folder() / f"{holder.run}.json").exists()

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Return the run of a file. Raises CollectionError when it is none."""
        path = Path(path)
        try:
            content = json.loads(path.read_bytes())
            process = Process(int(content["pid"]), str(content["started"]))
            names = ("run", "user", "operation", "job", "boot", "namespace")
            holder = Holder(**{name: str(content[name]) for name in names}, process=process)
            tags = [str(tag) for tag in content["tags"]]
            locked = Locked(str(content["scope"]), tags, str(content["project"]), str(content["metro"]), float(content["lifetime"]))
            return cls(path, holder, locked, lock=str(content["lock"]), unsure=bool(content["unsure"]), renewed=float(content["renewed"]))
        except (OSError, ValueError, TypeError, KeyError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is not the file of a run"
            raise CollectionError(
                f"Cannot read the run {path} (cluster_lock): {reason}. It is what metal_cluster_lock returns as run, on the same computer"
            ) from problem

    def save(self) -> None:
        """Write the file; who reads it meanwhile reads the old or the new one."""
        holder = self.holder
        content = {
            "run": holder.run,
            "user": holder.user,
            "operation": holder.operation,
            "job": holder.job,
            "boot": holder.boot,
            "namespace": holder.namespace,
            "pid": holder.process.pid,
            "started": holder.process.started,
            **asdict(self.locked),
            "lock": self.lock,
            "unsure": self.unsure,
            "renewed": self.renewed,
        }
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            fresh.write_text(json.dumps(content), encoding="utf-8")
            fresh.rename(self.path)
        except OSError as problem:
            raise CollectionError(f"Cannot write the run {self.path}: {problem.strerror}") from problem

    def note_lock(self, lock: str, *, unsure: bool) -> None:
        """Keep the id of the lock object, which is good from now on, for the modules that come after this one."""
        self.lock, self.unsure, self.renewed = lock, unsure, boot_time()
        self.save()

    def remove(self) -> None:
        """Remove the files: nobody asks for this run any more."""
        for path in (self.path, self._marker_path):
            path.unlink(missing_ok=True)

    # Its modules.

    @property
    def _marker_path(self) -> Path:
        return self.path.with_suffix(".lock")

    def attach(self) -> None:
        """Be one of this run's modules until this process ends."""
        if self._marker >= 0:
            return
        try:
            self._marker = os.open(self._marker_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._marker, fcntl.LOCK_SH)
        except OSError as problem:
            raise CollectionError(f"Cannot open {self._marker_path}: {problem.strerror}") from problem

    def note_write(self, within: float) -> None:
        """Write down that a request is sent now which has an effect within so many seconds, or none."""
        self.attach()
        self._quiet_from = max(self._quiet_from, boot_time() + within)
        os.pwrite(self._marker, f"{self._quiet_from:{_WIDTH}.3f}".encode(), 0)


@dataclass(frozen=True)
class Remains:
    """What is left here of a run that ended on this computer. ``quiet_from``: when what it had sent is over, by :func:`boot_time`."""

    quiet_from: float


def remains_of(holder: Holder) -> Remains | None:
    """Return what a run has left when it surely has ended: its process is gone, and with it the last of its modules.

    None: it still runs, or that cannot be seen from here (another computer or container, another user, another folder for temporary files).
    """
    if not holder.is_of_this_computer() or not holder.process.is_gone():
        return None
    try:
        marker = os.open(runs_folder() / f"{holder.run}.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, CollectionError):
        return None
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Remains(float(os.pread(marker, _WIDTH, 0) or b"-inf"))
    except (OSError, ValueError):
        return None
    finally:
        os.close(marker)


def runs_folder() -> Path:
    """Return the folder of this user's runs. Raises CollectionError when somebody else may write there."""
    folder = Path(tempfile.gettempdir()) / f"equinix_metal.openshift-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as problem:
        raise CollectionError(
            f"Cannot make the folder {folder}: {problem.strerror}. Set TMPDIR to a folder that you may write"
        ) from problem
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise CollectionError(f"{folder} is no folder of yours alone. Remove it, or set TMPDIR to a folder that is for you alone")
    return folder


def _remove_old(folder: Path) -> None:
    """Remove what runs have left that ended long ago, without anybody who has seen it."""
    for path in folder.glob("*.json"):
        with suppress(OSError, CollectionError):
            run = Run.load(path)
            ended = run.holder.boot != boot_id() or run.holder.process.is_gone()
            if ended and time.time() - path.stat().st_mtime > KEPT:
                run.remove()
