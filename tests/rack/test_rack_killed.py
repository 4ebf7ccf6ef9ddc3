"""The server and its Ironic are killed while machines with real firmware boot, are powered, reinstalled and deleted: nothing is lost."""

from __future__ import annotations

import dataclasses
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import httpx
import pytest

from tests.metal_api.ironic.killed import differences, moments
from tests.rack.conftest import MACHINES, RunningRack, running_rack

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("rack")]

MOMENTS = 10
WORK = 40.0
"""Seconds that the operations of one turn take, from the first request to the last boot."""

CABLED = tuple(dataclasses.replace(each, cabled=True) for each in MACHINES)


@dataclass(frozen=True)
class Expected:
    """What a device has to be in the end. ``booted_after``: when its last boot was requested, by ``CLOCK_BOOTTIME``.

    ``by_script``: whether that boot gets the device's script.
    """

    state: str
    booted_after: float
    by_script: bool


class Work:
    """Requests of a user, and what has to come of those that were accepted."""

    def __init__(self, rack: RunningRack) -> None:
        self.rack = rack
        self.expected: dict[str, Expected] = {}
        self._chance = random.Random(14)  # noqa: S311
        self._ordered = 0

    def request(self) -> None:
        """Delete, reinstall or power one device after the other, then order as many as there are free servers."""
        before = time.clock_gettime(time.CLOCK_BOOTTIME)
        free = self.rack.free()
        actions = ["delete", "reinstall", "power", "reboot"]
        self._chance.shuffle(actions)
        for (id_, expected), action in zip(list(self.expected.items()), actions, strict=False):
            if action == "delete":
                answer = self.rack.api.delete(f"/devices/{id_}")
                assert answer.status_code == 204, answer.text
                del self.expected[id_]
                continue
            is_on = expected.state == "active"
            kind = action if is_on or action == "reinstall" else "power_on"
            if action == "power" and is_on:
                kind = "power_off"
            answer = self.rack.api.post(f"/devices/{id_}/actions", json={"type": kind})
            assert answer.status_code == 202, answer.text
            self.expected[id_] = Expected("inactive" if kind == "power_off" else "active", before, kind == "reinstall")
        for _unused in range(free):
            self._ordered += 1
            answer = self.rack.order(f"k{self._ordered}")
            assert answer.status_code == 201, answer.text
            self.expected[answer.json()["id"]] = Expected("active", before, True)

    def differences(self) -> list[str]:
        """Return what is not as it has to be, at the API, in Ironic and at the machines."""
        rack = self.rack
        try:
            nodes, allocations = rack.ironic("nodes"), rack.ironic("allocations")
            listed = rack.api.get(f"/projects/{rack.project}/devices", params={"per_page": 1000}).json()["devices"]
            free = rack.free()
        except httpx.HTTPError as error:
            return [f"no answer: {error}"]
        states = {each["id"]: each["state"] for each in listed}
        found = [] if states == (desired := {id_: each.state for id_, each in self.expected.items()}) else [f"{states} is not {desired}"]
        if free != len(CABLED) - len(states):
            found.append(f"{free} servers are free beside {len(states)} devices")
        found += differences(states, nodes, allocations)
        for node in nodes:
            name, id_ = node["name"], node["instance_uuid"]
            booted = rack.booted_at(name)
            expected = self.expected.get(id_)
            if (booted is not None) != (expected is not None and expected.state == "active"):
                found.append(f"machine {name} is {'off' if booted is None else 'on'}, and has to be {expected or 'free'}")
            elif booted is not None and expected is not None and booted < expected.booted_after:
                found.append(
                    f"machine {name} runs for {expected.booted_after - booted:.0f} s longer than since its last boot was requested"
                )
            elif booted is not None and expected is not None and expected.by_script and not self._has_script_since(id_, booted):
                found.append(f"machine {name} has no boot script since its last boot")
            if id_ is None and rack.medium(name):
                found.append(f"machine {name} is free, and has {rack.medium(name)} in its drive")
        return found

    def _has_script_since(self, id_: str, booted: float) -> bool:
        """``booted``: by ``CLOCK_BOOTTIME``."""
        events = self.rack.api.get(f"/devices/{id_}/events", params={"per_page": 1000}).json()["events"]
        given = [datetime.fromisoformat(each["created_at"]).timestamp() for each in events if each["type"] == "provisioning.104.01"]
        # Whole seconds.
        return max(given, default=0.0) + 1 >= booted + time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    def untold(self) -> list[str]:
        """Return the kinds of failures that Ironic has had more often than events report them."""
        log = (self.rack.folder / "state" / "ironic" / "ironic.log").read_text(encoding="utf-8", errors="replace")
        found = []
        for state, step in (("deploy failed", "Deployment"), ("error", "Undeployment"), ("clean failed", "Cleaning")):
            failed = log.count(f'moved to provision state "{state}"')
            # Each event is a line of the server's log, also of devices that are gone by now.
            reported = len(re.findall(rf"{step} of server \S+ failed: ", self.rack.log))
            if failed > reported:
                found.append(f"{failed} nodes were in {state}, {reported} events report it")
        return found

    def settle(self) -> None:
        """Wait until everything is as it has to be."""
        last: list[str] = []

        def settled() -> bool:
            last[:] = self.differences()
            return not last

        try:
            self.rack.until(settled, 300, "all is as requested")
        except AssertionError as error:
            events = {id_: self.rack.events(id_)[:12] for id_ in self.expected}
            raise AssertionError(f"{last}\n{events}\n{error}") from None


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, namespace: list[str]) -> Iterator[Work]:
    folder = tmp_path_factory.mktemp("killed")
    with running_rack(folder, namespace, CABLED, boot_timeout=300) as rack:
        rack.until(lambda: rack.free() == len(CABLED), 180, "all servers are offered")
        yield Work(rack)


def _restart(rack: RunningRack) -> None:
    rack.kill()
    rack.start()


@pytest.mark.parametrize("kill", [_restart, RunningRack.kill_ironic], ids=["server", "ironic"])
def test_nothing_is_lost_by_kills(work: Work, kill: Callable[[RunningRack], None]) -> None:
    for turn, moment in enumerate(moments(MOMENTS, WORK)):
        began = time.monotonic()
        work.request()
        time.sleep(moment)
        kill(work.rack)
        work.settle()
        assert work.untold() == []
        print(f"turn {turn}: killed after {moment:.1f} s, settled after {time.monotonic() - began:.0f} s", flush=True)
