"""Modules as forks of the worker process: when, with which result, and what is left of them."""

import json
import os
import signal
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import constants
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.equinix_metal.openshift.plugins.action.metal_device_info import ActionModule
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions import module_process
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions.module_process import run_in_fork, run_module

PROJECT = "2b70eb8f-fa18-47c0-aba7-222a842362fd"
TOKEN = "planted-token"
ARGUMENTS = {"metal_api_token": TOKEN, "project_id": PROJECT, "metal_api_retries": 0}


def run(environment: dict[str, str] | None = None, **options: Any) -> tuple[int, dict[str, Any]]:
    given = json.dumps({"ANSIBLE_MODULE_ARGS": {**ARGUMENTS, **options}}).encode()
    found = run_module("metal_device_info", given, environment or {})
    return found["rc"], json.loads(found["stdout"])


def refusing() -> str:
    """Return the URL of an API to which no connection is possible."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/metal/v1"


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that are forked: other tests may have children of this process, too."""
    found: list[int] = []
    fork = os.fork

    def forked() -> int:
        number = fork()
        if number:
            found.append(number)
        return number

    monkeypatch.setattr(os, "fork", forked)
    return found


def assert_gone(forks: list[int]) -> None:
    (number,) = forks
    with pytest.raises(ChildProcessError):
        os.waitpid(number, os.WNOHANG)


def test_the_result_is_that_of_the_module_and_the_fork_is_gone(forks: list[int]) -> None:
    code, result = run(metal_api_url=refusing())
    assert code == 1
    assert result["failed"]
    assert result["failure"]["type"]
    assert TOKEN not in json.dumps(result)
    assert_gone(forks)


def test_the_environment_of_the_task_is_the_forks_alone() -> None:
    url = refusing()
    _code, result = run({"METAL_API_URL": url})
    assert url.removesuffix("/metal/v1").removeprefix("http://127.0.0.1") in result["msg"]
    assert "METAL_API_URL" not in os.environ


def test_a_mistake_in_a_module_is_a_traceback_and_an_exit_code() -> None:
    def fail() -> None:
        raise RuntimeError("a mistake")

    found = run_in_fork(fail, b"", {})
    assert found["rc"] != 0
    assert "a mistake" in found["stderr"]
    assert found["stdout"] == ""


def test_a_module_that_was_killed_names_the_signal() -> None:
    found = module_process._killed("metal_device_info", run_in_fork(lambda: os.kill(os.getpid(), signal.SIGKILL), b"", {}))
    assert found["failed"]
    assert "The module metal_device_info was ended by signal 9 (Killed)" in found["msg"]
    assert "memory is short" in found["msg"]


def test_a_module_that_ansible_started_names_the_signal_too() -> None:
    answer = {"failed": True, "rc": 137, "module_stdout": "", "module_stderr": "", "msg": "Module result deserialization failed"}
    found = module_process._killed("metal_device_info", module_process._ended(answer))
    assert "was ended by signal 9 (Killed)" in found["msg"]


def test_a_task_that_runs_out_of_time_leaves_no_fork(forks: list[int]) -> None:
    class TimeUpError(Exception):
        pass

    def end(*_arguments: Any) -> None:
        raise TimeUpError

    before = signal.signal(signal.SIGALRM, end)
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            signal.setitimer(signal.ITIMER_REAL, 1.0)
            with pytest.raises(TimeUpError):
                run(metal_api_url=f"http://127.0.0.1:{silent.getsockname()[1]}/metal/v1", metal_api_timeout=60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_gone(forks)


def action(**differs: Any) -> ActionModule:
    task = SimpleNamespace(args={}, async_val=0, delegate_to=None, check_mode=False, diff=False, action="x", environment=[])
    connection = SimpleNamespace(transport="local", become=None, _shell=SimpleNamespace(tmpdir=None), has_native_async=False)
    for name, value in differs.items():
        setattr(task if hasattr(task, name) else connection, name, value)
    loader = DataLoader()
    return ActionModule(task, connection, SimpleNamespace(), loader, Templar(loader=loader), None)


LOCAL = {"ansible_python_interpreter": sys.executable}


@pytest.mark.parametrize(
    "differs",
    [{"async_val": 60}, {"delegate_to": "other"}, {"transport": "ssh"}, {"become": object()}],
    ids=["async", "delegated", "ssh", "become"],
)
def test_anything_else_takes_the_usual_way(differs: dict[str, Any]) -> None:
    assert not action(**differs)._can_fork(LOCAL)


def test_another_python_and_kept_files_take_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not action()._can_fork({"ansible_python_interpreter": "/usr/bin/python3"})
    assert not action()._can_fork({})
    monkeypatch.setattr(constants, "DEFAULT_KEEP_REMOTE_FILES", True)
    assert not action()._can_fork(LOCAL)
