"""Drift of immutable attributes: an error, ignored or replaced, as the user chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call, run
from tests.contract.scenario import TAGS, WAIT, machine

OTHER = {**machine(1, plan="m3.large.x86", tags=["new"]), "ownership_tags": TAGS, **WAIT}


@pytest.fixture
def device(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[dict[str, Any]]:
    made = run("metal_device", {**machine(1), "ownership_tags": TAGS, **WAIT}, sandbox_environment)
    assert not made.get("failed"), made
    sandbox.forget()
    yield made["device"]
    run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", **WAIT}, sandbox_environment)


def writes(sandbox: RunningSandbox) -> list[str]:
    return [each["method"] for each in sandbox.journal() if each["method"] != "GET" and "/capacity" not in each["path"]]


def test_a_drifted_device_fails_by_default(device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    result = run("metal_device", OTHER, sandbox_environment)
    assert "plan is 'c3.small.x86', desired is 'm3.large.x86'" in result["msg"]
    assert writes(sandbox) == []


def test_a_drifted_device_is_ignored_and_other_changes_are_made(
    device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    left = run("metal_device", {**OTHER, "on_drift": "ignore"}, sandbox_environment)
    assert left["changed"]
    assert left["device"]["plan"] == "c3.small.x86"
    assert left["device"]["id"] == device["id"]
    assert "is not changed (on_drift=ignore)" in str(left["warnings"])
    machines = {"machines": [machine(1, plan="m3.large.x86")], "ownership_tags": TAGS, "on_drift": "ignore", **WAIT}
    again = run("metal_device_set", machines, sandbox_environment)
    assert not again.get("failed"), again
    assert not again["changed"]


def test_a_drifted_device_is_replaced_once(device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    order = {**OTHER, "on_drift": "replace"}
    predicted = run("metal_device", {**order, "_ansible_check_mode": True, "_ansible_diff": True}, sandbox_environment)
    assert predicted["changed"]
    assert writes(sandbox) == []
    replaced = run("metal_device", {**order, "_ansible_diff": True}, sandbox_environment)
    assert not replaced.get("failed"), replaced
    assert replaced["device"]["plan"] == "m3.large.x86"
    assert replaced["device"]["id"] != device["id"]
    assert replaced["diff"] == predicted["diff"]
    assert writes(sandbox) == ["DELETE", "POST"]
    assert not run("metal_device", order, sandbox_environment)["changed"]


def test_a_replacement_is_ordered_only_after_the_deletion_began(
    device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    sandbox.call("POST", "faults", json={"method": "DELETE", "path": "/devices/", "status": 200, "body": "", "times": 1})
    replaced = run("metal_device", {**OTHER, "on_drift": "replace"}, sandbox_environment)
    assert not replaced.get("failed"), replaced
    assert writes(sandbox) == ["DELETE", "DELETE", "POST"]
    gone = run("metal_device_info", {"ids": [device["id"]]}, sandbox_environment)
    assert gone.get("failed") or gone["devices"][0]["state"] == "deprovisioning"


def test_a_drifted_device_is_kept_without_capacity_for_its_replacement(
    device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": {"m3.large.x86": 0}}}})
    try:
        kept = run("metal_device", {**OTHER, "on_drift": "replace"}, sandbox_environment)
    finally:
        sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": None}}})
    assert "Cannot replace device" in kept["msg"]
    by_id = run("metal_device", {**OTHER, "id": device["id"], "on_drift": "replace"}, sandbox_environment)
    assert "its replacement has another id" in by_id["msg"]
    assert writes(sandbox) == []


def test_a_locked_device_is_not_replaced(device: dict[str, Any], sandbox_environment: dict[str, str]) -> None:
    run("metal_device", {"id": device["id"], "locked": True}, sandbox_environment)
    kept = run("metal_device", {**OTHER, "on_drift": "replace"}, sandbox_environment)
    assert "it is locked" in kept["msg"]
    run("metal_device", {"id": device["id"], "locked": False}, sandbox_environment)


def test_another_project_is_an_error(device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    """What the task says counts; the project that is in the environment is that of everything, also of what is given by its id."""
    other = call(sandbox, "POST", "projects", {"name": "contract-other"})["id"]
    try:
        sandbox.forget()
        by_id = {"id": device["id"], "locked": False}
        result = run("metal_device", {**by_id, "project_id": other}, sandbox_environment)
        assert f"project_id is '{device['project_id']}', desired is '{other}'; a device keeps its project" in result["msg"]
        left = run("metal_device", {**by_id, "project_id": other, "on_drift": "ignore"}, sandbox_environment)
        assert not left["changed"]
        assert "project_id is" in str(left["warnings"])
        for given, around in (({"project_id": device["project_id"]}, other), ({}, other), ({}, "")):
            unchanged = run("metal_device", {**by_id, **given}, {**sandbox_environment, "METAL_PROJECT_ID": around})
            assert (unchanged.get("changed"), unchanged.get("warnings")) == (False, None), unchanged
        assert writes(sandbox) == []
    finally:
        call(sandbox, "DELETE", f"projects/{other}")
