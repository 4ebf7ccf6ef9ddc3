"""Hardware reservations: a module waits for one that is being released, and fails for one in use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.live_output import FILE_VARIABLE, Reader
from sandbox.testing.process import RunningSandbox
from tests.contract.environment import Metal, run
from tests.contract.scenario import TAGS, WAIT, machine

RESERVED = {key: value for key, value in machine(1).items() if key != "hostname"} | {
    "hardware_reservation_id": "next-available",
    "metro": "am",
}
OURS = {"ownership_tags": TAGS}


@pytest.fixture(scope="module")
def reservation(sandbox_process: RunningSandbox) -> str:
    """One reserved machine in Amsterdam. No API takes it away again."""
    made = sandbox_process.call("POST", "hardware_reservations", json={"metro": "am"})
    return str(made["ids"][0])


@pytest.fixture
def device(reservation: str, metal: Metal) -> Iterator[dict[str, Any]]:
    """A device on the reservation, which takes three seconds to be wiped."""
    metal.sandbox.call("PUT", "settings", json={"durations": {"reservation_wipe": 10800}})
    made = metal.run("metal_device", {**RESERVED, **OURS, "hostname": "first.contract.metal.test", **WAIT})
    assert not made.get("failed"), made
    assert made["device"]["hardware_reservation_id"] == reservation
    yield made
    metal.sandbox.call("PUT", "settings", json={"durations": {"reservation_wipe": 180}})
    metal.run("metal_device_set", {**OURS, "all_owned": True, "state": "absent", **WAIT})


def leave(environment: dict[str, str]) -> None:
    gone = run("metal_device", {**OURS, "hostname": "first.contract.metal.test", "state": "absent", "wait": False}, environment)
    assert gone["changed"], gone


def test_a_device_waits_for_a_reservation_that_is_being_released(device: dict[str, Any], metal: Metal) -> None:
    leave(metal.environment)
    order = {**RESERVED, **OURS, "hostname": "second.contract.metal.test"}
    refused = metal.run("metal_device", {**order, "wait": False})
    assert "which is being freed: use wait=true" in refused["msg"]
    assert not refused["changed"]
    waited = metal.run("metal_device", {**order, **WAIT})
    assert not waited.get("failed"), waited
    assert waited["device"]["hardware_reservation_id"] == device["device"]["hardware_reservation_id"]
    assert not metal.run("metal_device", {**order, **WAIT})["changed"]


def test_a_set_waits_for_a_reservation_and_orders_once(device: dict[str, Any], metal: Metal, tmp_path: Path) -> None:
    leave(metal.environment)
    order = {**OURS, "machines": [{**RESERVED, "hostname": "second.contract.metal.test"}], **WAIT, "progress_interval": 0.5}
    progress = tmp_path / "progress"
    progress.touch()
    result = run("metal_device_set", order, {**metal.environment, FILE_VARIABLE: str(progress)})
    assert not result.get("failed"), result
    entries = list(Reader(progress).new_entries())
    assert any("waits for hardware reservation" in text for entry in entries for text in entry["pending"]), entries
    assert entries[-1] == {"pending": [], "stages": {"second.contract.metal.test": "active"}}
    assert result["outcomes"]["second.contract.metal.test"]["action"] == "created"
    assert result["changed"]


def test_a_reservation_in_use_fails_at_once(device: dict[str, Any], metal: Metal) -> None:
    result = metal.run("metal_device", {**RESERVED, **OURS, "hostname": "second.contract.metal.test", **WAIT})
    assert "no available hardware reservations" in result["msg"]
    assert result["failure"]["request_id"]
