"""Two hundred nodes of Ironic's fake hardware: enrolled from a rack file, and a hundred devices ordered at once.

What is judged are the calls of Ironic's API, which have to grow with the devices alone and not with nodes, polls or time.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from metal_api.catalogue.data import set_catalogue
from metal_api.core.world import MetroNetwork
from metal_api.ironic.embedded import ensure_ironic
from metal_api.ironic.enrolment import enrol
from metal_api.rack import load
from metal_api.serve import catalogue_of
from tests.bench.figures import Column, Report, Table, columns
from tests.metal_api.ironic.fake_rack import FakeRack, RackApi, rack_api
from tests.metal_api.ironic.server import rack_file

NODES = 200
AT_ONCE = (10, 100)
NETWORK = "127.92.0"
METRO = "r1"
MOST_GROWTH = 1.5
"""How many more calls for each device an order of ten times as many may cost."""


def bench(report: Report, folder: Path) -> None:
    programs = ensure_ironic()
    report.note(f"enrolling {NODES} nodes of fake hardware")
    file = rack_file(folder / "rack.yml", NETWORK, NODES)
    loaded = load(file)
    set_catalogue(catalogue_of(loaded))
    rack = FakeRack(folder / "ironic", programs, power_sync=60)
    try:
        enrolments = Table(f"Enrolment of {NODES} servers", columns("run | calls | seconds = .1f"))
        for name in ("first", "again, unchanged"):
            started = time.monotonic()
            found = asyncio.run(enrol(loaded, rack.connection, progress=lambda _line: None, interval=0.5))
            enrolments.row(name, found.calls, time.monotonic() - started)
            if not found.is_good:
                raise RuntimeError(f"not enrolled: {[str(each) for each in found.results if each.outcome == 'failed'][:3]}")
        report.show(enrolments)
        # The lists of drivers, nodes and ports.
        report.target("enrolment of what is enrolled: calls", f"{found.calls}", "3", met=found.calls <= 3)
        asyncio.run(_orders(report, folder, rack))
    finally:
        rack.close()


async def _orders(report: Report, folder: Path, rack: FakeRack) -> None:
    table = Table(
        f"Devices ordered at once, of {NODES} nodes",
        [
            *(Column("devices"), Column("calls a device", ".1f"), Column("polls"), Column("lists a poll", ".2f")),
            *(Column("p50 s", ".1f"), Column("p99 s", ".1f"), Column("deleted: calls a device", ".1f"), Column("deleted: p99 s", ".1f")),
        ],
        ["seconds from the answer to the order until the device is active, with a machine that boots at once; polls every 0.5 s"],
    )
    a_device: list[float] = []
    networks = {METRO: MetroNetwork(f"{NETWORK}.0/24", f"{NETWORK}.1", f"{NETWORK}.10", f"{NETWORK}.250")}
    async with rack_api(folder / "state", rack, networks=networks, boot_timeout=600, patience=600, busy=0.5) as api:
        await api.until(lambda: api.free(metro=METRO) == NODES, 60)
        for count in AT_ONCE:
            report.note(f"ordering {count} devices at once")
            before, polls = Counter(api.ironic.calls), api.ironic.polls
            made, ids = await _measured(api, count)
            after = Counter(api.ironic.calls)
            spent, polled = _without_lists(after) - _without_lists(before), api.ironic.polls - polls
            removed = await _removed(api, ids)
            cleaned = _without_lists(api.ironic.calls) - _without_lists(after)
            a_device.append(spent / count)
            lists = (after["list nodes"] - before["list nodes"]) / max(1, polled)
            table.row(count, spent / count, polled, lists, _share(made, 0.5), _share(made, 0.99), cleaned / count, _share(removed, 0.99))
            report.target(f"{count} devices: lists of nodes in a poll", f"{lists:.2f}", "1", met=lists <= 1.1)
    report.show(table)
    growth = a_device[1] / a_device[0]
    report.target(
        "calls for each device, a hundred instead of ten at once",
        f"{growth:.2f} times",
        f"at most {MOST_GROWTH}",
        met=growth <= MOST_GROWTH,
    )


def _without_lists(calls: Mapping[str, int]) -> int:
    return sum(number for name, number in calls.items() if not name.startswith("list "))


def _share(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def _measured(api: RackApi, count: int) -> tuple[list[float], list[str]]:
    """Order devices, and return the seconds until each was active, and their ids."""
    order = {"plan": "c3.small.x86", "metro": METRO, "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}

    async def one() -> tuple[float, str]:
        answer = await api.api.post(f"{api.project}/devices", json=order)
        if answer.status_code != 201:
            raise RuntimeError(f"not ordered: {answer.text}")
        id_, started = answer.json()["id"], time.monotonic()
        await api.until(lambda: api.state(id_) in {"active", "failed"}, 600)
        if api.state(id_) != "active":
            raise RuntimeError(f"failed: {await api.events(id_)}")
        return time.monotonic() - started, id_

    found = await asyncio.gather(*(one() for _unused in range(count)))
    return [seconds for seconds, _id in found], [id_ for _seconds, id_ in found]


async def _removed(api: RackApi, ids: list[str]) -> list[float]:
    """Delete devices, and return the seconds until each server was free again."""

    async def one(id_: str) -> float:
        started = time.monotonic()
        await api.api.delete(f"/devices/{id_}")
        await api.until(lambda: api.state(id_) in {"gone", "failed"}, 600)
        if api.state(id_) != "gone":
            raise RuntimeError(f"not deleted: {await api.events(id_)}")
        return time.monotonic() - started

    return list(await asyncio.gather(*map(one, ids)))
