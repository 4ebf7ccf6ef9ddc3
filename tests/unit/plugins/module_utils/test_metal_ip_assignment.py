"""Which address on a device is meant, and what is refused. Moves: tests/contract/test_network_faults.py."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotFoundError, NotYetError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ip_assignment import (
    IP_ASSIGNMENT_OPTIONS,
    IpAssignment,
)
from tests.unit.plugins.module_utils.fake_client import FakeClient, options_of

BLOCK: dict[str, Any] = {"ip_reservation_tags": ["y"], "device_id": "a"}


def addresses(*assigned: tuple[str, str]) -> FakeClient:
    """A project with two blocks, and in the first of them these addresses on these devices."""
    assignments = [
        {"id": f"{address}-on-{device}", "address": address, "cidr": 32, "assigned_to": {"href": f"/metal/v1/devices/{device}"}}
        for address, device in assigned
    ]
    common = {"type": "public_ipv4", "state": "created", "address_family": 4}
    blocks = [
        {"id": "b", "tags": ["x", "y"], "details": "pool", "cidr": 29, "assignments": [None, *assignments], **common},
        {"id": "c", "tags": ["x", "w"], "details": None, "cidr": 30, "assignments": [], **common},
    ]
    devices = {f"devices/{name}": {"id": name, "project": {"href": "/metal/v1/projects/p"}} for name in "abc"}
    free = {f"ips/{block}/available": {"available": ["192.0.2.1/32", None]} for block in "bc"}
    return FakeClient({"projects/p/ips": blocks, **devices, **free})


def assignment(client: FakeClient, **given: Any) -> IpAssignment:
    return IpAssignment(client, options_of(IP_ASSIGNMENT_OPTIONS, **given))


def test_a_move_that_could_lose_customdata_is_refused() -> None:
    client = addresses(("192.0.2.1", "a"))
    current = client.answers["projects/p/ips"][0]["assignments"][1]
    client.answers[f"ips/{current['id']}"] = {**current, "customdata": {"a": 1}}
    with pytest.raises(CollectionError, match="which the API does not keep"):
        assignment(client, address="192.0.2.1", device_id="c").update(current, {"device_id": "c"})
    assert client.writes == []


def test_what_went_with_its_device_is_absent() -> None:
    for given in ({"address": "192.0.2.1"}, {"ip_reservation_tags": ["y"]}):
        assert assignment(addresses(), **given, device_id="gone", state="absent").find() is None
        with pytest.raises(NotFoundError):
            assignment(addresses(), **given, device_id="gone", state="present").find()


def test_any_address_of_a_block_is_the_one_that_the_device_has_already() -> None:
    client = addresses(("192.0.2.1", "b"), ("192.0.2.3", "a"), ("192.0.2.2", "a"))
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
    resource = assignment(addresses(), device_id="a", **given)
    with pytest.raises(CollectionError, match=text):
        assert resource.find() is None
        resource.check_creation()


def test_of_several_blocks_the_one_without_other_tags_is_meant() -> None:
    client = addresses()
    blocks = client.answers["projects/p/ips"]
    blocks.append({**blocks[1], "id": "d", "tags": ["x"]})
    resource = assignment(client, ip_reservation_tags=["x"], device_id="a")
    assert resource.find() is None
    assert resource.result(resource.predict(None, {}))["ip_reservation_id"] == "d"


def test_a_block_that_waits_for_approval() -> None:
    client = addresses()
    client.answers["projects/p/ips"][0]["state"] = "pending"
    resource = assignment(client, **BLOCK)
    assert resource.find() is None
    with pytest.raises(NotYetError, match="waits for approval by Equinix Metal"):
        resource.create()
    client.answers["projects/p/ips"][0]["state"] = "created"
    assert resource.create()["address"] == "192.0.2.1/32"


@pytest.mark.parametrize(("device", "found"), [(None, True), ("a", True), ("b", False)])
def test_absent_from_a_device_leaves_it_on_another(device: str | None, found: bool) -> None:
    resource = assignment(addresses(("192.0.2.1", "a")), address="192.0.2.1", device_id=device, state="absent")
    assert (resource.find() is not None) is found


def test_the_device_s_own_addresses_are_not_taken_off() -> None:
    with pytest.raises(CollectionError, match="management address"):
        assignment(addresses(), address="192.0.2.1", state="absent").check_deletion({"id": "1", "management": True})
