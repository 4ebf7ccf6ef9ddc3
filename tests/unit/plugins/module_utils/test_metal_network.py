"""Networks and address blocks: which one is meant, what they need, what they refuse. And what is read of the catalogue."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, MetalError, ServerError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.capacity import (
    ask_capacity,
    capacity_with_prices,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import catalogue as metal_catalogue
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ip_reservation import (
    IP_RESERVATION_OPTIONS,
    IpReservation,
    quantity,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.vlan import VLAN_OPTIONS, Vlan
from tests.unit.plugins.module_utils.fake_client import FakeClient, Refused, options_of

LISTS = ("projects/p/virtual-networks", "projects/p/ips", "plans", "locations/metros", "operating-systems")


class Lists(FakeClient):
    """A service with one list, and one answer to everything else; without an answer it is out of order."""

    def __init__(self, items: list[dict[str, Any]], answer: Any = None) -> None:
        super().__init__()
        self._items, self._fixed = items, Refused(503, "out of order") if answer is None else answer

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if path in LISTS:
            return self._items
        if isinstance(self._fixed, Refused):
            raise self._fixed
        return self._fixed


def vlan(items: list[dict[str, Any]], **given: Any) -> Vlan:
    return Vlan(Lists(items), options_of(VLAN_OPTIONS, **given))


def block(items: list[dict[str, Any]], **given: Any) -> IpReservation:
    return IpReservation(Lists(items), options_of(IP_RESERVATION_OPTIONS, **given))


NETWORKS: list[dict[str, Any]] = [
    {"id": "1", "vxlan": 1000, "metro_code": "da", "description": "x", "tags": ["a", "b"], "instances": []},
    {"id": "2", "vxlan": 1000, "metro_code": "AM", "description": "x", "tags": ["a"], "instances": [{"href": "/devices/device-1"}]},
]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"vxlan": 1000, "metro": "da"}, "1"),
        ({"vxlan": 1000, "metro": "am"}, "2"),
        ({"vxlan": 1001, "metro": "am"}, None),
        ({"tags": ["b", "a", "b"]}, "1"),
        ({"tags": ["b"]}, None),
        ({"tags": ["b"], "description": "x"}, "1"),
        ({"tags": ["b"], "description": "y"}, None),
        ({"tags": ["a"]}, "2"),
        ({"tags": ["a"], "metro": "da"}, None),
        ({"tags": ["a"], "description": "y"}, "2"),
        ({"tags": ["a"], "description": "y", "state": "absent"}, None),
        ({"tags": ["a"], "description": "x", "state": "absent"}, "2"),
        ({"tags": ["b"], "description": "x", "state": "absent"}, None),
        ({"description": "x", "tags": [], "metro": "am", "state": "absent"}, None),
        ({"vxlan": 1000, "metro": "am", "description": "y", "state": "absent"}, "2"),
        ({"tags": ["a"], "metro": "AM"}, "2"),
        ({"description": "x", "metro": "da"}, "1"),
        ({"description": "y"}, None),
    ],
)
def test_a_network_is_found_by_what_is_given(given: dict[str, Any], found: str | None) -> None:
    network = vlan(NETWORKS, **given).find()
    assert (network or {}).get("id") == found


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"tags": ["b"], "description": "x"}, "1, 3"),
        ({"description": "x"}, "1, 2, 3"),
        ({"vxlan": 1000}, "metro must be set"),
    ],
)
def test_an_ambiguous_network_is_an_error(given: dict[str, Any], text: str) -> None:
    another = {"id": "3", "vxlan": 1001, "metro_code": "da", "description": "x", "tags": ["b", "c"]}
    with pytest.raises(CollectionError, match=text):
        vlan([*NETWORKS, another], **given).find()


def test_blockers_of_a_network_are_reported_by_name() -> None:
    result = {
        "id": "2",
        "instances": [{"id": "device-1", "hostname": "worker-0.demo.metal.test"}],
        "metal_gateways": [{"id": "gateway-1"}],
        "assigned_to_virtual_circuit": True,
    }
    client: Any = Lists(NETWORKS, result)
    network = Vlan(client, options_of(VLAN_OPTIONS, id="2"))
    text = "in use by device worker-0.demo.metal.test device-1, gateway gateway-1, a virtual circuit"
    with pytest.raises(CollectionError, match=text):
        network.check_deletion(NETWORKS[1])
    with pytest.raises(CollectionError, match="in use by device worker-0"):
        network.check_deletion({"id": "2", "assigned_to_virtual_circuit": True})
    network.check_deletion({**NETWORKS[0], "assigned_to_virtual_circuit": False})


def test_all_missing_options_of_a_network_are_reported_at_once() -> None:
    with pytest.raises(CollectionError, match=r"2 problems.*metro.*2 to 3999"):
        vlan([], vxlan=4000).check_creation()


BLOCKS: list[dict[str, Any]] = [
    {"id": "1", "type": "public_ipv4", "metro": {"code": "da"}, "cidr": 30, "tags": ["a"], "details": "x", "state": "created"},
    {"id": "2", "type": "public_ipv4", "metro": {"code": "am"}, "cidr": 30, "tags": ["a"], "details": "y", "state": "created"},
    {"id": "3", "type": "global_ipv4", "metro": None, "cidr": 32, "tags": ["a"], "details": "x", "state": "created"},
    {"id": "4", "type": "public_ipv4", "metro": {"code": "da"}, "tags": ["a"], "details": "x", "state": "denied"},
]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"tags": ["a"], "metro": "da"}, "1"),
        ({"tags": ["a"], "metro": "AM"}, "2"),
        ({"tags": ["a"], "type": "global_ipv4"}, "3"),
        ({"details": "y"}, "2"),
        ({"tags": ["b"]}, None),
    ],
)
def test_blocks_of_one_kind_are_distinguished(given: dict[str, Any], found: str | None) -> None:
    assert (block(BLOCKS, **given).find() or {}).get("id") == found


def test_ambiguous_blocks_are_an_error() -> None:
    with pytest.raises(CollectionError, match="2 blocks are IP reservation a: 1, 2"):
        block(BLOCKS, tags=["a"]).find()


def test_blocks_with_the_same_tags_are_distinguished_by_other_options() -> None:
    alike = [
        {"id": "1", "type": "public_ipv4", "metro": {"code": "da"}, "cidr": 30, "tags": ["a"], "details": "x", "state": "created"},
        {"id": "2", "type": "public_ipv4", "metro": {"code": "da"}, "cidr": 31, "tags": ["a"], "details": "y", "state": "created"},
        {"id": "3", "type": "public_ipv4", "metro": {"code": "da"}, "cidr": 30, "tags": ["a"], "details": "y", "state": "created"},
    ]
    assert (block(alike, tags=["a"], details="x").find() or {})["id"] == "1"
    assert (block(alike, tags=["a"], details="y", quantity=4).find() or {})["id"] == "3"
    assert (block(alike, tags=["a"], quantity=2).find() or {})["id"] == "2"
    assert (block(alike, tags=["a"], quantity=2, state="absent").find() or {})["id"] == "2"
    assert block(alike, tags=["a"], details="z", state="absent").find() is None
    assert block(alike, tags=["a"], details="x", quantity=2, state="absent").find() is None
    for given in ({"details": "z"}, {"details": "y"}, {"quantity": 8}):
        with pytest.raises(CollectionError, match="blocks are IP reservation a"):
            block(alike, tags=["a"], **given).find()


def test_a_block_of_a_vrf_is_asked_for_by_its_network() -> None:
    with pytest.raises(CollectionError, match=r"3 problems.*vrf_id.*network.*cidr"):
        block([], tags=["a"], type="vrf").check_creation()
    with pytest.raises(CollectionError, match="network needs type=vrf"):
        block([], tags=["a"], metro="da", quantity=1, network="192.0.2.0").check_creation()
    desired = block([], tags=["a"], type="vrf", vrf_id="v", network="192.0.2.0", cidr=28)
    desired.check_creation()
    found = {"type": "vrf", "vrf": {"id": "v"}, "network": "192.0.2.0", "cidr": 28, "tags": ["a"]}
    assert {name: desired.comparable(found)[name] for name in desired.desired()} == desired.desired()


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ({"tags": ["a"]}, "metro must be given.*quantity must be one of 1, 2, 4, 8, 16, 32, 64, 128, 256, not None"),
        ({"tags": ["a"], "type": "global_ipv4", "metro": "da", "quantity": 8}, "has no metro.*one of 1, 2, 4, not 8"),
    ],
)
def test_all_missing_options_of_a_block_are_reported_at_once(given: dict[str, Any], texts: str) -> None:
    with pytest.raises(CollectionError, match=f"2 problems.*{texts}"):
        block([], **given).check_creation()


@pytest.mark.parametrize(
    ("given", "desired"),
    [
        ({"quantity": 4}, {"quantity": 4}),
        ({"cidr": 30}, {"quantity": 4}),
        ({"netmask": "255.255.255.252"}, {"quantity": 4}),
        ({"netmask": "/30"}, {"quantity": 4}),
        ({"type": "vrf", "cidr": 29}, {"cidr": 29}),
        ({"type": "vrf", "netmask": "255.255.255.248"}, {"cidr": 29}),
    ],
)
def test_the_size_of_a_block_is_said_in_three_ways(given: dict[str, Any], desired: dict[str, Any]) -> None:
    result = block([], details="x", **given).desired()
    assert {name: result[name] for name in ("quantity", "cidr") if name in result} == desired


@pytest.mark.parametrize("netmask", ["255.255.0.255", "x", "/33"])
def test_an_invalid_netmask_is_an_error(netmask: str) -> None:
    with pytest.raises(CollectionError, match="netmask must be a mask"):
        block([], details="x", netmask=netmask)


def test_deleting_a_block_in_use_names_the_blockers() -> None:
    assigned = {"id": "a", "address": "192.0.2.1", "cidr": 32, "assigned_to": {"id": "d", "hostname": "worker-0"}}
    found = {"id": "b", "assignments": [{"href": "/ips/a"}], "metal_gateway": {"id": "g"}}
    seen = IpReservation(Lists([], {**found, "assignments": [assigned]}), options_of(IP_RESERVATION_OPTIONS, details="x"))
    with pytest.raises(CollectionError, match=r"in use by 192.0.2.1/32 on device worker-0 d, gateway g\. .* and delete its gateway"):
        seen.check_deletion(found)
    with pytest.raises(CollectionError, match="in use by assignment a, gateway g"):
        block([], details="x").check_deletion(found)
    block([], details="x").check_deletion({"id": "b", "assignments": []})


def test_a_pending_block_is_waited_for_and_a_denied_one_is_an_error() -> None:
    desired = block([], tags=["a"], quantity=4, metro="da")
    assert desired.pending({"state": "pending"})
    assert not desired.pending({"state": "created"})
    assert desired.comparable({"state": "pending"})["quantity"] == 4
    with pytest.raises(CollectionError, match="denied"):
        desired.pending({"state": "denied"})
    with pytest.raises(CollectionError, match="waits for approval by Equinix Metal"):
        block([], tags=["a"], fail_on_approval_required=True).pending({"state": "pending"})
    assert [quantity({"cidr": cidr}) for cidr in (32, 31, 24, None)] == [1, 2, 256, None]


ASKED = [{"plan": "c3.small.x86", "metro": "DA", "quantity": 2}]


def test_a_service_without_the_question_is_no_reason_to_stop_unless_it_was_asked_for_that() -> None:
    client: Any = Lists([], Refused(501, "not imitated"))
    assert ask_capacity(client, ASKED, optional=True)[0]["available"] is None
    with pytest.raises(MetalError):
        ask_capacity(client, ASKED)
    broken: Any = Lists([], Refused(500, "Oh snap"))
    with pytest.raises(ServerError):
        ask_capacity(broken, ASKED, optional=True)


def test_prices_are_added_up() -> None:
    answer = {"servers": [{"plan": "c3.small.x86", "metro": "da", "quantity": 2, "available": True}]}
    client: Any = Lists([{"slug": "c3.small.x86", "pricing": {"hour": 0.75}}], answer)
    result = capacity_with_prices(client, {"servers": ASKED})
    assert (result["available"], result["total_price_per_hour"]) == (True, 1.5)
    with pytest.raises(CollectionError, match="plan c9 does not exist"):
        capacity_with_prices(client, {"servers": [{"plan": "c9", "metro": "da", "quantity": 1}]})
    with pytest.raises(CollectionError, match="quantity must be 1 or more"):
        capacity_with_prices(client, {"servers": [{"plan": "c9", "metro": "da", "quantity": 0}]})


def test_malformed_catalogue_entries_affect_no_other() -> None:
    malformed: list[dict[str, Any]] = [{}, {"slug": "a", "pricing": None, "available_in_metros": [None, {"code": "DA"}], "specs": None}]
    client: Any = Lists(malformed)
    every = {"slugs": None, "metro": None, "categories": None, "type": None}
    assert metal_catalogue.plans(client, {**every, "metro": "DA"})["plans"][0]["slug"] == "a"
    assert len(metal_catalogue.plans(client, every)["plans"]) == 2
    assert len(metal_catalogue.metros(client, {"codes": None})["metros"]) == 2
    assert len(metal_catalogue.operating_systems(client, {"slugs": None, "plan": None})["operating_systems"]) == 2


@pytest.mark.parametrize(
    ("item", "result"),
    [
        ({"id": "9", "type": "public_ipv4", "metro": {"code": "da"}}, "no tags for 9, which may be it"),
        ({"id": "9", "type": "public_ipv4", "tags": ["a"]}, "no metro for 9, which may be it"),
        ({"id": "9"}, "no metro and no tags and no type for 9"),
    ],
)
def test_a_block_that_may_be_it_is_not_ordered_again(item: dict[str, Any], result: str) -> None:
    with pytest.raises(CollectionError, match=result):
        block([item], tags=["a"], metro="da").find()
    assert block([{**item, "type": "global_ipv4"}], tags=["a"], metro="da").find() is None


def test_a_network_that_may_be_it_is_not_made_again() -> None:
    with pytest.raises(CollectionError, match="no vxlan for 9, which may be it"):
        vlan([{"id": "9", "metro_code": "da"}], vxlan=1000, metro="da").find()
    assert vlan([{"id": "9", "metro_code": "am"}], vxlan=1000, metro="da").find() is None
