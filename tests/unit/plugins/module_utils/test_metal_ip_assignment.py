"""Addresses on devices: one is found wherever it is, moved by two calls, and never lost between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils import _metal_network_info
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError, LostAnswerError, NotFoundError
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_ip_assignment import (
    IP_ASSIGNMENT_OPTIONS,
    IpAssignment,
    normal_address,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._resource import update_once


class Addresses:
    """Assignments in memory, in one block."""

    def __init__(self, **devices: str) -> None:
        self.assignments = [self._one(address, device) for device, address in devices.items()]
        self.calls: list[str] = []
        self.lost: list[str] = []
        self.stays = 0

    @staticmethod
    def _one(address: str, device: str) -> dict[str, Any]:
        return {"id": f"{address} on {device}", "address": address, "cidr": 32, "assigned_to": {"href": f"/metal/v1/devices/{device}"}}

    def read(self, path: str, *, doing: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if path == "ips/block":
            return {"id": "block", "cidr": 31}
        if path.startswith("ips/") and " on " in path and not [each for each in self.assignments if f"ips/{each['id']}" == path]:
            raise NotFoundError(f"Could not {doing}: 404", status=404)
        if path == "devices/gone" or path.startswith("ips/unknown"):
            raise NotFoundError(f"Could not {doing}: 404", status=404)
        return {"available": ["192.0.2.1/32", None]} if path.endswith("/available") else {"id": path}

    def read_list(self, path: str, key: str, *, doing: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        types = ("public_ipv4", "private_ipv4")
        return [{"id": each, "type": each, "state": "created", "assignments": [None, *self.assignments]} for each in types]

    def write_one(self, method: str, path: str, body: Any, *, doing: str) -> dict[str, Any]:
        self.calls.append(f"{method} {path}")
        fate = self.lost.pop(0) if self.lost else ""
        made = self._one(body["address"].partition("/")[0], path.split("/")[1])
        if fate != "before":
            self.assignments.append(made)
        if fate:
            raise LostAnswerError("lost")
        return made

    def write(self, method: str, path: str, body: Any, *, doing: str) -> None:
        assert method == "DELETE"
        self.delete(path, doing=doing)

    def delete(self, path: str, *, doing: str) -> bool:
        if self.stays:
            self.stays -= 1
            return True
        self.calls.append(f"DELETE {path}")
        self.assignments = [each for each in self.assignments if f"ips/{each['id']}" != path]
        return True


def assignment(client: Addresses, **given: Any) -> IpAssignment:
    params = {name: option.get("default") for name, option in IP_ASSIGNMENT_OPTIONS.argument_spec.items()}
    return IpAssignment(client, {**params, "project_id": "p", **given})  # type: ignore[arg-type]  # a client in all that is used


@pytest.mark.parametrize(
    ("text", "normal"), [("192.0.2.1", "192.0.2.1/32"), (" 192.0.2.0/30", "192.0.2.0/30"), ("2001:DB8::1", "2001:db8::1/128")]
)
def test_addresses_have_one_form(text: str, normal: str) -> None:
    assert normal_address(text) == normal
    with pytest.raises(CollectionError, match="is not an address"):
        normal_address("x" + text)


@pytest.mark.parametrize("fates", [[], ["before"], ["after"]])
def test_a_move_ends_on_the_other_device(fates: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("ansible_collections.equinix_metal.openshift.plugins.module_utils._resource.LOOKS_AFTER_LOST_CREATE", (0, 0))
    client = Addresses(a="192.0.2.1", b="192.0.2.2")
    client.lost = fates.copy()
    resource = assignment(client, address="192.0.2.1", device_id="c")
    found = resource.find()
    assert found is not None
    moved = update_once(resource, found, {"device_id": "c"})
    assert resource.view(moved) == {"address": "192.0.2.1/32", "device_id": "c"}
    assert len(client.assignments) == 2
    assert client.calls.count("POST devices/c/ips") == (2 if fates == ["before"] else 1)


def test_an_address_that_does_not_leave_its_device_is_not_put_on_another() -> None:
    client = Addresses(a="192.0.2.1")
    client.stays = 1
    resource = assignment(client, address="192.0.2.1", device_id="c")
    assert resource.view(resource.update(client.assignments[0], {"device_id": "c"}))["device_id"] == "c"
    client.stays = 2
    with pytest.raises(CollectionError, match="accepted it 2 times, and it is still there"):
        resource.update(client.assignments[0], {"device_id": "c"})


def test_an_address_is_not_moved_to_a_device_that_is_not_there() -> None:
    client = Addresses(a="192.0.2.1")
    resource = assignment(client, address="192.0.2.1", device_id="gone")
    found = resource.find()
    assert found is not None
    with pytest.raises(NotFoundError):
        resource.update(found, {"device_id": "gone"})
    assert not client.calls


@pytest.mark.parametrize(("device", "found"), [(None, True), ("a", True), ("b", False)])
def test_absent_from_a_device_leaves_it_on_another(device: str | None, found: bool) -> None:
    resource = assignment(Addresses(a="192.0.2.1"), address="192.0.2.1", device_id=device, state="absent")
    assert (resource.find() is not None) is found


def test_ids() -> None:
    with pytest.raises(CollectionError, match="There is no IP assignment"):
        assignment(Addresses(), id="unknown", device_id="a").find()
    assert assignment(Addresses(), id="unknown", state="absent").find() is None
    with pytest.raises(CollectionError, match="is a block"):
        assignment(Addresses(), id="block", device_id="a").find()


def test_the_device_s_own_addresses_are_not_taken_off() -> None:
    with pytest.raises(CollectionError, match="management address"):
        assignment(Addresses(), address="192.0.2.1", state="absent").check_removal({"id": "1", "management": True})


def test_filters() -> None:
    facts = {"id": "1", "metro": "da", "tags": ["a", "b"], "vxlan": 5}
    for name, wanted, passes in (
        ("id", None, True),
        ("id", ["1", "2"], True),
        ("id", ["2"], False),
        ("metro", "DA", True),
        ("tags", ["b"], True),
        ("tags", ["c"], False),
        ("vxlan", [5], True),
    ):
        assert _metal_network_info.fits(facts, name, wanted) is passes, (name, wanted)


def test_what_is_free_is_asked_of_one_block_or_of_all_that_can_be_assigned() -> None:
    client: Any = Addresses()
    params = {"project_id": "p", "ip_reservation_id": None, "cidr": 32}
    assert _metal_network_info.find_available_addresses(client, params) == {"available": ["192.0.2.1/32"]}
    assert _metal_network_info.find_available_addresses(client, {**params, "ip_reservation_id": "1"}) == {"available": ["192.0.2.1/32"]}
    with pytest.raises(CollectionError, match="20 to 128"):
        _metal_network_info.find_available_addresses(client, {**params, "cidr": 8})
