"""How much of the time of a playbook is ours: that in which it waits for no machine and no cluster."""

from __future__ import annotations

import itertools
import json
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.harness import Run, User

CALLBACKS = Path(__file__).with_name("callback")
WAITING = tuple(f"equinix_metal.openshift.{name}" for name in ("metal_device_set", "cluster_wait", "csr_approval"))
"""The modules that wait for machines and clusters. What they do beside that counts as waiting too."""


@dataclass(frozen=True)
class Timed:
    """``ours``: seconds in which neither a machine nor the cluster was waited for. ``processor``: seconds that Ansible and its modules
    computed, without the job beside it.
    """

    run: Run
    processor: float
    tasks: int
    ours: float


def timed(user: User, playbook: str, folder: Path, arguments: Sequence[str] = (), **more: Any) -> Timed:
    """Run a playbook with a stopwatch beside it. Raises AssertionError when it fails."""
    file = folder / "stopwatch"
    file.unlink(missing_ok=True)
    variables = {"STOPWATCH": str(file), "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS), "ANSIBLE_CALLBACKS_ENABLED": "stopwatch"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = user.play(playbook, *arguments, variables=variables, **more).ended_well()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    tasks = list(itertools.pairwise(json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()))
    waited = sum(end["time"] - begin["time"] for begin, end in tasks if begin["action"] in WAITING)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timed(run, processor, len(tasks), run.seconds - waited)
