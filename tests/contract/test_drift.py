"""Drift of immutable attributes: an error, ignored or replaced, as the user chooses."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import Metal, run
from tests.contract.scenario import TAGS, WAIT, machine

OTHER = {**machine(1, plan="m3.large.x86", tags=["new"]), "ownership_tags": TAGS, **WAIT}


@pytest.fixture
def device(metal: Metal) -> Iterator[dict[str, Any]]:
    made = metal.run("metal_device", {**machine(1), "ownership_tags": TAGS, **WAIT})
    assert not made.get("failed"), made
    metal.sandbox.forget()
    yield made["device"]
    metal.run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", **WAIT})


def writes(sandbox: RunningSandbox) -> list[str]:
    return [each["method"] for each in sandbox.journal() if each["method"] != "GET" and "/capacity" not in each["path"]]


def test_a_drifted_device_is_ignored_and_other_changes_are_made(device: dict[str, Any], metal: Metal) -> None:
    left = metal.run("metal_device", {**OTHER, "on_drift": "ignore"})
    assert left["changed"]
    assert left["device"]["plan"] == "c3.small.x86"
    assert left["device"]["id"] == device["id"]
    assert "is not changed (on_drift=ignore)" in str(left["warnings"])
    machines = {"machines": [machine(1, plan="m3.large.x86")], "ownership_tags": TAGS, "on_drift": "ignore", **WAIT}
    again = metal.run("metal_device_set", machines)
    assert not again.get("failed"), again
    assert not again["changed"]


def test_a_drifted_device_is_replaced_once(device: dict[str, Any], metal: Metal) -> None:
    order = {**OTHER, "on_drift": "replace"}
    predicted = metal.run("metal_device", {**order, "_ansible_check_mode": True, "_ansible_diff": True})
    assert predicted["changed"]
    assert writes(metal.sandbox) == []
    replaced = metal.run("metal_device", {**order, "_ansible_diff": True})
    assert not replaced.get("failed"), replaced
    assert replaced["device"]["plan"] == "m3.large.x86"
    assert replaced["device"]["id"] != device["id"]
    assert replaced["diff"] == predicted["diff"]
    assert writes(metal.sandbox) == ["DELETE", "POST"]
    assert not metal.run("metal_device", order)["changed"]


def test_a_replacement_is_ordered_only_after_the_deletion_began(device: dict[str, Any], metal: Metal) -> None:
    metal.sandbox.call("POST", "faults", json={"method": "DELETE", "path": "/devices/", "status": 200, "body": "", "times": 1})
    replaced = metal.run("metal_device", {**OTHER, "on_drift": "replace"})
    assert not replaced.get("failed"), replaced
    assert writes(metal.sandbox) == ["DELETE", "DELETE", "POST"]
    gone = metal.run("metal_device_info", {"ids": [device["id"]]})
    assert gone.get("failed") or gone["devices"][0]["state"] == "deprovisioning"


def test_a_drifted_device_is_kept_without_capacity_for_its_replacement(device: dict[str, Any], metal: Metal) -> None:
    metal.sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": {"m3.large.x86": 0}}}})
    try:
        kept = metal.run("metal_device", {**OTHER, "on_drift": "replace"})
    finally:
        metal.sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": None}}})
    assert "Cannot replace device" in kept["msg"]
    by_id = metal.run("metal_device", {**OTHER, "id": device["id"], "on_drift": "replace"})
    assert "its replacement has another id" in by_id["msg"]
    assert writes(metal.sandbox) == []


def test_a_locked_device_is_not_replaced(device: dict[str, Any], metal: Metal) -> None:
    metal.run("metal_device", {"id": device["id"], "locked": True})
    kept = metal.run("metal_device", {**OTHER, "on_drift": "replace"})
    assert "it is locked" in kept["msg"]
    metal.run("metal_device", {"id": device["id"], "locked": False})


def test_another_project_is_an_error(device: dict[str, Any], metal: Metal) -> None:
    """What the task says counts; the project that is in the environment is that of everything, also of what is given by its id."""
    other = metal.call("POST", "projects", {"name": "contract-other"})["id"]
    try:
        metal.sandbox.forget()
        by_id = {"id": device["id"], "locked": False}
        result = metal.run("metal_device", {**by_id, "project_id": other})
        assert f"project_id is '{device['project_id']}', desired is '{other}'; a device keeps its project" in result["msg"]
        left = metal.run("metal_device", {**by_id, "project_id": other, "on_drift": "ignore"})
        assert not left["changed"]
        assert "project_id is" in str(left["warnings"])
        unchanged = run("metal_device", by_id, {**metal.environment, "METAL_PROJECT_ID": other})
        assert (unchanged.get("changed"), unchanged.get("warnings")) == (False, None), unchanged
        assert writes(metal.sandbox) == []
    finally:
        metal.call("DELETE", f"projects/{other}")
