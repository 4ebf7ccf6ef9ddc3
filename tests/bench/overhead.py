"""What orchestration adds to the time that the machines themselves take, for the example cluster with its six machines.

The same install at two speeds of the machines' world: what a higher speed shortens is the machines', what stays is ours (and the
sandbox's own computing). With seconds `w` at speeds `s`, `w = ours + machines / s` gives both.
"""

import os
from pathlib import Path

from tests.bench.figures import Report, Table, columns
from tests.bench.phases import Timed, timed
from tests.e2e.harness import User

SPEEDS = (30.0, 300.0)
LATENCY = {"read": 0.25, "write": 0.5}
"""Seconds until the API answers: the sandbox's own answers come sooner than any service's over the internet."""
MOST = 0.05
LIMIT = 3600.0


def bench(report: Report, folder: Path) -> None:
    table = Table(
        "install.yml with six machines, beside the time of the machines",
        columns("machines' speed = g | s = .0f | of it in tasks that do not wait, s = .0f | processor s = .0f | load = .0f"),
    )
    seconds = {}
    for speed in SPEEDS:
        report.note(f"overhead: six machines at {speed:g} times life")
        place = folder / f"{speed:g}"
        place.mkdir()
        user = User(place, speed=speed)
        with user.at_work():
            user.sandbox.call("PUT", "settings", json={"latency": LATENCY})
            install: Timed = timed(user, "install.yml", place, timeout=LIMIT)
        seconds[speed] = install.run.seconds
        table.row(speed, install.run.seconds, install.ours, install.processor, os.getloadavg()[1])
    ours, machines = apart(seconds)
    table.notes += [
        f"The machines' own critical path: {machines / 60:.0f} minutes of their time. Ours: {ours:.0f} s, {ours / machines:.1%} of it.",
        f"With an API that answers reads after {LATENCY['read']:g} s and writes after {LATENCY['write']:g} s.",
    ]
    report.target(
        "six machines: ours beside the machines' time", f"{ours / machines:.1%}", f"at most {MOST:.0%}", met=ours <= MOST * machines
    )
    report.show(table)


def apart(seconds: dict[float, float]) -> tuple[float, float]:
    """Real seconds that are ours, and the machines' seconds by their own clock."""
    (slow, longer), (fast, shorter) = sorted(seconds.items())
    machines = (longer - shorter) / (1 / slow - 1 / fast)
    return longer - machines / slow, machines
