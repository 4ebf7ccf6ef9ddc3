"""metal_device_set with a service that runs out of servers, fails devices and answers slowly: results and number of calls."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sandbox.testing.process import RunningSandbox, is_write
from tests.conftest import SPEED
from tests.contract.environment import run
from tests.contract.scenario import TAGS, WAIT

SMALL, LARGE = "c3.small.x86", "m3.large.x86"
POOL = {
    "ownership_tags": TAGS,
    # test_cluster_lock.py tests the requests of the lock.
    "cluster_lock": "none",
    "plan": SMALL,
    "metro": "da",
    "operating_system": "ubuntu_24_04",
    **WAIT,
}
PLACES = [{"metro": "da"}, {"metro": "am"}, {"metro": "sg", "plan": LARGE}]


def hostnames(count: int) -> list[str]:
    return [f"pool-{number}.contract.metal.test" for number in range(count)]


class Pool:
    """The set of these tests: calls of the module, and their effects as the sandbox lists them."""

    def __init__(self, sandbox: RunningSandbox, environment: dict[str, str]) -> None:
        self.sandbox = sandbox
        self._environment = environment

    def have(self, count: int, **options: Any) -> dict[str, Any]:
        """Call the module with an empty journal and return its result."""
        self.sandbox.forget()
        return run("metal_device_set", {**POOL, "hostnames": hostnames(count), **options}, self._environment)

    def well(self, count: int, **options: Any) -> dict[str, Any]:
        result = self.have(count, **options)
        assert not result.get("failed"), result
        return result

    def stock(self, after_check: int = 0, **metros: dict[str, int] | None) -> None:
        self.sandbox.call("PUT", "settings", json={"capacity": {"metros": metros, "taken_after_check": after_check}})

    def requests(self, method: str, ending: str) -> list[dict[str, Any]]:
        return [each for each in self.sandbox.journal() if each["method"] == method and each["path"].split("?")[0].endswith(ending)]

    @property
    def orders(self) -> int:
        return sum(each["status"] == 201 for each in self.requests("POST", "/devices"))

    @property
    def writes(self) -> list[str]:
        return [f"{each['method']} {each['path']}" for each in self.sandbox.journal() if is_write(each)]

    @property
    def names(self) -> list[str]:
        """Return the host names of the billed devices."""
        return sorted(each["hostname"].split(".")[0] for each in self.sandbox.inventory()["devices"])


@pytest.fixture
def pool(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[Pool]:
    yield Pool(sandbox, sandbox_environment)
    sandbox.call("DELETE", "faults")
    everywhere = {"metros": {"da": None, "am": None, "sg": None}, "taken_after_check": 0}
    sandbox.call("PUT", "settings", json={"capacity": everywhere, "rate_limit": {"requests": None}, "speed": SPEED})
    gone = run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", **WAIT}, sandbox_environment)
    assert not gone.get("failed"), gone


def metros(result: dict[str, Any]) -> Counter[str]:
    return Counter(device["metro"] for device in result["devices"])


def test_a_set_replaces_one_failed_device_of_five(pool: Pool) -> None:
    pool.sandbox.call("POST", "faults", json={"hostname": "pool-2", "times": 1})
    pool.sandbox.call("PUT", "settings", json={"speed": SPEED / 6})  # an order takes less than a machine, however busy this computer is
    result = pool.well(5, replace_failed=1)
    assert [device["state"] for device in result["devices"]] == ["active"] * 5
    assert [len(outcome["replacements"]) for outcome in result["outcomes"].values()] == [0, 0, 1, 0, 0]
    assert "pool-2.contract.metal.test is replaced (replacement 1 of 1)" in result["notes"][0]
    assert pool.orders == 6
    again = pool.well(5)
    assert not again["changed"]
    assert pool.names == [f"pool-{number}" for number in range(5)]


def test_a_quorum_of_four_of_five_devices_succeeds(pool: Pool) -> None:
    pool.sandbox.call("POST", "faults", json={"hostname": "pool-2"})
    result = pool.well(5, quorum=4)
    assert result["failed_machines"] == ["pool-2.contract.metal.test"]
    assert "1 of 5 devices are not in the desired state" in str(result["warnings"])
    assert result["outcomes"]["pool-2.contract.metal.test"]["status"] == "failed"
    short = pool.have(5, quorum=5, replace_failed=1)
    assert short["failed"]
    assert "1 of 5 devices are not in the desired state: pool-2.contract.metal.test" in short["msg"]
    assert len(short["outcomes"]["pool-2.contract.metal.test"]["replacements"]) == 1
    # Ansible prints a failed result: the four that are well are not in it.
    assert list(short["outcomes"]) == short["failed_machines"] == ["pool-2.contract.metal.test"]
    assert "devices" not in short
    pool.sandbox.call("DELETE", "faults")
    mended = pool.well(5, replace_failed=1)
    assert mended["changed"]
    assert {outcome["status"] for outcome in mended["outcomes"].values()} == {"ready"}


def test_a_set_replaces_a_machine_that_stopped_in_its_first_boot(pool: Pool) -> None:
    (device,) = (each for each in pool.well(2)["devices"] if each["hostname"].startswith("pool-1."))
    address = next(each["address"] for each in device["ip_addresses"] if each["public"] and each["address_family"] == 4)
    with httpx.Client(transport=httpx.HTTPTransport(local_address=address)) as machine:
        metadata = machine.get(pool.sandbox.environment["OPENSHIFT_METADATA_URL"]).json()
        machine.post(metadata["user_state_url"], json={"state": "failed", "message": "[files] no such host"}).raise_for_status()
    assert not pool.well(2)["changed"]
    result = pool.well(2, replace_failed=1)
    assert [outcome["action"] for outcome in result["outcomes"].values()] == ["none", "replaced"]
    assert "stopped in its installation or first boot: [files] no such host" in result["notes"][0]
    assert pool.names == ["pool-0", "pool-1"]
    assert not pool.well(2, replace_failed=1)["changed"]


def test_a_set_replaces_failed_reserved_hardware_and_keeps_it(pool: Pool) -> None:
    pool.sandbox.call("POST", "hardware_reservations", json={"metro": "sv", "count": 2})
    pool.sandbox.call("POST", "faults", json={"hostname": "pool-1", "times": 1})
    result = pool.well(2, metro="sv", hardware_reservation_id="next-available", replace_failed=1)
    assert [device["state"] for device in result["devices"]] == ["active"] * 2
    assert all(device["hardware_reservation_id"] for device in result["devices"])
    assert pool.orders == 3
    assert len([write for write in pool.writes if write.startswith("DELETE")]) == 1


def test_a_set_is_ordered_in_a_metro_with_capacity_for_all(pool: Pool) -> None:
    pool.stock(da={SMALL: 3}, am={SMALL: 4})
    predicted = pool.well(4, placement=PLACES, _ansible_check_mode=True)
    assert pool.writes == []
    result = pool.well(4, placement=PLACES)
    assert metros(result) == {"am": 4} == metros(predicted)
    assert predicted["diff"] == result["diff"]
    assert len(pool.requests("POST", "/capacity/metros")) == 1
    assert not pool.well(4, placement=PLACES)["changed"]


def test_a_set_orders_nothing_without_capacity_in_any_metro(pool: Pool) -> None:
    pool.stock(da={SMALL: 3}, am={SMALL: 3}, sg={LARGE: 0})
    result = pool.have(4, placement=PLACES)
    assert "Nothing was ordered" in result["msg"]
    for metro, plan in (("da", SMALL), ("am", SMALL), ("sg", LARGE)):
        assert f"metro {metro} has no capacity for 4 servers of plan {plan}" in result["msg"]
    assert pool.writes == []


def test_devices_are_ordered_in_the_next_metro_when_capacity_runs_out(pool: Pool) -> None:
    pool.stock(after_check=2, da={SMALL: 4})
    result = pool.well(4, placement=PLACES)
    assert metros(result) == {"da": 2, "am": 2}
    assert len([text for text in result["notes"] if "was sold out when it was ordered" in text]) == 2
    assert len(pool.requests("POST", "/capacity/metros")) == 2
    assert pool.orders == 4
    assert not pool.well(4, placement=PLACES)["changed"]


def test_a_set_is_spread_over_metros(pool: Pool) -> None:
    pool.stock(am={SMALL: 1})
    result = pool.well(5, placement=PLACES, spread=True)
    assert metros(result) == {"da": 2, "am": 1, "sg": 2}
    assert len(pool.requests("POST", "/capacity/metros")) == 1
    assert not pool.well(5, placement=PLACES, spread=True)["changed"]


def test_devices_removed_from_the_list_stay(pool: Pool) -> None:
    pool.well(4)
    assert not pool.well(2)["changed"]
    assert len(pool.names) == 4


def test_a_set_replaces_drifted_devices_one_at_a_time(pool: Pool) -> None:
    pool.well(3)
    returned = pool.have(3, operating_system="debian_12")
    assert "3 of 3 devices are not in the desired state" in returned["msg"]
    result = pool.well(3, operating_system="debian_12", on_drift="replace")
    assert {device["operating_system"] for device in result["devices"]} == {"debian_12"}
    assert [write.split()[0] for write in pool.writes] == ["DELETE", "POST"] * 3
    assert not pool.well(3, operating_system="debian_12")["changed"]


def test_a_set_of_any_size_is_read_by_one_list(pool: Pool) -> None:
    for size in (4, 40):
        began = time.monotonic()
        pool.well(size, wait_interval=1)
        polls = time.monotonic() - began
        lists = len(pool.requests("GET", "/devices"))
        others = [
            each for each in pool.sandbox.journal() if each["method"] == "GET" and not each["path"].split("?")[0].endswith("/devices")
        ]
        assert others == []
        assert lists <= 2 + polls
        assert len(pool.requests("POST", "/capacity/metros")) == 1
        unchanged = pool.well(size)
        assert not unchanged["changed"]
        assert [each["method"] for each in pool.sandbox.journal()] == ["GET"]


def test_a_rate_limited_set_orders_each_device_once(pool: Pool) -> None:
    pool.sandbox.call("PUT", "settings", json={"rate_limit": {"requests": 12, "seconds": 1}})
    result = pool.well(30)
    assert len(result["devices"]) == 30
    assert pool.orders == 30
    assert len(pool.names) == 30


def test_orders_with_lost_answers_are_found_by_reading(pool: Pool) -> None:
    pool.sandbox.call("POST", "faults", json={"method": "POST", "path": "/devices$", "cut": "after", "times": 3})
    pool.sandbox.call("POST", "faults", json={"method": "POST", "path": "/devices$", "cut": "before", "times": 2})
    pool.sandbox.call("POST", "faults", json={"hostname": "pool-1", "times": 1})
    result = pool.well(8, replace_failed=1)
    assert {outcome["status"] for outcome in result["outcomes"].values()} == {"ready"}
    assert len(pool.names) == 8


def test_a_tag_with_a_comma_selects_as_one_tag(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    """The service reads it as two tags when it filters a list."""
    ours: dict[str, Any] = {"ownership_tags": ["rack=1,2"], **WAIT}
    machines = [{"hostname": "comma.contract.metal.test", "plan": SMALL, "metro": "da", "operating_system": "ubuntu_24_04"}]
    made = run("metal_device_set", {**ours, "machines": machines}, sandbox_environment)
    try:
        assert not made.get("failed"), made
        found = run("metal_device_info", {"tags": ["rack=1,2"]}, sandbox_environment)["devices"]
        assert [device["hostname"] for device in found] == ["comma.contract.metal.test"]
    finally:
        gone = run("metal_device_set", {**ours, "all_owned": True, "state": "absent"}, sandbox_environment)
    assert gone["changed"]
    assert not sandbox.inventory()["devices"]
