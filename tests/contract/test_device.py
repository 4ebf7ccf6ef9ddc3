"""One device: failed and foreign ones, deletions that are not carried out, and answers that leave something unknown."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox, is_write
from tests.conftest import SPEED
from tests.contract.environment import run
from tests.contract.network import UNKNOWN
from tests.contract.scenario import TAGS, WAIT, machine

NEW = {**machine(1), "ownership_tags": TAGS, **WAIT}
NAME = NEW["hostname"]


class Devices:
    """The sandbox as these tests use it."""

    def __init__(self, sandbox: RunningSandbox, environment: dict[str, str]) -> None:
        self.sandbox = sandbox
        self._environment = environment

    def run(self, **options: Any) -> dict[str, Any]:
        return run("metal_device", options, self._environment)

    def seed(self, *tags: str) -> str:
        """Create an active device of the name with these tags, and return its id."""
        made = self.sandbox.call("POST", "devices", json={"hostname": NAME, "tags": [*tags]})
        self.sandbox.forget()
        return str(made["ids"][0])

    def fault(self, **fault: Any) -> None:
        self.sandbox.call("POST", "faults", json=fault)

    @property
    def writes(self) -> list[str]:
        return [each["method"] for each in self.sandbox.journal() if is_write(each)]


@pytest.fixture
def devices(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[Devices]:
    found = Devices(sandbox, sandbox_environment)
    yield found
    sandbox.call("DELETE", "faults")
    sandbox.call("PUT", "settings", json={"speed": SPEED})
    for each in sandbox.inventory()["devices"]:
        assert not found.run(id=each["id"], state="absent", **WAIT).get("failed")


def test_a_failed_device_is_an_error_at_once_that_names_the_last_event(devices: Devices) -> None:
    """Reserved hardware stays when its provisioning has failed."""
    reserved = devices.sandbox.call("POST", "hardware_reservations", json={"metro": "da"})["ids"][0]
    devices.fault(hostname="worker-1", times=1)
    failed = devices.run(**NEW, hardware_reservation_id=reserved)
    assert "has failed: last event '" in failed["msg"]
    assert failed["changed"]
    assert "Delete it (state=absent)" in devices.run(**NEW, hardware_reservation_id=reserved)["msg"]
    assert devices.writes == ["POST"]


def test_a_device_taken_back_is_an_error_and_not_ordered_again(devices: Devices) -> None:
    devices.fault(method="GET", path="/projects/[^/]+/devices$", status=200, body={"devices": [], "meta": {"total": 0}})
    devices.fault(method="GET", path="/devices/[0-9a-f-]{36}$", status=404, body={"errors": ["Not found"]})
    result = devices.run(**NEW)
    assert "Equinix Metal deletes devices whose provisioning fails" in result["msg"]
    assert result["changed"]
    assert devices.writes == ["POST"]


def test_an_unknown_id_is_an_error_and_no_reason_to_create(devices: Devices) -> None:
    assert "leave id out" in devices.run(**NEW, id=UNKNOWN)["msg"]
    assert not devices.run(id=UNKNOWN, state="absent")["changed"]
    assert devices.writes == []


def test_a_foreign_device_is_not_changed_by_its_id(devices: Devices) -> None:
    identity = devices.seed("somebody=else")
    for state in ("present", "absent"):
        refused = devices.run(id=identity, ownership_tags=["own=1"], state=state, description="mine")
        assert "does not have the tags own=1" in refused["msg"]
    assert devices.writes == []


def test_no_tags_are_sent_while_the_ownership_tags_are_unknown(devices: Devices) -> None:
    devices.seed(*TAGS)
    devices.fault(method="GET", without="tags")
    for given in ({"tags": ["b"]}, {"operation": "reinstall", "operation_id": "w"}):
        assert "the API returned no current tags" in devices.run(hostname=NAME, **given)["msg"]
    assert devices.writes == []


def test_a_request_whose_event_is_not_listed_any_more_is_not_repeated(devices: Devices) -> None:
    devices.seed("ansible-operation-requested=reinstall:w:long-gone")
    refused = devices.run(hostname=NAME, operation="reinstall", operation_id="w")
    assert "the API does not list event long-gone" in refused["msg"]
    assert devices.writes == []
    assert devices.run(hostname=NAME, operation="reinstall", operation_id="another", **WAIT)["changed"]


def test_a_device_still_provisioning_is_deleted_when_that_is_over(devices: Devices) -> None:
    devices.sandbox.call("PUT", "settings", json={"speed": 1})
    assert devices.run(**NEW | {"wait": False})["changed"]
    assert "Use wait=true" in devices.run(hostname=NAME, state="absent", wait=False)["msg"]
    devices.sandbox.call("PUT", "settings", json={"speed": SPEED})
    assert devices.run(hostname=NAME, state="absent", **WAIT)["changed"]
    assert devices.sandbox.inventory()["devices"] == []
