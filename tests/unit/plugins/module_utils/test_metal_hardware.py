"""Reserved hardware and spot prices as they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_hardware_reservation import (
    find_hardware_reservations,
    spot_prices,
)


class Answers:
    """A client with one list and one object."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def read_list(self, path: str, key: str, *, doing: str, params: Mapping[str, Any] | None = None) -> Any:
        assert path == "projects/p/hardware-reservations"
        return self._found

    def read(self, path: str, *, doing: str, params: Mapping[str, Any] | None = None) -> Any:
        return self._found


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
    found = find_hardware_reservations(Answers(HARDWARE), params)  # type: ignore[arg-type]  # a client in all that is used
    assert [each["id"] for each in found["hardware_reservations"]] == ids


def test_the_cheapest_comes_first_and_odd_prices_are_left_out() -> None:
    told = {"da": {"a": {"price": 0.5}, "b": {"price": None}}, "am": {"a": {"price": 0.2}, "b": 7}, "sv": None}
    found = spot_prices(Answers({"spot_market_prices": told}), {"plan": "a", "metro": None})  # type: ignore[arg-type]  # a client in all that is used
    assert [(each["metro"], each["price_per_hour"]) for each in found["spot_prices"]] == [("am", 0.2), ("da", 0.5)]
    assert spot_prices(Answers({}), {"plan": None, "metro": None}) == {"spot_prices": []}  # type: ignore[arg-type]  # a client in all that is used
