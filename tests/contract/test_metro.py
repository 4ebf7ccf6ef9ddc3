"""The option metro of every module that lists: case-insensitive, and an empty text, as of a variable that is not set, lists all metros."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.environment import Metal
from tests.contract.scenario import WAIT

OBJECTS: dict[str, dict[str, Any]] = {
    "metal_vlan": {"metro": "DA", "description": "metro"},
    "metal_ip_reservation": {"metro": "DA", "quantity": 1, "details": "metro", **WAIT},
    "metal_vrf": {"metro": "DA", "name": "metro", "ip_ranges": ["192.168.101.0/24"]},
}


@pytest.mark.parametrize("module", OBJECTS)
def test_an_object_is_listed(module: str, metal: Metal) -> None:
    made = metal.run(module, OBJECTS[module])
    (created,) = (value for value in made.values() if isinstance(value, dict) and "metro" in value)
    listings = {metro: metal.run(f"{module}_info", {"metro": metro}) for metro in ("", "DA", "am")}
    metal.run(module, {"id": created["id"], "state": "absent"})
    assert [created["id"] in str(listings[metro]) for metro in ("", "DA", "am")] == [True, True, False]


def test_what_is_offered_is_listed(metal: Metal) -> None:
    listings = [metal.run("metal_plan_info", {"metro": metro}) for metro in ("", "DA")]
    assert all(any(isinstance(value, list) and value for value in listing.values()) for listing in listings)
