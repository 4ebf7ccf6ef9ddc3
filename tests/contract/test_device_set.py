"""metal_device_set with a service that runs out of servers, fails devices and answers slowly: results and number of calls."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from sandbox.testing.process import RunningSandbox, is_write
from tests.conftest import SPEED
from tests.contract.environment import call, run
from tests.contract.network import UNKNOWN
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

    def seed(self, *numbers: int, tags: Sequence[str] = tuple(TAGS)) -> list[str]:
        """Create active devices with these numbers, and return their ids."""
        given = [{"hostname": hostnames(number + 1)[number], "tags": [*tags]} for number in numbers]
        return [self.sandbox.call("POST", "devices", json=each)["ids"][0] for each in given]

    def stop(self, device: dict[str, Any]) -> None:
        """Let the machine of a device report that its first boot has failed."""
        address = next(each["address"] for each in device["ip_addresses"] if each["public"] and each["address_family"] == 4)
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address)) as machine:
            metadata = machine.get(self.sandbox.environment["OPENSHIFT_METADATA_URL"]).json()
            machine.post(metadata["user_state_url"], json={"state": "failed", "message": "[files] no such host"}).raise_for_status()

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
    pool.stop(device)
    assert not pool.well(2)["changed"]
    result = pool.well(2, replace_failed=1)
    assert [outcome["action"] for outcome in result["outcomes"].values()] == ["none", "replaced"]
    assert "stopped in its installation or first boot: [files] no such host" in result["notes"][0]
    assert pool.names == ["pool-0", "pool-1"]
    assert not pool.well(2, replace_failed=1)["changed"]


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


# --- devices that exist --------------------------------------------------------------------------------------------------------------


def test_two_devices_of_one_name_are_an_error_with_both_ids(pool: Pool) -> None:
    ids = pool.seed(0, 0)
    assert all(identity in pool.have(1)["msg"] for identity in ids)
    assert pool.writes == []
    gone = pool.have(0, hostnames=None, all_owned=True, state="absent")
    assert sorted(gone["outcomes"]) == sorted(f"{hostnames(1)[0]} ({identity})" for identity in ids)
    assert pool.names == []


def test_foreign_devices_are_neither_used_nor_deleted(pool: Pool) -> None:
    (foreign,) = pool.seed(0, tags=["openshift-cluster=other.metal.test"])
    (own,) = pool.seed(1)
    refused = pool.have(1)
    assert "has another owner" in refused["msg"]
    assert "Rename or delete that device, or add the tags" in refused["msg"]
    assert not pool.well(1, state="absent")["changed"]
    by_id = pool.have(0, hostnames=None, ids=[own, foreign], state="absent")
    assert f"Cannot delete device {foreign}: it does not have the tags" in by_id["msg"]
    assert pool.writes == []
    pool.sandbox.call("POST", "faults", json={"method": "DELETE", "path": own, "times": 1, "cut": "after"})
    deleted = pool.well(0, hostnames=None, ids=[own, UNKNOWN], state="absent")
    assert {outcome["action"] for outcome in deleted["outcomes"].values()} == {"deleted"}
    assert not pool.well(0, hostnames=None, ids=[own], state="absent")["changed"]
    assert pool.names == ["pool-0"]
    call(pool.sandbox, "DELETE", f"devices/{foreign}")


def test_a_device_missing_in_the_list_is_read_before_it_counts_as_deleted(pool: Pool) -> None:
    pool.seed(0)
    listing = {"method": "GET", "path": "/projects/[^/]+/devices$", "status": 200, "body": {"devices": [], "meta": {"total": 0}}}
    pool.sandbox.call("POST", "faults", json={**listing, "skip": 1})
    assert pool.well(0, hostnames=None, all_owned=True, state="absent")["changed"]
    pool.sandbox.call("DELETE", "faults")
    assert pool.names == []


def test_a_locked_device_is_reported_and_the_others_are_deleted(pool: Pool) -> None:
    locked, _other = pool.seed(0, 1)
    call(pool.sandbox, "PUT", f"devices/{locked}", {"locked": True})
    assert "it is locked" in pool.have(2, state="absent")["msg"]
    assert pool.names == ["pool-0"]
    call(pool.sandbox, "PUT", f"devices/{locked}", {"locked": False})


def test_no_drifted_device_is_deleted_without_capacity_or_after_a_failed_replacement(pool: Pool) -> None:
    pool.seed(0, 1, 2)
    pool.stock(am={SMALL: 2})
    assert "metro am has no capacity for 3 servers" in pool.have(3, metro="am", on_drift="replace")["msg"]
    assert pool.writes == []
    pool.sandbox.call("POST", "faults", json={"hostname": "pool-0"})
    result = pool.have(3, operating_system="debian_12", on_drift="replace")
    assert "pool-1.contract.metal.test is not replaced, since the replacement of pool-0.contract.metal.test failed" in result["msg"]
    assert [write.split()[0] for write in pool.writes] == ["DELETE", "POST"]


# --- limits --------------------------------------------------------------------------------------------------------------------------


def test_a_quorum_tolerates_devices_without_capacity_and_orders_nothing_below_it(pool: Pool) -> None:
    pool.stock(da={SMALL: 3})
    assert "Nothing was ordered" in pool.have(5, quorum=4)["msg"]
    assert pool.writes == []
    pool.stock(da={SMALL: 4})
    assert pool.well(5, quorum=4)["missing_machines"] == [hostnames(5)[4]]


def test_remaining_devices_are_not_waited_for_after_the_quorum(pool: Pool) -> None:
    pool.well(1)
    pool.sandbox.call("PUT", "settings", json={"speed": 1})
    result = pool.well(2, quorum=1, quorum_wait=0)
    assert result["missing_machines"] == [hostnames(2)[1]]
    assert "not waited for any longer, since 1 of 2 devices are ready" in str(result["warnings"])
    late = pool.have(3, wait_timeout=0.5)
    assert re.search(r"pool-2\S* is (queued|provisioning)", late["msg"])
    assert "wait_timeout" in late["msg"]
    assert late["outcomes"][hostnames(3)[2]]["action"] == "created"


def test_replacements_are_limited_for_the_whole_set(pool: Pool) -> None:
    pool.sandbox.call("POST", "faults", json={"hostname": "pool-[01]"})
    result = pool.have(3, replace_failed=3)
    assert "2 of 3 devices" in result["msg"]
    assert pool.orders == 3 + 3
    assert len(result["notes"]) == 3
    assert result["failed_machines"] == hostnames(2)


def test_only_machines_that_stopped_and_have_not_joined_are_replaced(pool: Pool) -> None:
    """Any program on a node can report an event: a node was deleted without a drain, and of a control plane every member."""
    devices = pool.well(3)["devices"]
    for device in devices:
        pool.stop(device)
    joined, locked, _other = (device["id"] for device in devices)
    call(pool.sandbox, "PUT", f"devices/{locked}", {"locked": True})
    result = pool.have(3, replace_failed=1, joined=[joined])
    call(pool.sandbox, "PUT", f"devices/{locked}", {"locked": False})
    assert f"Cannot replace it: Cannot delete device {hostnames(2)[1]} ({locked}): it is locked" in result["msg"]
    assert [write.split()[0] for write in pool.writes if write.startswith(("DELETE", "POST"))] == ["DELETE", "POST"]
