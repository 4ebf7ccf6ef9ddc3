"""Run tasks with ansible-playbook, or their modules alone, and return the result and the API requests of each."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.contract.environment import run as module

COLLECTION = "equinix_metal.openshift."
READS = frozenset({"GET", "HEAD"})
QUESTIONS = frozenset({"/capacity/metros"})
"""What the API takes as POST though it changes nothing."""
COMMANDS = re.compile(r"/exec\?.*command=etcdctl&command=(member&command=list|endpoint&command=health)&")
"""Commands in pods that change nothing. A command is sent as GET, whatever it does."""


@dataclass(frozen=True)
class Task:
    """One task: a module with its options, as a user would write it."""

    name: str
    module: str
    options: Mapping[str, Any]
    check: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of a task, and the API requests it sent."""

    result: dict[str, Any]
    requests: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        return bool(self.result["changed"])

    @property
    def diff(self) -> tuple[Any, Any]:
        diff = self.result.get("diff") or {}
        return diff.get("before"), diff.get("after")

    @property
    def writes(self) -> list[str]:
        return [f"{each['method']} {each['path']}" for each in self.requests if not is_read(each)]


def is_read(request: Mapping[str, Any]) -> bool:
    asked = any(str(request["path"]).endswith(question) for question in QUESTIONS)
    if "/exec?" in str(request["path"]):
        return COMMANDS.search(str(request["path"])) is not None
    return request["method"] in READS or (request["method"] == "POST" and asked)


def run(
    tasks: list[Task], journal: Callable[[], list[dict[str, Any]]], environment: Mapping[str, str], folder: Path
) -> tuple[dict[str, Outcome], str]:
    """Outcomes by the tasks' names, and everything that was printed, at -vvv and with --diff. Fails when a task does.

    ``journal``: the requests that reached what the modules speak to.
    """
    play = {
        "name": "Contract test",
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": sys.executable},
        "tasks": [{"name": task.name, task.module: dict(task.options), "check_mode": task.check, "diff": True} for task in tasks],
    }
    path = folder / "contract.yml"
    path.write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-vvv", "--diff", str(path)],
        env={
            **environment,
            "ANSIBLE_PIPELINING": "true",
            "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
            "ANSIBLE_LOG_PATH": str(folder / "log"),
        },
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    printed = done.stdout + done.stderr + (folder / "log").read_text(encoding="utf-8")
    begin = done.stdout.find("\n{\n")
    assert begin >= 0, printed[-4000:]
    story = json.JSONDecoder().raw_decode(done.stdout[begin + 1 :])[0]
    requests = journal()
    outcomes = {}
    for entry in story["plays"][0]["tasks"]:
        result = entry["hosts"]["localhost"]
        assert not result.get("failed"), f"{entry['task']['name']}: {result.get('msg')}\n{result.get('module_stderr', '')}"
        duration = entry["task"]["duration"]
        first, last = _seconds(duration["start"]), _seconds(duration["end"])
        outcomes[entry["task"]["name"]] = Outcome(result, [each for each in requests if first <= each["time"] <= last])
    assert done.returncode == 0, printed[-4000:]
    return outcomes, printed


def run_modules(
    tasks: list[Task],
    current: Callable[[], Any],
    journal: Callable[[], list[dict[str, Any]]],
    environment: Mapping[str, str],
    folder: Path,
) -> tuple[dict[str, Outcome], str]:
    """The same for the modules of these tasks, each in a process of its own without Ansible: a tenth of the time.

    What a task of another collection would do, writing the world into a file, is done here with ``current``.
    """
    moments: dict[str, tuple[dict[str, Any], float, float]] = {}
    for task in tasks:
        if not task.module.startswith(COLLECTION):
            (folder / task.name.removeprefix("world: ")).write_text(json.dumps(current()), encoding="utf-8")
            continue
        options = {**task.options, "_ansible_check_mode": task.check, "_ansible_diff": True, "_ansible_verbosity": 3}
        first = time.time()
        result = module(task.module.removeprefix(COLLECTION), options, environment)
        moments[task.name] = (result, first, time.time())
        assert not result.get("failed"), f"{task.name}: {result.get('msg')}"
    requests = journal()
    outcomes = {}
    for name, (result, first, last) in moments.items():
        outcomes[name] = Outcome(result, [each for each in requests if first <= each["time"] <= last])
    return outcomes, json.dumps([result for result, _first, _last in moments.values()])


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment.removesuffix("Z")).replace(tzinfo=UTC).timestamp()
