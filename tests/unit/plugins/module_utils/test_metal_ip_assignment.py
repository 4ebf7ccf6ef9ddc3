"""Addresses on devices: one is found wherever it is, moved by two calls, and never lost between them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    NotFoundError,
    NotYetError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import ip_reservation
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ip_assignment import (
    IP_ASSIGNMENT_OPTIONS,
    IpAssignment,
    normal_address,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.lifecycle import update_once
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import matches
from tests.unit.plugins.module_utils.fake_client import NOT_FOUND, FakeClient, Lost, Refused


class Addresses(FakeClient):
    """Assignments in memory, in one block."""

    def __init__(self, **devices: str) -> None:
        super().__init__()
        self.assignments = [self._one(address, device) for device, address in devices.items()]
        self.calls: list[str] = []
        self.lost: list[str] = []
        self.listed: list[str] = []
        self.project: dict[str, str] = {}
        """Return that of all devices, as far as it is listed."""
        self.stays = 0
        self.customdata: dict[str, Any] = {}
        self.raced: set[str] = set()
        """Addresses that others take between the question and the order."""
        self.blocks: list[dict[str, Any]] = [
            {"id": "b", "type": "public_ipv4", "state": "created", "tags": ["x", "y"], "details": "pool", "address_family": 4, "cidr": 29},
            {"id": "c", "type": "public_ipv4", "state": "created", "tags": ["x", "w"], "details": None, "address_family": 4, "cidr": 30},
        ]

    @staticmethod
    def _one(address: str, device: str) -> dict[str, Any]:
        return {"id": f"{address}-on-{device}", "address": address, "cidr": 32, "assigned_to": {"href": f"/metal/v1/devices/{device}"}}

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if method == "POST":
            return self._assign(path, body["address"].partition("/")[0])
        if method == "DELETE":
            return self._release(path)
        if path.endswith("/ips"):
            return self._blocks(path, included="include" in params)
        return self._read(path)

    def _is_unknown(self, path: str) -> bool:
        is_assignment = path.startswith("ips/") and "-on-" in path
        return (is_assignment and path not in [f"ips/{each['id']}" for each in self.assignments]) or path in ("devices/gone", "ips/unknown")

    def _read(self, path: str) -> dict[str, Any]:
        if self._is_unknown(path):
            raise NOT_FOUND
        if path == "ips/block":
            return {"id": "block", "cidr": 31}
        if path == "ips/b/available":
            return {"available": [f"192.0.2.{number}/32" for number in range(8) if f"192.0.2.{number}" not in self._taken()]}
        if path.endswith("/available"):
            return {"available": ["192.0.2.1/32", None]}
        return {"id": path, "customdata": self.customdata, "project": self.project}

    def _taken(self) -> set[str]:
        return {each["address"] for each in self.assignments} - self.raced

    def _blocks(self, path: str, *, included: bool) -> list[dict[str, Any]]:
        self.listed.append(path)
        if included:
            return [{**self.blocks[0], "assignments": [None, *self.assignments]}, *self.blocks[1:]]
        types = ("public_ipv4", "private_ipv4")
        return [{"id": each, "type": each, "state": "created", "assignments": [None, *self.assignments]} for each in types]

    def _assign(self, path: str, address: str) -> dict[str, Any]:
        self.calls.append(f"POST {path}")
        if address in self.raced:
            self.raced.remove(address)
            self.assignments.append(self._one(address, "another"))
            raise Refused(422, "Address has already been taken")
        fate = self.lost.pop(0) if self.lost else ""
        made = self._one(address, path.split("/")[1])
        if fate != "before":
            self.assignments.append(made)
        if fate:
            raise Lost
        return made

    def _release(self, path: str) -> None:
        if self.stays:
            self.stays -= 1
            return
        if self._is_unknown(path):
            raise NOT_FOUND
        self.calls.append(f"DELETE {path}")
        self.assignments = [each for each in self.assignments if f"ips/{each['id']}" != path]


def assignment(client: Addresses, **given: Any) -> IpAssignment:
    params = {name: option.get("default") for name, option in IP_ASSIGNMENT_OPTIONS.argument_spec.items()}
    return IpAssignment(client, {**params, "project_id": "p", **given})


@pytest.mark.parametrize(
    ("text", "normal"), [("192.0.2.1", "192.0.2.1/32"), (" 192.0.2.0/30", "192.0.2.0/30"), ("2001:DB8::1", "2001:db8::1/128")]
)
def test_addresses_have_one_form(text: str, normal: str) -> None:
    assert normal_address(text) == normal
    with pytest.raises(CollectionError, match="must be an address"):
        normal_address("x" + text)


@pytest.mark.parametrize("fates", [[], ["before"], ["after"]])
def test_a_move_ends_on_the_other_device(fates: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource.RECHECK_AFTER_LOST_ANSWER", (0, 0))
    client = Addresses(a="192.0.2.1", b="192.0.2.2")
    client.lost = fates.copy()
    resource = assignment(client, address="192.0.2.1", device_id="c")
    found = resource.find()
    assert found is not None
    moved = update_once(resource, found, {"device_id": "c"})
    assert {"address": "192.0.2.1/32", "device_id": "c"}.items() <= resource.comparable(moved).items()
    assert len(client.assignments) == 2
    assert client.calls.count("POST devices/c/ips") == (2 if fates == ["before"] else 1)


def test_a_move_that_could_lose_customdata_is_refused() -> None:
    client = Addresses(a="192.0.2.1")
    client.customdata = {"a": 1}
    with pytest.raises(CollectionError, match="which the API does not keep"):
        assignment(client, address="192.0.2.1", device_id="c").update(client.assignments[0], {"device_id": "c"})
    assert client.calls == []
    assignment(client, address="192.0.2.1", device_id="c", customdata={}).update(client.assignments[0], {"device_id": "c"})
    assert client.calls == ["DELETE ips/192.0.2.1-on-a", "POST devices/c/ips"]


def test_an_address_that_does_not_leave_its_device_is_not_put_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource.RECHECK_AFTER_LOST_ANSWER", (0, 0))
    client = Addresses(a="192.0.2.1")
    client.stays = 1
    resource = assignment(client, address="192.0.2.1", device_id="c")
    assert resource.comparable(resource.update(client.assignments[0], {"device_id": "c"}))["device_id"] == "c"
    client.stays = 2
    with pytest.raises(CollectionError, match="the API accepted the request twice, but the object still exists"):
        resource.update(client.assignments[0], {"device_id": "c"})


def test_what_went_with_its_device_is_absent() -> None:
    client = Addresses(a="192.0.2.1")
    for given in ({"address": "192.0.2.1"}, {"ip_reservation_tags": ["y"]}):
        assert assignment(client, **given, device_id="gone", state="absent").find() is None
        with pytest.raises(NotFoundError):
            assignment(client, **given, device_id="gone", state="present").find()


BLOCK: dict[str, Any] = {"ip_reservation_tags": ["y"], "device_id": "a"}


def test_any_address_of_a_block_is_the_one_that_the_device_has_already() -> None:
    client = Addresses(b="192.0.2.1", a="192.0.2.3")
    client.assignments.append(client._one("192.0.2.2", "a"))
    found = assignment(client, **BLOCK).find()
    assert found is not None
    assert found["address"] == "192.0.2.2"
    # A subnet is something else than an address.
    assert assignment(client, **BLOCK, cidr=31).find() is None
    with pytest.raises(CollectionError, match=r"has 2 addresses of block y: 192.0.2.2/32, 192.0.2.3/32"):
        assignment(client, **BLOCK, state="absent").find()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"ip_reservation_tags": ["z"]}, "address of block z: not in this project"),
        ({"ip_reservation_tags": ["x"]}, "2 blocks are block x: b, c"),
        ({"ip_reservation_id": "d"}, "address of block d: not in this project"),
        ({"ip_reservation_details": "pool", "cidr": 28}, r"within the block \(/29\), not 28"),
    ],
)
def test_an_ambiguous_block_is_an_error_with_its_addresses(given: dict[str, Any], text: str) -> None:
    resource = assignment(Addresses(), device_id="a", **given)
    with pytest.raises(CollectionError, match=text):
        _found(resource).check_creation()


def test_of_several_blocks_the_one_without_other_tags_is_meant() -> None:
    client = Addresses()
    client.blocks.append({**client.blocks[1], "id": "d", "tags": ["x"], "assignments": []})
    resource = _found(assignment(client, ip_reservation_tags=["x"], device_id="a"))
    assert resource.result(resource.predict(None, {}))["ip_reservation_id"] == "d"


def _found(resource: IpAssignment) -> IpAssignment:
    assert resource.find() is None
    return resource


def test_a_block_without_room_and_one_that_waits_for_approval() -> None:
    full = Addresses(**{f"d{number}": f"192.0.2.{number}" for number in range(8)})
    resource = assignment(full, **BLOCK)
    assert resource.find() is None
    with pytest.raises(CollectionError, match="has no free /32"):
        resource.create()
    pending = Addresses()
    pending.blocks[0]["state"] = "pending"
    resource = assignment(pending, **BLOCK)
    assert resource.find() is None
    with pytest.raises(NotYetError, match="waits for approval by Equinix Metal"):
        resource.create()
    pending.blocks[0]["state"] = "created"
    assert resource.create()["address"] == "192.0.2.0"


@pytest.mark.parametrize(("device", "found"), [(None, True), ("a", True), ("b", False)])
def test_absent_from_a_device_leaves_it_on_another(device: str | None, found: bool) -> None:
    resource = assignment(Addresses(a="192.0.2.1"), address="192.0.2.1", device_id=device, state="absent")
    assert (resource.find() is not None) is found


def test_ids() -> None:
    with pytest.raises(CollectionError, match="IP assignment unknown does not exist"):
        assignment(Addresses(), id="unknown", device_id="a").find()
    assert assignment(Addresses(), id="unknown", state="absent").find() is None
    with pytest.raises(CollectionError, match="is a block"):
        assignment(Addresses(), id="block", device_id="a").find()


def test_the_device_s_own_addresses_are_not_taken_off() -> None:
    with pytest.raises(CollectionError, match="management address"):
        assignment(Addresses(), address="192.0.2.1", state="absent").check_deletion({"id": "1", "management": True})


def test_filters() -> None:
    facts = {"id": "1", "metro": "da", "tags": ["a", "b"], "vxlan": 5}
    for name, desired, passes in (
        ("id", None, True),
        ("id", ["1", "2"], True),
        ("id", ["2"], False),
        ("metro", "DA", True),
        ("tags", ["b"], True),
        ("tags", ["c"], False),
        ("vxlan", [5], True),
    ):
        assert matches(facts, {name: desired}) is passes, (name, desired)


def test_what_is_free_is_asked_of_one_block_or_of_all_that_can_be_assigned() -> None:
    client: Any = Addresses()
    params = {"project_id": "p", "ip_reservation_id": None, "cidr": 32}
    assert ip_reservation.find_available_addresses(client, params) == {"available": ["192.0.2.1/32"]}
    assert ip_reservation.find_available_addresses(client, {**params, "ip_reservation_id": "1"}) == {"available": ["192.0.2.1/32"]}
    with pytest.raises(CollectionError, match="20 to 128"):
        ip_reservation.find_available_addresses(client, {**params, "cidr": 8})
