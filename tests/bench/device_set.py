"""A set of N devices ordered at once, and waited for: calls, and seconds beside what the machines and the service's limit take."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sandbox.testing.process import REPOSITORY, RunningSandbox, is_write
from tests.bench.figures import Report, Table, columns

SIZES = (10, 100, 250)
SPEED = 20.0
"""A machine of about a quarter of an hour takes three quarters of a minute; polls come as much more often."""
INTERVAL = 1.0
LIMIT, WINDOW = 200, 20
"""So many requests the service takes in so many seconds."""
MOST_OVER_SLOWEST = 1.1
MOST_QUIET_CALLS = 3
TAGS = ["openshift-cluster=ours.metal.test"]
MODULE = "ansible_collections.equinix_metal.openshift.plugins.modules.metal_device_set"


@dataclass
class Measured:
    """``orders``: seconds from the first order to the last. ``slowest``: of all machines, from its order to its phone-home.
    ``polls``: lists of devices begun after the last order, ``poll_calls``: all reads of devices after it.
    """

    wall: float
    calls: int
    writes: int
    refused: int
    orders: float = 0.0
    slowest: float = 0.0
    polls: int = 0
    poll_calls: int = 0


def machines(size: int) -> list[dict[str, Any]]:
    ordered = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "tags": TAGS}
    return [{"hostname": f"ours-{number}", **ordered} for number in range(size)]


def measure(sandbox: RunningSandbox, work: Callable[[], None]) -> Measured:
    sandbox.forget()
    started = time.monotonic()
    work()
    wall = time.monotonic() - started
    calls = sandbox.call("GET", "journal", params={"service": "metal"})["journal"]
    measured = Measured(wall, len(calls), sum(map(is_write, calls)), sum(entry["status"] == 429 for entry in calls))
    # Not the cluster lock, which is a virtual network.
    ordered = [entry for entry in calls if entry["method"] == "POST" and entry["status"] == 201 and is_of_devices(entry["path"])]
    orders = sorted(entry["time"] for entry in ordered)
    if orders:
        # Without those of the cluster lock.
        reads = [each for each in calls if each["method"] == "GET" and each["time"] > orders[-1] and "/devices" in each["path"]]
        measured.orders, measured.slowest = orders[-1] - orders[0], slowest(sandbox, orders)
        measured.poll_calls, measured.polls = len(reads), sum(begins_a_list(entry["path"]) for entry in reads)
    return measured


def slowest(sandbox: RunningSandbox, orders: list[float]) -> float:
    """The journal tells when an order came but not whose it was; the sandbox keeps devices in the order they came in."""
    names = [device["hostname"] for device in sandbox.inventory()["devices"]]
    calls_home = sandbox.call("GET", "journal", params={"service": "boot", "path": "^/phone-home"})["journal"]
    ready: dict[str, float] = {entry["who"]: entry["time"] for entry in calls_home}
    return max(ready[name] - moment for name, moment in zip(names, orders, strict=True))


def is_of_devices(path: str) -> bool:
    """Return whether a request is for the devices of the project, or an order of one."""
    return urlsplit(path).path.endswith("/devices")


def begins_a_list(path: str) -> bool:
    """Return whether a request is for the devices of the project and no further page."""
    return is_of_devices(path) and parse_qs(urlsplit(path).query).get("page", ["1"]) == ["1"]


class Module:
    """``metal_device_set``, each time as a process of its own, as Ansible runs it."""

    def __init__(self, sandbox: RunningSandbox, folder: Path) -> None:
        self._environment = sandbox.environment
        self._arguments = folder / "arguments.json"

    def order(self, machines: list[dict[str, Any]]) -> None:
        if not self._run(machines=machines, ownership_tags=TAGS)["changed"]:
            raise RuntimeError("nothing was ordered")

    def order_again(self, machines: list[dict[str, Any]]) -> None:
        if self._run(machines=machines, ownership_tags=TAGS)["changed"]:
            raise RuntimeError("a second run changed something")

    def remove(self) -> None:
        self._run(state="absent", all_owned=True, ownership_tags=TAGS, wait_interval=0.2)

    def _run(self, **options: Any) -> dict[str, Any]:
        self._arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {"wait_interval": INTERVAL, **options}}), encoding="utf-8")
        paths = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "collections")))
        done = subprocess.run(
            [sys.executable, "-m", MODULE, str(self._arguments)],
            env={**os.environ, **self._environment, "PYTHONPATH": paths},
            cwd=REPOSITORY,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        result: dict[str, Any] = json.loads(done.stdout) if done.stdout.lstrip().startswith("{") else {"failed": True, "msg": done.stderr}
        if result.get("failed"):
            raise RuntimeError(result["msg"])
        return result


def earliest(size: int) -> float:
    """Seconds before which the service does not take the last of ``size`` orders, after one call for the list and one for the stock."""
    return float((size + 2 - 1) // LIMIT * WINDOW)


def bench(report: Report, folder: Path) -> None:
    ordered = Table(
        f"A set of devices: ordered and waited for ({LIMIT} requests in {WINDOW} s are allowed)",
        columns(
            "devices | seconds = .1f | slowest machine = .1f | orders take = .1f | allowed = .1f | calls | polls | "
            "calls per poll = .1f | 429"
        ),
        [
            f"Machines at {SPEED:g} times real speed, a poll every {INTERVAL:g} s. Slowest machine: from its order to its phone-home.",
            "Orders take: from the first to the last. Allowed: the earliest the service takes the last one, by its limit.",
        ],
    )
    again = Table(
        "A set of devices: the same once more, nothing to do",
        columns("devices | seconds = .1f | calls | writes"),
    )
    calls_per_poll: list[float] = []
    with RunningSandbox(folder / "state", log=folder / "log", speed=SPEED) as sandbox:
        module = Module(sandbox, folder)
        for size in SIZES:
            report.note(f"device_set: {size} devices")
            allowed = earliest(size)
            sandbox.call("PUT", "settings", json={"speed": SPEED, "rate_limit": {"requests": LIMIT, "seconds": WINDOW}})
            run = measure(sandbox, partial(module.order, machines(size)))
            calls_per_poll.append(run.poll_calls / run.polls)
            ordered.row(size, run.wall, run.slowest, run.orders, allowed, run.calls, run.polls, calls_per_poll[-1], run.refused)
            # The orders have used up the limit.
            sandbox.call("PUT", "settings", json={"rate_limit": {"requests": None}})
            unchanged = measure(sandbox, partial(module.order_again, machines(size)))
            again.row(size, unchanged.wall, unchanged.calls, unchanged.writes)
            if size == max(SIZES):
                bound = MOST_OVER_SLOWEST * run.slowest + allowed
                report.target(f"set of {size}: seconds", f"{run.wall:.1f}", f"at most {bound:.1f}", met=run.wall <= bound)
                met = unchanged.calls <= MOST_QUIET_CALLS and not unchanged.writes
                desired = f"at most {MOST_QUIET_CALLS} calls, no write"
                report.target(f"set of {size}, nothing to do", f"{unchanged.calls} calls, {unchanged.writes} writes", desired, met=met)
            # At once: this is not measured.
            sandbox.call("PUT", "settings", json={"speed": 6_000})
            module.remove()
    figures = ", ".join(f"{calls:g}" for calls in calls_per_poll)
    report.target(f"set of {', '.join(map(str, SIZES))}: calls per poll", figures, "1 each", met=set(calls_per_poll) == {1.0})
    report.show(ordered)
    report.show(again)
