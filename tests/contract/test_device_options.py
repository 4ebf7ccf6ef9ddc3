"""Every option of a device: set at creation, changed where the API can, and idempotent."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract.environment import Metal
from tests.contract.scenario import TAGS, WAIT, machine


def moment(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


ENDS = moment(30)
AT_CREATION: dict[str, Any] = {
    "description": "contract",
    "billing_cycle": "daily",
    "customdata": {"a": [1, {"b": None}]},
    "locked": True,
    "always_pxe": True,
    "network_frozen": True,
    "features": {"tpm": "preferred"},
    "storage": {"disks": [{"device": "/dev/sda", "wipeTable": True}]},
    "no_ssh_keys": True,
    "ip_addresses": [{"address_family": 4, "public": False, "cidr": 28}, {"address_family": 6, "public": True}],
    "termination_time": ENDS,
}
CHANGED: dict[str, Any] = {
    "description": "other contract",
    "billing_cycle": "monthly",
    "customdata": {},
    "locked": False,
    "always_pxe": False,
    "network_frozen": False,
    "termination_time": moment(60),
}


@pytest.fixture
def kept(metal: Metal) -> Iterator[dict[str, Any]]:
    """Options under which a device may be made; it is deleted afterwards."""
    options = {**machine(1), "ownership_tags": TAGS, **WAIT}
    yield options
    unlocked = metal.run("metal_device", {**options, "locked": False})
    assert not unlocked.get("failed"), unlocked
    gone = metal.run("metal_device", {"id": unlocked["device"]["id"], "state": "absent", **WAIT})
    assert gone["changed"]


def test_a_device_takes_all_options_at_creation(kept: dict[str, Any], metal: Metal) -> None:
    order = {**kept, **AT_CREATION}
    made = metal.run("metal_device", order)
    assert not made.get("failed"), made
    real = metal.call("GET", f"devices/{made['device']['id']}")
    for name in set(AT_CREATION) - {"features", "no_ssh_keys", "ip_addresses"}:
        assert real[name] == AT_CREATION[name], name
    assert real["ssh_keys"] == []
    assert {(each["address_family"], each["public"]): each["cidr"] for each in real["ip_addresses"]} == {(4, False): 28, (6, True): 127}
    metal.sandbox.forget()
    assert not metal.run("metal_device", order)["changed"]

    changed = metal.run("metal_device", {**order, **CHANGED})
    assert not changed.get("failed"), changed
    real = metal.call("GET", f"devices/{made['device']['id']}")
    for name, value in CHANGED.items():
        assert real[name] == value, name
    assert [each["method"] for each in metal.sandbox.journal() if each["method"] != "GET"] == ["PUT"]
    assert not metal.run("metal_device", {**order, **CHANGED})["changed"]


EMPTY: dict[str, Any] = {
    "description": "",
    "customdata": {},
    "userdata": "",
    "ipxe_script_url": "",
    "tags": [],
    "termination_time": "",
    "hardware_reservation_id": "",
}


def test_empty_options_clear_attributes(kept: dict[str, Any], metal: Metal) -> None:
    filled = {
        "description": "contract",
        "customdata": {"a": 1},
        "userdata": "#cloud-config\n",
        "ipxe_script_url": "http://192.0.2.1/x.ipxe",
        "tags": ["contract"],
        "termination_time": ENDS,
    }
    made = metal.run("metal_device", {**kept, **filled})
    assert not made.get("failed"), made
    order = {**kept, **EMPTY, "_ansible_diff": True}
    predicted = metal.run("metal_device", {**order, "_ansible_check_mode": True})
    emptied = metal.run("metal_device", order)
    assert emptied["changed"], emptied
    assert predicted["diff"] == emptied["diff"]
    assert predicted["device"]["termination_time"] is emptied["device"]["termination_time"] is None
    real = metal.call("GET", f"devices/{made['device']['id']}")
    assert not any(real[name] for name in set(EMPTY) - {"tags", "hardware_reservation_id"})
    assert sorted(real["tags"]) == sorted(TAGS)
    assert not metal.run("metal_device", order)["changed"]
    machines = {"machines": [{**machine(1), **EMPTY}], "ownership_tags": TAGS, **WAIT}
    assert not metal.run("metal_device_set", machines)["changed"]


def test_a_device_is_ordered_in_one_of_several_metros(kept: dict[str, Any], metal: Metal) -> None:
    kept["metro"] = ["NY", "sv"]
    metal.sandbox.call("PUT", "settings", json={"capacity": {"metros": {"ny": {"c3.small.x86": 0}}}})
    try:
        made = metal.run("metal_device", kept)
    finally:
        metal.sandbox.call("PUT", "settings", json={"capacity": {"metros": {"ny": None}}})
    assert not made.get("failed"), made
    assert made["device"]["metro"] == "sv"
    for metro in (["NY", "sv"], ["sv"], "SV", "ny,sv", ["da", "any"], "any"):
        again = metal.run("metal_device", {**kept, "metro": metro})
        assert again.get("changed") is False, again
    result = metal.run("metal_device", {**kept, "metro": ["da", "ny"]})
    assert "metro is 'sv', desired is ['da', 'ny']" in result["msg"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"metro": "ny"}, "a device keeps its place"),
        ({"operating_system": "debian_12"}, "operation=reinstall"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_a_changed_immutable_option_is_an_error(given: dict[str, Any], text: str, kept: dict[str, Any], metal: Metal) -> None:
    made = metal.run("metal_device", {**kept, "termination_time": ENDS})
    assert not made.get("failed"), made
    metal.sandbox.forget()
    result = metal.run("metal_device", {**kept, **given})
    assert text in result["msg"]
    left = metal.run("metal_device", {**kept, **given, "on_drift": "ignore"})
    assert not left["changed"]
    assert "is not changed" in str(left["warnings"])
    assert all(each["method"] == "GET" for each in metal.sandbox.journal())


def test_option_aliases_of_other_collections_are_accepted(kept: dict[str, Any], metal: Metal) -> None:
    own = {name: value for name, value in kept.items() if name not in {"wait_timeout", "hostname"}}
    order = {**own, "name": kept["hostname"], "provisioning_wait_seconds": 60, "user_data": "#cloud-config\n", "lock": True}
    made = metal.run("metal_device", order)
    assert not made.get("failed"), made
    real = metal.call("GET", f"devices/{made['device']['id']}")
    assert (real["hostname"], real["userdata"], real["locked"]) == (kept["hostname"], "#cloud-config\n", True)
    found = metal.run("metal_device", {"device_id": made["device"]["id"], "lock": True})
    assert not found["changed"]


def test_deleting_a_locked_device_is_one_error(kept: dict[str, Any], metal: Metal) -> None:
    made = metal.run("metal_device", {**kept, "locked": True})
    metal.sandbox.forget()
    for given in ({}, {"force_delete": True}, {"_ansible_check_mode": True}):
        result = metal.run("metal_device", {"id": made["device"]["id"], "state": "absent", **given})
        assert result["failed"]
        assert "it is locked. Unlock it first (state=present, locked=false)" in result["msg"]
    assert [each["method"] for each in metal.sandbox.journal()] == ["GET"] * 3


def test_force_delete_detaches_storage(metal: Metal) -> None:
    made = metal.run("metal_device", {**machine(1), "ownership_tags": TAGS, **WAIT})
    metal.sandbox.forget()
    gone = metal.run("metal_device", {"id": made["device"]["id"], "state": "absent", "force_delete": True, **WAIT})
    assert gone["changed"]
    (deletion,) = [each for each in metal.sandbox.journal() if each["method"] == "DELETE"]
    assert deletion["path"].endswith("?force_delete=true")
    assert deletion["status"] == 204
    # It came back when the device was gone.
    assert metal.sandbox.journal()[-1]["status"] == 404
