"""Warnings and alarms are printed at once, not when the task ends: with real playbooks, while their task runs.

With the ansible-core of the tests, and with that of each virtual environment that MATRIX_VENVS names (folders, separated by colons).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.conftest import ROOT
from tests.cluster.control_plane import ControlPlane, environment
from tests.cluster.test_csr_approval import options
from tests.unit.plugins.module_utils.csr_cases import WORKER, client, dns, key, made, serving

VENVS = [Path(sys.executable).parent.parent, *map(Path, filter(None, os.environ.get("MATRIX_VENVS", "").split(":")))]
LIMIT = 120.0
"""Seconds until a line has to be there; what is measured is that its task still runs then."""

ROGUE_CSR = "[WARNING]: certificate request stranger for node 'stranger.demo.metal.test' stays pending: no expected machine"
ALARM = f"[WARNING]: CSRs with different keys were filed for node {WORKER}: second (approved), first (pending)"
APPROVED = f"approved: second of {WORKER}: first certificate"


class Playing:
    """A running playbook, and the lines it has shown until now."""

    def __init__(self, venv: Path, folder: Path, tasks: list[dict[str, Any]]) -> None:
        play = {"hosts": "localhost", "gather_facts": False, "vars": {"ansible_python_interpreter": str(venv / "bin" / "python")}}
        (folder / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": tasks}]), encoding="utf-8")
        self.process = subprocess.Popen(
            [str(venv / "bin" / "ansible-playbook"), "-i", "localhost,", "-c", "local", str(folder / "play.yml")],
            cwd=folder,
            env={
                **environment(),
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
                "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
                # As on a terminal: what is shown does not wait in a buffer.
                "PYTHONUNBUFFERED": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something while the playbook runs."""
        deadline = time.monotonic() + LIMIT
        while not condition():
            assert self.process.poll() is None, f"the play has ended before {what}:\n" + "\n".join(self.lines)
            assert time.monotonic() < deadline, f"not in time: {what}:\n" + "\n".join(self.lines)
            time.sleep(0.05)

    def until_shown(self, text: str) -> None:
        self.until(lambda: any(line.startswith(text) for line in self.lines), text)

    def shown(self, text: str) -> int:
        return sum(line.startswith(text) for line in self.lines)

    def ended(self) -> list[str]:
        assert self.process.wait(LIMIT) == 0, "\n".join(self.lines)
        self._reader.join()
        return self.lines


@pytest.fixture(params=VENVS, ids=lambda venv: venv.name)
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[list[dict[str, Any]]], Playing]]:
    started: list[Playing] = []

    def start(tasks: list[dict[str, Any]]) -> Playing:
        started.append(Playing(request.param, tmp_path, tasks))
        return started[-1]

    yield start
    for playing in started:
        playing.process.kill()
        playing.process.wait()


def file_all(cluster: ControlPlane, playing: Playing, seen: int) -> None:
    """File a rogue CSR, and two of one machine with different keys, once the approver watches."""
    playing.until(lambda: any(event["verb"] == "watch" for event in cluster.audit(seen)), "the approver follows")
    cluster.file("stranger", client(made("system:node:stranger.demo.metal.test"))["spec"]).raise_for_status()
    for name in ("first", "second"):
        cluster.file(name, client(made(signed_with=key(name)))["spec"]).raise_for_status()


def join(cluster: ControlPlane) -> None:
    cluster.register(WORKER)
    cluster.file("serving", serving(made(names=dns(WORKER)))["spec"], node=WORKER).raise_for_status()


@pytest.mark.parametrize("interval", [0, 300], ids=["no progress", "rare progress"])
def test_a_waiting_task_prints_its_warnings_at_once(
    cluster: ControlPlane, play: Callable[[list[dict[str, Any]]], Playing], *, interval: int
) -> None:
    """With ansible-core 2.19 and newer a warning of a task is kept until the task ends, which was 90 minutes later."""
    given = options(cluster, of=1, wait=True, wait_timeout=600, wait_interval=1, progress_interval=interval)
    seen = cluster.audited_until()
    playing = play([{"equinix_metal.openshift.csr_approval": given}])
    file_all(cluster, playing, seen)
    playing.until_shown(ROGUE_CSR)
    playing.until_shown(ALARM)
    playing.until_shown(APPROVED)
    join(cluster)
    playing.ended()
    for text in (ROGUE_CSR, ALARM, APPROVED, "approved: serving of"):
        assert playing.shown(text) == 1, text
