"""The sandbox's own speed: how it grows with what exists."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx

from sandbox.testing.process import RunningSandbox
from tests.bench.figures import Report, Table, columns

SIZES = (100, 1_000, 10_000)
PAGE = 1_000
SERIES = 3
CREATED = 33
"""In each series; with the first create of all they make the hundred of the smallest size."""
MOST_GROWTH = 1.5
"""How much more a device of a list, or a create, may cost where a hundred times as much exists; what is not growth is noise."""
STANDSTILL = 0.001
"""Simulated seconds per second: what is created stays queued, so that nothing but requests costs time."""


@dataclass
class Cost:
    """Of one thing done: seconds by the clock, and processor seconds of the sandbox, which other work here does not lengthen."""

    wall: float = 0.0
    processor: float = 0.0


def processor_seconds(pid: int) -> float:
    """What the threads of a process have had of processors so far, to the nanosecond (Linux, scheduler statistics)."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def memory(pid: int) -> int:
    """Resident bytes of a process (proc(5))."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cost(sandbox: RunningSandbox, work: Callable[[], None], *, times: int) -> Cost:
    """Of ``work`` done once, the mean of ``times``; the least of some such series: what comes on top is other work of this computer."""
    series = []
    for _series in range(SERIES):
        processor, started = processor_seconds(sandbox.pid), time.monotonic()
        for _time in range(times):
            work()
        series.append(Cost((time.monotonic() - started) / times, (processor_seconds(sandbox.pid) - processor) / times))
    return Cost(min(each.wall for each in series), min(each.processor for each in series))


@contextmanager
def _api(sandbox: RunningSandbox) -> Iterator[httpx.Client]:
    environment = sandbox.environment
    base = f"{environment['METAL_API_URL']}/projects/{environment['METAL_PROJECT_ID']}"
    with httpx.Client(base_url=base, headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}, timeout=60) as client:
        yield client


def bench(report: Report, folder: Path) -> None:
    listing = Table(
        "Sandbox: lists and creates, by the devices that exist",
        columns(
            "devices | list of all: calls | s = .3f | processor ms a device = .3f | pages a second = .1f | "
            "create: processor ms = .2f | creates a second = .0f | memory, MiB = ,.0f | KiB a device = .1f"
        ),
        [f"One client, one call after the other; pages of {PAGE:,}. Memory a device: what the process has grown by since it was empty."],
    )
    with RunningSandbox(folder / "state", log=folder / "log", speed=STANDSTILL) as sandbox, _api(sandbox) as api:
        report.note("sandbox: creates in an empty project")

        def create() -> None:
            body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "tags": ["bench"]}
            api.post("/devices", json=body).raise_for_status()

        def read(size: int) -> None:
            for page in range(1, -(-size // PAGE) + 1):
                answer = api.get("/devices", params={"per_page": PAGE, "page": page}).raise_for_status()
                if not answer.content.endswith(b"}"):
                    raise RuntimeError("the page is not whole")

        create()
        empty = memory(sandbox.pid)
        first = cost(sandbox, create, times=CREATED)
        listing.row(0, None, None, None, None, first.processor * 1000, 1 / first.wall, empty / 2**20, None)
        there = 1 + SERIES * CREATED
        each: dict[int, float] = {}
        creates: dict[int, float] = {0: first.processor}
        for size in SIZES:
            report.note(f"sandbox: {size:,} devices")
            for start in range(there, size, 1_000):
                sandbox.call("POST", "devices", json={"count": min(1_000, size - start), "hostname": f"bench-{start}-{{{{index}}}}"})
            there = max(there, size)
            read(there)
            calls = -(-there // PAGE)
            listed = cost(sandbox, partial(read, there), times=max(1, 2_000 // there))
            grown = memory(sandbox.pid) - empty
            used = memory(sandbox.pid)
            created = cost(sandbox, create, times=CREATED)
            each[size], creates[size] = listed.processor / there, created.processor
            listing.row(
                there,
                calls,
                listed.wall,
                each[size] * 1000,
                calls / listed.wall,
                created.processor * 1000,
                1 / created.wall,
                used / 2**20,
                grown / there / 2**10,
            )
            there += SERIES * CREATED
        report.show(listing)
    least, most = SIZES[1], SIZES[-1]
    for name, growth in (
        (f"sandbox: a device of a list of {most:,} to one of {least:,}", each[most] / each[least]),
        (f"sandbox: a create among {most:,} to one among none", creates[most] / creates[0]),
    ):
        report.target(name, f"{growth:.2f} times", f"at most {MOST_GROWTH:g} times", met=growth <= MOST_GROWTH)
