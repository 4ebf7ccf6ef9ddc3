"""Networks and address blocks: which one is meant, and what may be it is not ordered again. And capacity."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, MetalError, ServerError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.capacity import (
    ask_capacity,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ip_reservation import (
    IP_RESERVATION_OPTIONS,
    IpReservation,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.vlan import VLAN_OPTIONS, Vlan
from tests.unit.plugins.module_utils.fake_client import FakeClient, Refused, options_of


def vlan(items: list[dict[str, Any]], **given: Any) -> Vlan:
    return Vlan(FakeClient({"projects/p/virtual-networks": items}), options_of(VLAN_OPTIONS, **given))


def block(items: list[dict[str, Any]], **given: Any) -> IpReservation:
    return IpReservation(FakeClient({"projects/p/ips": items}), options_of(IP_RESERVATION_OPTIONS, **given))


NETWORKS: list[dict[str, Any]] = [
    {"id": "1", "vxlan": 1000, "metro_code": "da", "description": "x", "tags": ["a", "b"], "instances": []},
    {"id": "2", "vxlan": 1000, "metro_code": "AM", "description": "x", "tags": ["a"], "instances": [{"href": "/devices/device-1"}]},
]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"vxlan": 1000, "metro": "da"}, "1"),
        ({"vxlan": 1000, "metro": "am"}, "2"),
        ({"tags": ["b", "a", "b"]}, "1"),
        ({"tags": ["b"]}, None),
        ({"tags": ["b"], "description": "x"}, "1"),
        ({"tags": ["a"]}, "2"),
        ({"tags": ["a"], "metro": "da"}, None),
        ({"tags": ["a"], "description": "y", "state": "absent"}, None),
        ({"tags": ["a"], "description": "x", "state": "absent"}, "2"),
        ({"tags": ["b"], "description": "x", "state": "absent"}, None),
        ({"description": "x", "tags": [], "metro": "am", "state": "absent"}, None),
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
    assert block(alike, tags=["a"], details="x", quantity=2, state="absent").find() is None
    for given in ({"details": "z"}, {"details": "y"}, {"quantity": 8}):
        with pytest.raises(CollectionError, match="blocks are IP reservation a"):
            block(alike, tags=["a"], **given).find()


def test_results_and_differences_have_no_customdata() -> None:
    current = {"id": "1", "type": "public_ipv4", "cidr": 30, "customdata": {"a": "secret"}}
    resource = block([current], details="x", customdata={"a": "secret"})
    assert "secret" not in str([resource.result(current), resource.desired(), resource.comparable(current)])


def test_a_pending_block_is_waited_for_and_a_denied_one_is_an_error() -> None:
    desired = block([], tags=["a"], quantity=4, metro="da")
    assert desired.pending({"state": "pending"})
    assert not desired.pending({"state": "created"})
    with pytest.raises(CollectionError, match="denied"):
        desired.pending({"state": "denied"})


ASKED = [{"plan": "c3.small.x86", "metro": "DA", "quantity": 2}]


class Refusing(FakeClient):
    """A service that answers each request with this status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self._status = status

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        raise Refused(self._status, "not here")


def test_a_service_without_the_question_is_no_reason_to_stop_unless_it_was_asked_for_that() -> None:
    assert ask_capacity(Refusing(501), ASKED, optional=True)[0]["available"] is None
    with pytest.raises(MetalError):
        ask_capacity(Refusing(501), ASKED)
    with pytest.raises(ServerError):
        ask_capacity(Refusing(500), ASKED, optional=True)


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
