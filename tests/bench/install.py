"""A true install with hundreds of workers: what it takes us, and how that grows. And once more, when there is nothing to do."""

import json
import os
from pathlib import Path

from tests.bench.approvals import Approvals
from tests.bench.figures import Column, Figure, Report, Table, columns
from tests.bench.joining import share
from tests.bench.memory import Memory
from tests.bench.phases import Phase, Timed, timed
from tests.e2e.harness import User

WORKERS = (10, 100, 500)
SPEED = 60.0
"""A machine of 40 minutes takes 40 seconds: hundreds of pretended ones on one computer need that to keep up."""
READS_A_MINUTE = 130
"""Reads of the Metal API, for any number of workers: of those that are waited for 25 are read four times a minute."""
APPROVAL = "Approve the CSRs of the machines and wait until they have joined"
"""The phase in which CSRs are approved for the first time."""
LIMIT = 3600.0
STATUS_CALLS = 40
STATUS_SECONDS = 15
"""Calls of status.yml to both APIs, and its seconds, with any number of workers up to 500."""


def bench(report: Report, folder: Path) -> None:
    installs = Table(
        f"install.yml with hundreds of workers, machines at {SPEED:g} times life",
        columns(
            "workers | s = .0f | ours, s = .0f | processor s = .0f | reads | writes | approvals | delay p50, s = .2f | "
            "p99, s = .2f | play, MiB = .0f | sandbox = .0f | API server = .0f | load = .0f"
        ),
        [
            "Ours: seconds in which no task waited for machines or the cluster. Reads, writes: calls to the Metal API.",
            "Delay: from a certificate request, or from the begin of the approval if that was later, to its approval.",
            "Memory: the most at any moment.",
        ],
    )
    again = Table(
        "The same once more, nothing to do",
        columns("workers | s = .0f | processor s = .0f | reads | writes | changed | load = .0f"),
    )
    states = Table(
        "status.yml of the same cluster",
        columns("workers | s = .1f | Metal API | writes | findings | load = .0f"),
    )
    first: dict[int, Timed] = {}
    for workers in WORKERS:
        report.note(f"install: {workers} workers")
        place = folder / str(workers)
        place.mkdir()
        user = User(place, speed=SPEED)
        with user.at_work():
            user.edit_workers(workers - 1)
            with Memory(user) as memory, Approvals(user.cluster / "kubeconfig") as approvals:
                install = first[workers] = timed(user, "install.yml", place, timeout=LIMIT)
            # Machines are fast here, and ask before there is somebody to let them in.
            begun = next(phase.began for phase in install.phases if phase.name == APPROVAL)
            delays = approvals.delays(since=begun)
            installs.row(
                workers, install.run.seconds, install.ours, install.processor, *_calls(install),
                len(delays), share(delays, 0.5), share(delays, 0.99),
                *(memory.mebibytes(kind) for kind in ("play", "sandbox", "api")), os.getloadavg()[1],
            )  # fmt: skip
            ready = len([name for name in user.nodes() if name.startswith("worker-")])
            report.target(f"install with {workers} workers: ready", str(ready), str(workers), met=ready == workers)
            unchanged = timed(user, "install.yml", place, timeout=LIMIT)
            again.row(workers, unchanged.run.seconds, unchanged.processor, *_calls(unchanged), unchanged.run.changed, os.getloadavg()[0])
            report.target(
                f"install with {workers} workers again: writes", str(len(unchanged.run.writes)), "0", met=not unchanged.run.writes
            )
            _status(report, states, user, workers, place)
        if workers == max(WORKERS):
            reads = 60 * _calls(install)[0] / install.run.seconds
            report.target(
                f"install with {workers} workers: reads a minute", f"{reads:.0f}", f"below {READS_A_MINUTE}", met=reads < READS_A_MINUTE
            )
    report.show(installs)
    report.show(_by_phase(first))
    report.show(again)
    report.show(states)


def _status(report: Report, table: Table, user: User, workers: int, place: Path) -> None:
    """Measure status.yml; the calls to the cluster's API do not grow either (tests/cluster/test_status.py counts them)."""
    target = place / "status.json"
    run = user.play("status.yml", "-e", f"openshift_status_file={target}", timeout=LIMIT).ended_well()
    findings = len(json.loads(target.read_text(encoding="utf-8"))["findings"])
    calls = len(run.requests)
    table.row(workers, run.seconds, calls, len(run.writes), findings, os.getloadavg()[0])
    report.target(f"status with {workers} workers: calls", str(calls), f"below {STATUS_CALLS}", met=calls < STATUS_CALLS)
    quick = run.seconds < STATUS_SECONDS
    report.target(f"status with {workers} workers: seconds", f"{run.seconds:.1f}", f"below {STATUS_SECONDS}", met=quick)


def _calls(timed_run: Timed) -> tuple[int, int]:
    """Reads and writes."""
    return len(timed_run.run.requests) - len(timed_run.run.writes), len(timed_run.run.writes)


def _by_phase(installs: dict[int, Timed]) -> Table:
    heads = [Column("phase")]
    for workers in installs:
        heads += [Column(f"{workers}: s", ".0f"), Column("ours", ".0f"), Column("calls")]
    table = Table("install.yml by phase", heads, ["Ours: without the tasks that wait for machines or the cluster."])
    for row in zip(*(install.phases for install in installs.values()), strict=True):
        table.row(row[0].name, *(figure for phase in row for figure in _figures(phase)))
    return table


def _figures(phase: Phase) -> tuple[Figure, Figure, Figure]:
    return phase.seconds, phase.ours, phase.reads + phase.writes
