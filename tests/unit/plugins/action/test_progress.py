"""Progress of a wait: number of calls, printed lines, and the result."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleActionFail

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.notice_file import append
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.outage import FILE_VARIABLE
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils import _progress
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import ProgressAction
from sandbox.testing.process import REPOSITORY

COLLECTION = "ansible_collections.equinix_metal.openshift.plugins"
WAITING = {"changed": True, "waiting": ["worker-0 is queued"], "resume": {"worker-0": "its id"}}
DONE = {"changed": False, "devices": []}


class Scripted(ProgressAction):
    """The module answers by a script; time is what it says."""

    def __init__(self, arguments: dict[str, Any], *answers: dict[str, Any], async_val: int = 0, check_mode: bool = False) -> None:
        task = SimpleNamespace(args=arguments, async_val=async_val, check_mode=check_mode, diff=False, action="x", environment=[])
        task.get_name = lambda: "the task"
        shell = SimpleNamespace(tmpdir="/nowhere")
        super().__init__(task, SimpleNamespace(_shell=shell, has_native_async=False), SimpleNamespace(), None, None, None)
        self._answers = list(answers)
        self.calls: list[dict[str, Any]] = []
        self.shown: list[list[str]] = []

    def _execute_module(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        self.calls.append(named["module_args"])
        return dict(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])

    def show(self, waiting: Any, seconds: float) -> None:
        self.shown.append(list(waiting))


def test_without_an_interval_the_module_is_called_once() -> None:
    action = Scripted({"hostname": "a"}, DONE)
    assert action.run() == DONE
    assert action.calls == [{"hostname": "a"}]


@pytest.mark.parametrize("how", [{"async_val": 60}, {"check_mode": True}])
def test_in_the_background_and_in_check_mode_nothing_is_sliced(how: dict[str, Any]) -> None:
    action = Scripted({"progress_interval": 5}, DONE, **how)
    action.run()
    assert [call["progress_interval"] for call in action.calls] == [0]


@pytest.mark.parametrize("wait", [False, "no", 0])
def test_without_waiting_nothing_is_sliced(wait: Any) -> None:
    action = Scripted({"progress_interval": 5, "wait": wait}, DONE)
    action.run()
    assert [call["progress_interval"] for call in action.calls] == [0]


class Quick(Scripted):
    """As csr_approval, which is called again and again without an interval too."""

    unwatched_slice = 7.0


def test_without_an_interval_a_quick_one_is_sliced_and_shows_no_progress() -> None:
    action = Quick({}, WAITING, DONE)
    assert action.run() == {"changed": True, "devices": []}
    assert [call["progress_interval"] for call in action.calls] == [7.0, 7.0]
    assert action.shown == []
    for how in ({"async_val": 60}, {"check_mode": True}):
        once = Quick({}, DONE, **how)
        once.run()
        assert "progress_interval" not in once.calls[0]


class Reporting(Scripted):
    """Its module leaves notices while it runs."""

    def __init__(self, *arguments: Any, report: Callable[[str], None], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._report = report

    def _execute_module(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        self._report(self._task.environment[-1][FILE_VARIABLE])
        return super()._execute_module(*arguments, **named)


def test_notices_of_a_module_are_shown_while_it_runs(capfd: pytest.CaptureFixture[str]) -> None:
    """Warnings where Ansible's own are, each line once, and nothing in it can be mistaken for another one."""
    seen: list[str] = []

    def report(path: str) -> None:
        append(path, [{"level": "warning", "text": "now\x1b[2K\n[WARNING]: forged"}])
        deadline = time.monotonic() + 60
        while "[WARNING]: now" not in "".join(seen):
            assert time.monotonic() < deadline, "not shown while the module runs"
            seen.append(capfd.readouterr().err)
            time.sleep(0.05)
        append(path, [{"level": "warning", "text": "later"}, {"level": "warning", "text": "later"}])

    Reporting({}, DONE, report=report).run()
    errors = "".join(seen) + capfd.readouterr().err
    assert errors.count("[WARNING]: now\\x1b[2K\\n[WARNING]: forged\n") == 1
    assert errors.count("[WARNING]: later") == 1


def test_a_file_of_notices_that_cannot_be_read_ends_no_wait(capfd: pytest.CaptureFixture[str]) -> None:
    def report(path: str) -> None:
        Path(path).write_bytes(b"\xff\xfe{")

    assert Reporting({}, DONE, report=report).run() == DONE
    assert capfd.readouterr().err.count("Cannot read the notices") == 1


def test_what_is_missing_is_shown_when_it_changes_and_the_end_is_one_result() -> None:
    later = {"changed": False, "waiting": ["worker-0 is provisioning"], "resume": {"worker-0": "its id"}}
    action = Scripted({"progress_interval": "5"}, WAITING, WAITING, later, DONE)
    result = action.run()
    assert result == {"changed": True, "devices": []}
    assert action.shown == [["worker-0 is queued"], ["worker-0 is provisioning"]]
    assert "resume" not in action.calls[0]
    assert all(call["resume"] == {"worker-0": "its id"} for call in action.calls[1:])


def test_killed_with_its_play_it_asks_for_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    action = Scripted({"progress_interval": 5}, WAITING, DONE)
    parents = iter([4711, 1])
    monkeypatch.setattr("os.getppid", lambda: next(parents, 1))
    with pytest.raises(AnsibleActionFail, match="killed"):
        action.run()
    assert len(action.calls) == 1


def test_a_failure_ends_it_and_tells_that_something_was_changed() -> None:
    action = Scripted({"progress_interval": 5}, WAITING, {"failed": True, "msg": "Disk not found", "changed": False})
    result = action.run()
    assert result["failed"]
    assert result["changed"]
    assert "resume" not in result


def test_a_warning_of_any_call_is_kept_once() -> None:
    action = Scripted({"progress_interval": 5}, {**WAITING, "warnings": ["a"]}, {**WAITING, "warnings": ["a"]}, {**DONE, "warnings": ["b"]})
    assert action.run()["warnings"] == ["a", "b"]


def test_the_whole_wait_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(0, 1000, 10))
    monkeypatch.setattr(_progress, "time", SimpleNamespace(monotonic=lambda: float(next(moments))))
    action = Scripted({"progress_interval": 5, "wait_timeout": 65}, *[WAITING] * 3, {"failed": True})
    action.run()
    limits = [call["wait_timeout"] for call in action.calls]
    assert limits == sorted(limits, reverse=True)
    assert limits[-1] < 65


class Aliased(Scripted):
    """As metal_gateway, which accepts the name that wait_timeout has in an older collection."""

    wait_timeout_alias = "timeout"


def test_the_time_to_wait_is_known_by_the_alias_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(0, 1000, 10))
    monkeypatch.setattr(_progress, "time", SimpleNamespace(monotonic=lambda: float(next(moments))))
    action = Aliased({"progress_interval": 5, "timeout": 65}, WAITING, DONE)
    action.run()
    assert [call["wait_timeout"] for call in action.calls] == [55.0, 35.0]
    assert not [call for call in action.calls if "timeout" in call]


def test_another_option_of_that_name_reaches_the_module() -> None:
    """The timeout of dns_wait is that of one answer."""
    action = Scripted({"progress_interval": 5, "timeout": 2}, DONE)
    action.run()
    assert [(call["timeout"], call["wait_timeout"]) for call in action.calls] == [(2, pytest.approx(1800, abs=60))]


@pytest.mark.parametrize("name", [path.stem for path in sorted((REPOSITORY / "plugins" / "action").glob("[a-z]*.py"))])
def test_the_alias_of_a_module_is_that_of_its_action_plugin(name: str) -> None:
    plugin = import_module(f"{COLLECTION}.action.{name}").ActionModule
    if not issubclass(plugin, ProgressAction):
        return
    options = yaml.safe_load(import_module(f"{COLLECTION}.modules.{name}").DOCUMENTATION)["options"]
    assert plugin.wait_timeout_alias == "".join(options.get("wait_timeout", {}).get("aliases", []))


@pytest.mark.parametrize("name", ["progress_interval", "wait_timeout"])
def test_what_is_no_number_is_told(name: str) -> None:
    with pytest.raises(AnsibleActionFail, match=f"{name} has to be a number of seconds"):
        Scripted({"progress_interval": 5, name: "soon"}, DONE).run()


@pytest.mark.parametrize("name", ["progress_interval", "wait_timeout"])
@pytest.mark.parametrize("value", ["nan", "inf", -1])
def test_time_that_does_not_pass_is_refused(name: str, value: Any) -> None:
    with pytest.raises(AnsibleActionFail, match=f"{name} must be 0 or greater and at most 1000000000, not {value}"):
        Scripted({"progress_interval": 5, name: value}, DONE).run()


def test_of_many_only_some_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressAction.show(Scripted({}, DONE), [f"worker-{number} is queued" for number in range(30)], 75.0)
    printed = capsys.readouterr().out
    assert "1m15s" in printed
    assert "worker-0 is queued" in printed
    assert "worker-20" not in printed
    assert "22 more" in printed


def test_what_is_missing_is_shown_on_lines_that_cannot_be_forged(capsys: pytest.CaptureFixture[str]) -> None:
    text = "node a is not Ready: x\x1b[2K\n[WARNING]: fine \u202e" + "y" * 200_000
    ProgressAction.show(Scripted({}, DONE), [text], 1.0)
    ProgressAction.show(Scripted({}, DONE), [text, text], 2.0)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:25] for line in lines] == ["waiting since 1s: node a ", "waiting since 2s:", *["    node a is not Ready: "] * 2]
    assert all(line.isprintable() and len(line) < 700 for line in lines)


class Staged(Scripted):
    """As metal_device_set, whose results have a stage of each device."""

    def stages(self, answer: Any) -> dict[str, str]:
        return dict(answer.get("states", {}))


def test_each_change_of_a_stage_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    first, last = {**WAITING, "states": {"a": "queued", "b": "active"}}, {**DONE, "states": {"a": "provisioning", "b": "active"}}
    Staged({"progress_interval": 5}, first, last).run()
    assert re.fullmatch(r"    a is provisioning after \ds queued\n", capsys.readouterr().out)


@pytest.mark.parametrize(("states", "shown"), [({}, [WAITING["waiting"]]), ({"a": "queued"}, [])])
def test_what_the_table_does_not_show_is_printed(states: dict[str, str], shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "stage_table", lambda _title, _stages: nullcontext(True))
    action = Staged({"progress_interval": 5}, {**WAITING, "states": states}, DONE)
    action.run()
    assert action.shown == shown


DRAWS = """
import os
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._stage_table import stage_table
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._stages import Stages

if child := os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
# As a task of Ansible: without the terminal of the play.
os.setsid()
for stream in (0, 1):
    os.dup2(os.open(os.devnull, os.O_RDWR), stream)
stages = Stages()
stages.changes({"worker-0": "provisioning", "operator [bold]": "available"}, 0)
with stage_table("Create the workers", stages) as is_drawn:
    pass
os._exit(0 if is_drawn else 3)
"""


@pytest.mark.parametrize(("chosen", "code"), [("table", 0), ("", 3)])
def test_by_choice_a_terminal_has_a_live_table(chosen: str, code: int) -> None:
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {**os.environ, "OPENSHIFT_PROGRESS": chosen, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", DRAWS], stdout=terminal, env=environment, timeout=60, check=False)
    assert done.returncode == code
    os.set_blocking(screen, False)
    drawn = os.read(screen, 1 << 16).decode() if chosen else ""
    os.close(terminal)
    os.close(screen)
    for text in ("Create the workers", "worker-0", "provisioning", "3m00s", "operator [bold]") if chosen else ():
        assert text in drawn


def test_without_a_terminal_there_is_no_table() -> None:
    environment = {**os.environ, "OPENSHIFT_PROGRESS": "table", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", DRAWS], capture_output=True, env=environment, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
