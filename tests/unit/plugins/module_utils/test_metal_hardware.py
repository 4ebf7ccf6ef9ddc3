"""Reserved hardware, which only moves; spot prices; and requests of the spot market, which have no name to be known by."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.spot_market_request import (
    SPOT_MARKET_REQUEST_OPTIONS,
    SpotMarketRequest,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.hardware_reservation import (
    HARDWARE_RESERVATION_OPTIONS,
    HardwareReservation,
    find_hardware_reservations,
    spot_prices,
)
from tests.unit.plugins.module_utils.fake_client import FakeClient, options_of

HARDWARE: list[dict[str, Any]] = [
    {"id": "2", "plan": {"slug": "a"}, "facility": {"metro": {"code": "DA"}}, "provisionable": True, "device": None},
    {"id": "1", "plan": {"slug": "a"}, "facility": {"href": "/f"}, "provisionable": False, "device": {"href": "/metal/v1/devices/d"}},
    {"id": "3", "plan": None},
]


@pytest.mark.parametrize(
    ("given", "ids"),
    [({}, ["1", "2", "3"]), ({"metro": "Da"}, ["2"]), ({"provisionable": False, "plan": "a"}, ["1"]), ({"ids": ["3"]}, ["3"])],
)
def test_reserved_hardware_is_chosen(given: dict[str, Any], ids: list[str]) -> None:
    params = {"project_id": "p", "ids": None, "plan": None, "metro": None, "provisionable": None, **given}
    found = find_hardware_reservations(FakeClient({"projects/p/hardware-reservations": HARDWARE}), params)
    assert [each["id"] for each in found["hardware_reservations"]] == ids


def test_plans_are_sorted_by_price_without_malformed_prices() -> None:
    result = {"da": {"a": {"price": 0.5}, "b": {"price": None}}, "am": {"a": {"price": 0.2}, "b": 7}, "sv": None}
    found = spot_prices(FakeClient({"market/spot/prices/metros": {"spot_market_prices": result}}), {"plan": "a", "metro": None})
    assert [(each["metro"], each["price_per_hour"]) for each in found["spot_prices"]] == [("am", 0.2), ("da", 0.5)]
    assert spot_prices(FakeClient({"market/spot/prices/metros": {}}), {"plan": None, "metro": None}) == {"spot_prices": []}


class Api(FakeClient):
    """Objects by their paths, in lists without plans and devices."""

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if path.startswith("projects/p/"):
            return [{"id": each["id"], "metro": each["metro"]} for each in self.answers.values()]
        return super().answer(method, path, body, params)


def hardware(**fields: Any) -> tuple[HardwareReservation, dict[str, Any]]:
    """A reservation that is to be in the project p."""
    found = {"id": "r", "provisionable": True, "device": None, "project": {"href": "/metal/v1/projects/q"}, **fields}
    params = options_of(HARDWARE_RESERVATION_OPTIONS, id="r")
    return HardwareReservation(Api({"hardware-reservations/r": found}), params), found


@pytest.mark.parametrize("device", [{"id": "d", "hostname": "worker-0", "state": "active"}, {"href": "/metal/v1/devices/d"}])
def test_hardware_in_use_is_not_moved_and_the_error_names_the_device(device: dict[str, Any]) -> None:
    resource, found = hardware(device=device, provisionable=False)
    for attempt in (resource.blockers, resource.predict):
        with pytest.raises(CollectionError, match=r"in use by device (worker-0 )?d\. Delete the device first"):
            attempt(found, resource.desired())


def test_hardware_that_cannot_be_seen_is_an_error() -> None:
    resource, _found = hardware(project=None)
    with pytest.raises(CollectionError, match="returned no project"):
        resource.find()
    params = options_of(HARDWARE_RESERVATION_OPTIONS, id="unknown")
    with pytest.raises(CollectionError, match="ordered at the vendor, not by this API"):
        HardwareReservation(Api({}), params).find()
    with pytest.raises(CollectionError, match="set project_id"):
        HardwareReservation(Api({}), {**params, "project_id": None}).find()


def bid(identity: str, plan: str | None = "a", metro: str = "da", **fields: Any) -> dict[str, Any]:
    numbers: dict[str, Any] = {"devices_min": 1, "devices_max": 2, "max_bid_price": 0.5, "end_at": None, "devices": []}
    return {"id": identity, "metro": {"code": metro}, "plan": plan and {"id": f"id-of-{plan}", "slug": plan}, **numbers, **fields}


def request(bids: list[dict[str, Any]], **given: Any) -> SpotMarketRequest:
    parameters = dict.fromkeys(SPOT_MARKET_REQUEST_OPTIONS.argument_spec["instance_parameters"]["options"])
    params = {
        **options_of(SPOT_MARKET_REQUEST_OPTIONS),
        "metro": "DA",
        "instance_parameters": {**parameters, "plan": "a", "operating_system": "ubuntu_24_04"},
        **given,
    }
    api = Api({f"spot-market-requests/{each['id']}": each for each in bids})
    return SpotMarketRequest(api, params)


TWO = [bid("1"), bid("2", max_bid_price=0.7)]


@pytest.mark.parametrize(
    ("bids", "given", "found"),
    [
        ([], {}, None),
        ([bid("1", metro="am"), bid("2", plan="b")], {}, None),
        ([bid("1", metro="am"), bid("2")], {}, "2"),
        (TWO, {"max_bid_price": 0.7}, "2"),
        # Other numbers are a difference, unless it is to be another request beside it.
        ([bid("1")], {"max_bid_price": 0.7}, "1"),
        ([bid("1")], {"max_bid_price": 0.7, "allow_multiple": True}, None),
        # A plan that is not listed is that of the devices, or the listed ones have to fit.
        ([bid("1", plan=None, devices=[{"id": "d", "plan": {"slug": "b"}}])], {}, None),
        ([bid("1", plan=None)], {"devices_min": 1, "devices_max": 2}, "1"),
    ],
)
def test_a_request_is_known_by_its_plan_and_metro_and_told_apart_by_its_numbers(
    bids: list[dict[str, Any]], given: dict[str, Any], found: str | None
) -> None:
    assert (request(bids, **given).find() or {}).get("id") == found


@pytest.mark.parametrize(
    ("bids", "given", "text"),
    [
        (TWO, {}, "2 requests are spot market request for a in DA: 1, 2"),
        ([bid("1", plan=None)], {"devices_max": 3}, "returned no plan or metro for 1, which may be it"),
        ([], {"id": "unknown"}, "spot market request unknown does not exist"),
    ],
)
def test_a_request_is_never_guessed(bids: list[dict[str, Any]], given: dict[str, Any], text: str) -> None:
    with pytest.raises(CollectionError, match=text):
        request(bids, **given).find()


def test_the_result_of_a_request_has_no_userdata() -> None:
    device = {"id": "d", "hostname": "s", "state": "active", "userdata": "secret", "root_password": "secret"}
    resource = request([bid("1", devices=[device])])
    assert "secret" not in str(resource.find())
    assert resource.result(resource.find() or {})["devices"] == [{"id": "d", "hostname": "s", "state": "active"}]


def test_what_a_request_waits_for() -> None:
    resource = request([])
    assert resource.pending(bid("1")) == [
        "spot market request for a in DA has none of at least 1 devices: the price is too low, or there is no capacity"
    ]
    queued = {"id": "d", "hostname": "s", "state": "queued"}
    assert resource.pending(bid("1", devices=[queued])) == [
        "spot market request for a in DA has 0 of at least 1 devices",
        "s is queued",
    ]
    assert resource.pending(bid("1", devices=[{**queued, "state": "active"}])) == []
    with pytest.raises(CollectionError, match="ended at 2020-01-01T00:00:00Z without its devices"):
        resource.pending(bid("1", end_at="2020-01-01T00:00:00Z"))


def test_all_missing_options_of_a_request_are_reported_at_once() -> None:
    with pytest.raises(CollectionError, match=r"4 problems.*devices_min.*devices_max.*max_bid_price.*operating_system"):
        request([], instance_parameters={"plan": "a"}).check_creation()
    with pytest.raises(CollectionError, match=r"devices_min must be 1 to devices_max \(2\), not 3"):
        request([], devices_min=3, devices_max=2, max_bid_price=1).check_creation()
