"""Reserved hardware, which is only read."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.hardware_reservation import find_hardware_reservations
from tests.unit.plugins.module_utils.fake_client import FakeClient

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
