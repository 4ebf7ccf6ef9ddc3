# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of this computer: the ansible-playbook that a module belongs to, and whether it still runs.

``kill -9`` of ansible-playbook does not reach its modules: a module runs below a worker process, which survives its parent, and since
ansible-core 2.19 has a session of its own, so that a signal to the process group does not reach it either. No process reads its result
then, and the next run may have started. So a module checks before each request and in each wait whether its play still runs.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
"""Replaced by tests; where it is missing (no Linux), only the parent process is known."""

PLAYS = ("ansible", "ansible-playbook", "ansible-pull", "ansible-console")
"""Names of the programs that start modules, as they stand in the first arguments of their command lines."""


@dataclass(frozen=True)
class Process:
    """A process by its id and the time of its start: an id alone may be another process's later.

    ``started``: clock ticks since boot, as in /proc/<pid>/stat; empty where that is not known.
    """

    pid: int
    started: str = ""

    def is_gone(self) -> bool:
        """Return whether it surely does not run any more."""
        stat = _stat(self.pid)
        if stat is not None:
            # A zombie only waits for its parent to read its exit status.
            return stat.state in "ZX" or (bool(self.started) and stat.started != self.started)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            # It is another user's, and /proc may be mounted so that it shows only one's own (hidepid).
            return False
        # It runs, and /proc does not show it, or there is no /proc.
        return False


@dataclass(frozen=True)
class Play:
    """The processes that a module's result goes to, the nearest first: the worker, and ansible-playbook.

    If none is recognised (not ``is_ansible``), it is the parent process. ``orphaned``: ansible-playbook ended before the module started.
    """

    processes: tuple[Process, ...]
    parent: int
    is_ansible: bool = True
    orphaned: bool = False

    @property
    def main(self) -> Process:
        return self.processes[-1]

    @property
    def task(self) -> Process:
        return self.processes[0] if self.is_ansible else process(os.getpid())

    def ended(self) -> str | None:
        """Return which process is gone, as a text; None while all of them run."""
        if self.orphaned:
            return f"the parent of process {self.processes[0].pid}"
        for process in self.processes:
            if process.is_gone():
                return f"process {process.pid}"
        # Without /proc this is all there is to see.
        if not _stat(os.getpid()) and os.getppid() != self.parent:
            return f"process {self.parent}"
        return None


@dataclass(frozen=True)
class _Stat:
    state: str
    parent: int
    started: str


def _stat(pid: int) -> _Stat | None:
    """Return what /proc says of a process; None when there is none, or no /proc."""
    try:
        # The second field is the program's name in parentheses, which may hold blanks and parentheses.
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return _Stat(state=fields[0], parent=int(fields[1]), started=fields[19])
    except (OSError, IndexError, ValueError):
        return None


def _arguments(pid: int) -> tuple[str, ...]:
    try:
        return tuple((PROC / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace").rstrip("\0").split("\0"))
    except OSError:
        return ()


def _starts_modules(arguments: tuple[str, ...]) -> bool:
    """Return whether this is the command line of ansible-playbook or its like: ``ansible-playbook``, ``python .../ansible-playbook``."""
    return any(Path(argument).name in PLAYS for argument in arguments[:3])


def process(pid: int) -> Process:
    stat = _stat(pid)
    return Process(pid, stat.started if stat is not None else "")


def find_play() -> Play:
    """Return the play that this process belongs to, found upwards from its parent.

    A worker is a fork of ansible-playbook and has its command line (ansible-core 2.17 to 2.21). Under ansible-runner, molecule, AWX or make
    these are the same two processes, and what has started them may end. A task with ``async`` is a daemon of its own: its parent is
    async_wrapper, which lives as long as the module.
    """
    parent = os.getppid()
    chain: list[tuple[Process, tuple[str, ...]]] = []
    pid = parent
    while pid > 0 and (stat := _stat(pid)) is not None and len(chain) < 64:
        chain.append((Process(pid, stat.started), _arguments(pid)))
        pid = stat.parent
    nearest = next((index for index, (_process, arguments) in enumerate(chain) if _starts_modules(arguments)), None)
    if nearest is None:
        return Play((process(parent),), parent, is_ansible=False)
    command = chain[nearest][1]
    members = []
    for member, arguments in chain[nearest:]:
        if arguments != command:
            break
        members.append(member)
    # Modules are always started by a fork: one that is alone and has been adopted by init has lost ansible-playbook.
    adopted = len(members) == 1 and (stat := _stat(members[0].pid)) is not None and stat.parent == 1
    return Play(tuple(members), parent, orphaned=adopted)


# --- this computer ---------------------------------------------------------------------------------------------------------------


def boot_time() -> float:
    """Return seconds since this computer started, by a monotonic clock that also runs while it sleeps, if the platform has one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def boot_id() -> str:
    """Return the unique id of this boot of this computer; empty without /proc."""
    try:
        return (PROC / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    """Return the number of the namespace that process ids are of: each container has its own. Empty where there is no /proc."""
    try:
        return str((PROC / "self" / "ns" / "pid").readlink()).strip("pid:[]")
    except OSError:
        return ""
