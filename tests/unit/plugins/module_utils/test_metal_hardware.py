"""Reserved hardware, which only moves."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.hardware_reservation import (
    HARDWARE_RESERVATION_OPTIONS,
    HardwareReservation,
    find_hardware_reservations,
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


def hardware(**fields: Any) -> tuple[HardwareReservation, dict[str, Any]]:
    """A reservation that is to be in the project p."""
    found = {"id": "r", "provisionable": True, "device": None, "project": {"href": "/metal/v1/projects/q"}, **fields}
    params = options_of(HARDWARE_RESERVATION_OPTIONS, id="r")
    return HardwareReservation(FakeClient({"hardware-reservations/r": found}), params), found


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
        HardwareReservation(FakeClient({}), params).find()
    with pytest.raises(CollectionError, match="set project_id"):
        HardwareReservation(FakeClient({}), {**params, "project_id": None}).find()
