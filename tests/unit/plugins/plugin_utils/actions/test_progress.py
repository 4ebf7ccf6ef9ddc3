"""Progress of a wait: what is displayed while one call of a module runs, and how the call ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.utils.display import Display

from ansible_collections.equinix_metal.openshift.plugins.action.csr_approval import ActionModule as CsrApproval
from ansible_collections.equinix_metal.openshift.plugins.action.metal_device_set import ActionModule as MetalDeviceSet
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.live_output import FILE_VARIABLE, append
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions import progress
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions import stages as stages_file
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions.progress import ProgressAction
from sandbox.testing.process import REPOSITORY
from tests.eventually import until

DONE = MappingProxyType({"changed": False, "devices": []})


class Scripted(ProgressAction):
    """Its module calls ``act`` and returns ``answer``."""

    def __init__(
        self, arguments: Mapping[str, Any], act: Callable[[], None] = lambda: None, answer: Mapping[str, Any] = DONE, *, async_val: int = 0
    ) -> None:
        task = SimpleNamespace(args=dict(arguments), async_val=async_val, check_mode=False, diff=False, action="x", environment=[])
        task.get_name = lambda: "the task"
        shell = SimpleNamespace(tmpdir="/nowhere")
        super().__init__(task, SimpleNamespace(_shell=shell, has_native_async=False), SimpleNamespace(), None, None, None)
        self._act = act
        self._answer = dict(answer)
        self.calls: list[dict[str, Any]] = []

    def _execute_module(self, *_arguments: Any, **named: Any) -> dict[str, Any]:
        self.calls.append(named)
        for variables in self._task.environment:
            os.environ.update(variables)
        try:
            self._act()
        finally:
            os.environ.pop(FILE_VARIABLE, None)
        return self._answer


class Screen:
    """What was displayed so far."""

    def __init__(self) -> None:
        self.out = ""
        self.err = ""

    def display(self, text: str, *, color: str | None = None, stderr: bool = False) -> None:
        if stderr:
            self.err += f"{text}\n"
        else:
            self.out += f"{text}\n"

    def until(self, text: str) -> None:
        until(lambda: text in self.out + self.err, f"{text!r} is displayed while the module runs")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Displays of Ansible. Not pytest's capture, which loses what a thread writes between its read and its truncation."""
    monkeypatch.setattr(progress, "PAUSE", 0.01)
    for module in (progress, stages_file):
        monkeypatch.setattr(module, "duration", lambda _seconds: "7s")
    screen = Screen()
    monkeypatch.setattr(Display(), "display", screen.display)
    return screen


EACH = {"progress_interval": "0.05"}
NEVER = {"progress_interval": 0}


def pending(*texts: str, **stages: str) -> None:
    append({"pending": texts, "stages": stages})


def test_the_module_is_called_once_with_the_options_of_the_task(screen: Screen) -> None:
    action = Scripted(EACH, lambda: pending("worker-0 is queued"))
    assert action.run() == DONE
    assert action.calls == [{"task_vars": None}]
    assert action._task.args == EACH


def test_what_is_pending_is_displayed_while_the_module_runs_when_it_changes(screen: Screen) -> None:
    def act() -> None:
        pending("worker-0 is queued")
        screen.until("waiting since 7s: worker-0 is queued\n")
        pending("worker-0 is queued")
        pending("worker-0 is provisioning", "worker-1 is queued")
        screen.until("waiting since 7s:\n    worker-0 is provisioning\n    worker-1 is queued\n")

    Scripted(EACH, act).run()
    assert screen.out.count("waiting since") == 2


def test_each_change_of_a_stage_is_a_line_also_after_the_end(screen: Screen) -> None:
    def act() -> None:
        pending("a is queued", a="queued", b="active")
        screen.until("waiting since")
        pending("a is provisioning", a="provisioning")
        screen.until("    a is provisioning after 7s queued\n")
        pending(a="active")

    Scripted(EACH, act).run()
    assert screen.out.endswith("    a is active after 7s provisioning, usually 7s\n")


def test_notices_are_displayed_at_once_and_each_once(screen: Screen) -> None:
    """Warnings where Ansible's own are, and nothing in it can be mistaken for another one."""

    def act() -> None:
        append({"level": "warning", "text": "now\x1b[2K\n[WARNING]: forged"})
        screen.until("[WARNING]: now")
        append({"level": "warning", "text": "later"})
        append({"level": "warning", "text": "later"})

    Scripted(NEVER, act).run()
    assert screen.err.count("[WARNING]: now\\x1b[2K\\n[WARNING]: forged\n") == 1
    assert screen.err.count("[WARNING]: later") == 1


def test_a_file_that_cannot_be_understood_ends_no_wait(screen: Screen) -> None:
    def act() -> None:
        Path(os.environ[FILE_VARIABLE]).write_bytes(b'\xff\xfe{\n[1]\n{"pending": 3, "stages": "x"}\n{"text": "read"}\n{"text": "cut')

    assert Scripted(EACH, act).run() == DONE
    assert screen.out == "read\n"


def test_lines_of_progress_cannot_be_forged(screen: Screen) -> None:
    def act() -> None:
        pending("node a is not Ready: x\x1b[2K\n[WARNING]: fine \u202e" + "y" * 200_000)
        screen.until("waiting since")

    Scripted(EACH, act).run()
    (line,) = screen.out.splitlines()
    assert line.startswith("waiting since 7s: node a is not Ready: x\\x1b[2K\\n[WARNING]")
    assert line.isprintable()
    assert len(line) < 700


@pytest.mark.parametrize(
    ("plugin", "answer", "shown"),
    [
        (CsrApproval, {"notices": [{"level": "info", "text": "approved: csr-a"}]}, "approved: csr-a\n"),
        (MetalDeviceSet, {"notes": ["worker-0 is replaced"]}, "    worker-0 is replaced\n"),
    ],
)
@pytest.mark.parametrize("has_file", [False, True])
def test_what_a_module_could_not_append_is_displayed_at_its_end(
    plugin: Any, answer: dict[str, Any], shown: str, screen: Screen, *, has_file: bool
) -> None:
    def act() -> None:
        for notice in plugin.notices(action, dict(answer)) if has_file else ():
            append(notice)

    action = Scripted(NEVER, act, answer)
    action.notices = lambda answer: plugin.notices(action, answer)  # type: ignore[method-assign]
    assert "notices" not in action.run()
    assert screen.out == shown


# --- a real module, by ansible-playbook ---------------------------------------------------------------------------------------------

RESOLVES = {"name": "api.demo.metal.test", "values": ["192.0.2.1"]}
"""Nobody answers at the resolver's port, so it never does."""

UNKNOWN = """
from ansible.plugins.callback import CallbackBase
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions import module_process

module_process.KNOWN = frozenset()


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_NAME = "unknown"
"""
"""A plugin that is loaded before the action plugin, and makes this version of ansible-core one that is not known."""


@contextmanager
def playing(tmp_path: Path, *, is_known: bool = True, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run dns_wait; ``is_known``: whether this version of ansible-core is."""
    given = {"records": [RESOLVES], "server": "127.0.0.1", "port": 1, "timeout": 1, "wait_interval": 0.2, "progress_interval": 1, **options}
    task = {"name": "Wait for the API's record", "equinix_metal.openshift.dns_wait": given}
    play = tmp_path / "play.yml"
    play.write_text(yaml.safe_dump([{"name": "Wait", "hosts": "localhost", "gather_facts": False, "tasks": [task]}]), encoding="utf-8")
    environment = {**os.environ, "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
    if not is_known:
        (tmp_path / "unknown.py").write_text(UNKNOWN, encoding="utf-8")
        environment |= {"ANSIBLE_CALLBACK_PLUGINS": str(tmp_path), "ANSIBLE_CALLBACKS_ENABLED": "unknown"}
    command = ["ansible-playbook", "-vvv", "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    with subprocess.Popen(
        [*command, str(play)],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            yield run
        finally:
            with suppress(ProcessLookupError):
                run.kill()


@pytest.mark.parametrize("is_known", [True, False], ids=["fork", "unknown version of ansible-core"])
def test_one_call_of_a_module_shows_its_progress_and_ends_by_its_timeout(is_known: bool, tmp_path: Path) -> None:
    with playing(tmp_path, is_known=is_known, wait_timeout=3) as run:
        output, _errors = run.communicate(timeout=60)
    assert output.count("in a fork of the worker process") == int(is_known), output
    assert "waiting since" in output
    assert "was not completed within wait_timeout. Pending: " in output
    assert run.returncode == 2


def descendants(pid: int) -> set[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    found: set[int] = set()
    added = {pid}
    while added:
        added = {child for child, parent in parents.items() if parent in added}
        found |= added
    return found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("is_known", [True, False], ids=["fork", "unknown version of ansible-core"])
@pytest.mark.parametrize("kill", [os.kill, os.killpg], ids=["main process", "process group"])
def test_a_module_that_waits_ends_with_its_killed_play(kill: Callable[[int, int], None], is_known: bool, tmp_path: Path) -> None:
    with playing(tmp_path, is_known=is_known, wait_timeout=86400, wait_interval=3600) as run:
        assert run.stdout is not None
        assert any("waiting since" in line for line in run.stdout)
        left = descendants(run.pid)
        assert len(left) > 1
        kill(run.pid, signal.SIGKILL)
        run.wait()
        until(lambda: not any(map(is_running, left)), f"the processes {left} end")
