"""Day 2 with up to 500 workers: runs with nothing to do, adding 1, 10 and 100 workers, and removing 10 at once."""

import os
import time
from pathlib import Path
from typing import Any

from tests.bench.device_set import begins_a_list, is_of_devices
from tests.bench.figures import Report, Table, columns
from tests.bench.install import READS_A_MINUTE
from tests.bench.phases import Timed, timed
from tests.e2e.harness import NAME, User

IDLE = {2: 10.0, 47: 12.0, 497: 20.0}
"""Seconds of processor of a run with nothing to do, by the number of workers: 5, 50 and 500 machines."""
MOST_CALLS = 22
MOST_TASKS = 60
ADDED = (1, 10, 100)
REMOVED = 10
SPEED = 60.0
LIMIT = 3600.0
MOST_OF_ONE = 2.0
"""How much longer the removal of ten workers may take than that of one."""


def bench(report: Report, folder: Path) -> None:
    idle = Table(
        "Nothing to do",
        columns("workers | what | s = .1f | processor s = .1f | tasks | Metal API | writes | load = .0f"),
    )
    sizes = Table(
        f"scale.yml, machines at {SPEED:g} times life",
        columns(
            "workers | change | s = .0f | processor s = .0f | Metal API | writes | polls | calls per poll = .2f | "
            "reads a minute = .0f | load = .0f"
        ),
        ["Polls: lists of devices begun after the last order or deletion. Calls: the pages of these lists."],
    )
    user = User(folder, speed=SPEED)
    with user.at_work():
        workers = min(IDLE)
        user.edit_workers(workers - 1)
        report.note(f"scaling: {workers} workers are installed")
        timed(user, "install.yml", folder, timeout=LIMIT)
        _measure_idle(report, idle, user, workers, folder)
        workers = sorted(IDLE)[1]
        report.note(f"scaling: to {workers} workers")
        _measure_change(report, sizes, user, workers, change="to 50 machines")
        _expect(report, user, workers)
        _measure_idle(report, idle, user, workers, folder)
        per_poll = []
        for more in ADDED:
            workers += more
            report.note(f"scaling: to {workers} workers")
            per_poll.append(_measure_change(report, sizes, user, workers, change=f"+{more}"))
            _expect(report, user, workers)
        seconds = []
        for fewer in (1, REMOVED):
            workers -= fewer
            report.note(f"scaling: {fewer} of the workers are removed")
            started = time.monotonic()
            _measure_change(report, sizes, user, workers, change=f"-{fewer}")
            seconds.append(time.monotonic() - started)
            _expect(report, user, workers)
        workers = max(IDLE)
        report.note(f"scaling: to {workers} workers")
        _measure_change(report, sizes, user, workers, change="to all")
        _expect(report, user, workers)
        _measure_idle(report, idle, user, workers, folder)
    figures = ", ".join(f"{calls:g}" for calls in per_poll)
    report.target(f"adding {', '.join(map(str, ADDED))} workers: calls per poll", figures, "1 each", met=set(per_poll) == {1.0})
    ratio = seconds[1] / seconds[0]
    desired = f"at most {MOST_OF_ONE:g} times"
    report.target(f"removing {REMOVED} workers to removing one: seconds", f"{ratio:.2f} times", desired, met=ratio <= MOST_OF_ONE)
    report.show(idle)
    report.show(sizes)


def _measure_idle(report: Report, table: Table, user: User, workers: int, folder: Path) -> None:
    for playbook in ("install.yml", "scale.yml", "status.yml"):
        run = timed(user, playbook, folder, timeout=LIMIT)
        calls, writes = len(run.run.requests), len(run.run.writes)
        table.row(workers, playbook, run.run.seconds, run.processor, len(run.tasks), calls, writes, os.getloadavg()[0])
        name = f"{playbook} with {workers} workers, nothing to do"
        few = calls <= MOST_CALLS and not writes and not run.run.changed
        report.target(name, f"{calls} calls, {writes} writes", f"at most {MOST_CALLS} calls, no write", met=few)
        quick = run.processor <= IDLE[workers]
        report.target(f"{name}: seconds of processor", f"{run.processor:.1f}", f"at most {IDLE[workers]:g}", met=quick)
        tasks = len(run.tasks)
        report.target(f"{name}: tasks", str(tasks), f"at most {MOST_TASKS}", met=tasks <= MOST_TASKS)


def _measure_change(report: Report, table: Table, user: User, workers: int, *, change: str) -> float:
    """Return the calls of each poll."""
    user.edit_workers(workers - 1)
    run = timed(user, "scale.yml", user.folder, arguments=("-e", f"openshift_remove_at_most={REMOVED}"), timeout=LIMIT)
    polls, calls = _polls(run)
    per_poll = calls / polls
    reads, writes = len(run.run.requests) - len(run.run.writes), len(run.run.writes)
    per_minute = 60 * reads / run.run.seconds
    table.row(workers, change, run.run.seconds, run.processor, reads, writes, polls, per_poll, per_minute, os.getloadavg()[0])
    name, desired = f"scale.yml, {change} workers: reads a minute", f"below {READS_A_MINUTE}"
    report.target(name, f"{per_minute:.0f}", desired, met=per_minute < READS_A_MINUTE)
    return per_poll


def _polls(run: Timed) -> tuple[int, int]:
    """Return the lists of devices that were begun after the last order or deletion, and the calls that they took.

    Not the events of devices that have not joined: of any number 25 are read at a time, see the reads a minute.
    """
    last = max((each["time"] for each in run.run.writes if "/devices" in each["path"]), default=0.0)
    reads: list[dict[str, Any]] = [each for each in run.run.requests if each["method"] == "GET" and each["time"] > last]
    reads = [each for each in reads if is_of_devices(each["path"])]
    return sum(begins_a_list(each["path"]) for each in reads), len(reads)


def _expect(report: Report, user: User, workers: int) -> None:
    ready = [name for name in user.nodes() if name.startswith("worker-")]
    devices = [name for name in user.hostnames() if name.startswith("worker-")]
    figure = f"{len(ready)} nodes, {len(devices)} devices"
    report.target(f"{NAME} with {workers} workers: ready", figure, f"{workers} each", met=len(ready) == len(devices) == workers)
