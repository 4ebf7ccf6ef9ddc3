"""Where the time of a playbook goes: to machines and clusters that are waited for, or to us."""

import itertools
import json
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.testing.process import is_write
from tests.e2e.harness import Run, User

CALLBACKS = Path(__file__).with_name("callback")
ROLE = "ansible.builtin.include_role"
WAITING = tuple(f"equinix_metal.openshift.{name}" for name in ("metal_device_set", "cluster_wait", "csr_approval"))
"""The modules that wait for machines and clusters. What they do beside that counts as waiting too."""


@dataclass(frozen=True)
class Task:
    role: str
    name: str
    action: str
    began: float
    seconds: float


@dataclass
class Phase:
    """What a playbook does with one role, by the name of the task that brings it in."""

    name: str
    began: float
    waiting: float = 0.0
    ours: float = 0.0
    reads: int = 0
    writes: int = 0

    @property
    def seconds(self) -> float:
        return self.waiting + self.ours


@dataclass(frozen=True)
class Timed:
    """``ours``: seconds in which neither a machine nor the cluster was waited for. ``processor``: seconds that Ansible and its modules
    computed, without the job beside it.
    """

    run: Run
    processor: float
    tasks: list[Task]
    phases: list[Phase]

    @property
    def ours(self) -> float:
        return self.run.seconds - sum(phase.waiting for phase in self.phases)


def timed(user: User, playbook: str, folder: Path, arguments: Sequence[str] = (), **more: Any) -> Timed:
    """Run a playbook with a stopwatch beside it. Raises AssertionError when it fails."""
    file = folder / "stopwatch"
    file.unlink(missing_ok=True)
    variables = {"STOPWATCH": str(file), "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS), "ANSIBLE_CALLBACKS_ENABLED": "stopwatch"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = user.play(playbook, *arguments, variables=variables, **more).ended_well()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    messages = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    tasks = [
        Task(one["role"], one["name"], one["action"], one["time"], after["time"] - one["time"])
        for one, after in itertools.pairwise(messages)
    ]
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timed(run, processor, tasks, phases(tasks, run.requests))


def phases(tasks: Sequence[Task], requests: Sequence[dict[str, Any]]) -> list[Phase]:
    """The phases in their order, with the requests to the Metal API that fall into each; what comes before the first is one too."""
    found = [Phase("Read the inventory", tasks[0].began)]
    for task in tasks:
        if task.action == ROLE and not task.role:
            found.append(Phase(task.name, task.began))
        if task.action in WAITING:
            found[-1].waiting += task.seconds
        else:
            found[-1].ours += task.seconds
    for request in requests:
        phase = next((phase for phase in reversed(found) if phase.began <= request["time"]), found[0])
        if is_write(request):
            phase.writes += 1
        else:
            phase.reads += 1
    return found
