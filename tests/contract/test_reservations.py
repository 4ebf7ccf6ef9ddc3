"""A module waits for a hardware reservation that is being released."""

from tests.contract.environment import Metal
from tests.contract.scenario import TAGS, WAIT, machine


def test_a_device_waits_for_a_reservation_that_is_being_released(metal: Metal) -> None:
    # No API takes a reservation away again, and this one takes three seconds to be wiped.
    (reservation,) = metal.sandbox.call("POST", "hardware_reservations", json={"metro": "am"})["ids"]
    metal.sandbox.call("PUT", "settings", json={"durations": {"reservation_wipe": 10800}})
    order = {**machine(1), "metro": "am", "hardware_reservation_id": "next-available", "ownership_tags": TAGS}
    first = {**order, "hostname": "first.contract.metal.test"}
    try:
        assert metal.run("metal_device", {**first, **WAIT})["device"]["hardware_reservation_id"] == reservation
        assert metal.run("metal_device", {**first, "state": "absent", "wait": False})["changed"]
        refused = metal.run("metal_device", {**order, "wait": False})
        assert "which is being freed: use wait=true" in refused["msg"]
        assert not refused["changed"]
        assert metal.run("metal_device", {**order, **WAIT})["device"]["hardware_reservation_id"] == reservation
        assert not metal.run("metal_device", {**order, **WAIT})["changed"]
    finally:
        metal.sandbox.call("PUT", "settings", json={"durations": {"reservation_wipe": 180}})
        metal.run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", **WAIT})
