"""The most memory that what a user started has had, by kind."""

import threading
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.e2e.harness import User

PAUSE = 0.5
SERVER = "publish.py"


class Memory:
    """Looks at the processes while inside. ``most``, in bytes, by kind:

    ``play`` is ansible-playbook with its forks and modules, ``boot_files`` the server of what machines boot,
    ``sandbox`` the process with all pretended machines, ``api`` kube-apiserver and etcd.
    """

    def __init__(self, user: User) -> None:
        self._user = user
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self.most: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _measure(self) -> None:
        while not self._stop.wait(PAUSE):
            now: Counter[str] = Counter()
            for number, command in self._user.processes().items():
                now["boot_files" if SERVER in command else "play"] += resident(number)
            now["sandbox"] = resident(self._user.sandbox.pid)
            for number, command in children(self._user.sandbox.pid):
                if "kube-apiserver" in command or "/etcd" in command:
                    now["api"] += resident(number)
            self.most |= now

    def mebibytes(self, kind: str) -> float:
        return self.most[kind] / 2**20


def resident(number: int) -> int:
    """Bytes of memory a process has, its share of what it shares with others; 0 when it has ended."""
    return _told(number, "smaps_rollup", "Pss:")


def high_water(number: int) -> int:
    """The most bytes of memory a process has had, with all that it shares; 0 when it has ended."""
    return _told(number, "status", "VmHWM:")


def _told(number: int, file: str, field: str) -> int:
    try:
        lines = Path(f"/proc/{number}/{file}").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def children(parent: int) -> list[tuple[int, str]]:
    """Process number and command line of each child."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            # The name, in parentheses, may have anything in it.
            above = (path / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            if int(above) == parent:
                found.append((int(path.name), (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            continue  # it ended meanwhile
    return found
