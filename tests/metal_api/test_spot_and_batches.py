"""Spot instances and requests, batches of devices, termination times."""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from metal_api.core.database import SqliteDatabase
from tests.metal_api.conftest import Sandbox

SPOT = {"spot_instance": True, "spot_price_max": 0.5}
PARAMETERS = {"plan": "c3.small.x86", "operating_system": "custom_ipxe", "hostname": "s{{index}}"}


async def price(sandbox: Sandbox, usd: float) -> None:
    answer = await sandbox.control.put("/settings", json={"spot": {"metros": {"da": {"c3.small.x86": usd}}}})
    assert answer.status_code == 200, answer.text


async def test_a_bid_has_to_reach_the_price(sandbox: Sandbox) -> None:
    await price(sandbox, 0.2)
    body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "spot_instance": True}
    path = f"{sandbox.project}/devices"
    assert await sandbox.errors("POST", path, json=body) == ["Spot price max must be greater than 0"]
    low = {**body, "spot_price_max": 0.1}
    assert await sandbox.errors("POST", path, json=low) == ["Spot price max is below the current market price of 0.2"]
    made = await sandbox.create(**SPOT)
    assert (made["spot_instance"], made["spot_price_max"]) == (True, 0.5)
    found = (await sandbox.api.get(path, params={"type": "spot"})).json()
    assert found["meta"]["total"] == 1
    await sandbox.control.put("/settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 1}}}})
    gone = {**body, "spot_price_max": 1}
    assert await sandbox.errors("POST", path, json=gone) == ["No available servers with plan c3.small.x86 in facility da11"]


async def test_who_bids_less_is_evicted_with_notice(sandbox: Sandbox) -> None:
    poor, rich = await sandbox.active(**SPOT), await sandbox.active(spot_instance=True, spot_price_max=5)
    before = datetime.now(UTC)
    sandbox.world.clock.speed = 100
    await price(sandbox, 2)
    shown = await sandbox.device(poor["id"])
    notice = datetime.fromisoformat(shown["termination_time"]) - before
    assert timedelta(seconds=1) < notice <= timedelta(seconds=2.5)  # 120 s at a hundredfold speed, and up to the next whole second
    metadata = (await sandbox.api.get(f"/devices/{poor['id']}/metadata")).json()
    assert metadata["spot"] == {"termination_time": shown["termination_time"]}
    sandbox.world.clock.speed = 20_000
    await sandbox.until(lambda: sandbox.state(poor["id"]) == "gone")
    assert sandbox.state(rich["id"]) == "active"


async def test_a_termination_time_ends_a_machine(sandbox: Sandbox) -> None:
    moment = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    sandbox.world.clock.speed = 1
    early = await sandbox.create()
    kept = await sandbox.create(termination_time="2099-01-01T00:00:00")
    assert kept["termination_time"] == "2099-01-01T00:00:00Z"
    (id_,) = await sandbox.seed(1)
    for each in (early["id"], id_):
        answer = await sandbox.api.put(f"/devices/{each}", json={"termination_time": moment})
        assert answer.json()["termination_time"] == moment
    await sandbox.until(lambda: sandbox.state(id_) == sandbox.state(early["id"]) == "deprovisioning")
    sandbox.world.clock.speed = 20_000
    await sandbox.until(lambda: sandbox.state(id_) == sandbox.state(early["id"]) == "gone")
    assert sandbox.world.store["devices"][kept["id"]].termination_time
    past = {"termination_time": "2020-01-01T00:00:00Z"}
    assert await sandbox.errors("PUT", f"/devices/{kept['id']}", json=past) == ["Termination time must be in the future"]
    cleared = await sandbox.api.put(f"/devices/{kept['id']}", json={"termination_time": None})
    assert cleared.json()["termination_time"] is None


async def request(sandbox: Sandbox, **fields: Any) -> dict[str, Any]:
    body = {"devices_min": 2, "devices_max": 3, "max_bid_price": 0.5, "metro": "da", "instance_parameters": PARAMETERS, **fields}
    return await sandbox.post("spot-market-requests", body, include="devices,plan")


async def test_a_request_waits_for_price_and_stock(sandbox: Sandbox) -> None:
    await price(sandbox, 0.9)
    await sandbox.control.put("/settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 1}}}})
    made = await request(sandbox)
    assert (made["devices"], made["metro"]["code"], made["plan"]["slug"]) == ([], "da", "c3.small.x86")
    await price(sandbox, 0.4)
    assert len(sandbox.world.store["devices"]) == 0
    await sandbox.control.put("/settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 2}}}})
    path = f"/spot-market-requests/{made['id']}"
    shown = (await sandbox.api.get(path, params={"include": "devices"})).json()
    assert [(each["hostname"], each["spot_instance"], each["spot_price_max"]) for each in shown["devices"]] == [
        ("s01", True, 0.5),
        ("s02", True, 0.5),
    ]
    await sandbox.control.put("/settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 20}}}})
    assert len((await sandbox.api.get(path)).json()["devices"]) == 3
    assert (await sandbox.api.delete(path)).status_code == 204
    assert await sandbox.errors("GET", path, 404) == ["Not found"]
    assert len(sandbox.world.store["devices"]) == 3


async def batch(sandbox: Sandbox, **fields: Any) -> dict[str, Any]:
    body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", **fields}
    made: dict[str, Any] = (await sandbox.post("devices/batch", {"batches": [body]}))["batches"][0]
    return made


async def worked_off(sandbox: Sandbox, id_: str) -> dict[str, Any]:
    await sandbox.until(lambda: sandbox.world.store["device_batches"][id_].state not in {"queued", "in_progress"})
    found: dict[str, Any] = (await sandbox.api.get(f"/batches/{id_}", params={"include": "devices"})).json()
    return found


async def test_a_batch_is_worked_off_afterwards(sandbox: Sandbox) -> None:
    made = await batch(sandbox, quantity="3", hostname="b-{{index}}", hostnames=["first"], tags=["a"])
    assert (made["state"], made["devices"], made["quantity"]) == ("queued", [], 3)
    done = await worked_off(sandbox, made["id"])
    assert (done["state"], done["error_messages"]) == ("completed", [])
    assert [each["hostname"] for each in done["devices"]] == ["first", "b-02", "b-03"]
    path = f"/batches/{made['id']}?remove_associated_instances=true"
    sandbox.world.clock.speed = 1
    late = await sandbox.create()
    assert late["state"] == "queued"
    sandbox.world.clock.speed = 20_000
    await sandbox.until(lambda: {each.state for each in sandbox.world.store["devices"]} == {"active"})
    assert (await sandbox.api.delete(path)).status_code == 204
    await sandbox.until(lambda: [each.id for each in sandbox.world.store["devices"]] == [late["id"]])


async def test_a_batch_that_cannot_be_met_fails_and_says_why(sandbox: Sandbox) -> None:
    await sandbox.control.put("/settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 2}}}})
    done = await worked_off(sandbox, (await batch(sandbox, quantity=4))["id"])
    assert (done["state"], len(done["devices"]), done["error_messages"]) == (
        "failed",
        2,
        ["There aren't available servers in that metro"],
    )
    path = f"{sandbox.project}/devices/batch"
    assert await sandbox.errors("POST", path, json={}) == ["Batches can't be blank"]
    assert await sandbox.errors("POST", path, json={"batches": [{"quantity": 0}]}) == ["Quantity must be between 1 and 1000"]
    assert await sandbox.errors("POST", path, json={"batches": [{"quantity": 1, "plan": "x", "operating_system": "ubuntu_24_04"}]}) == [
        "x is not a valid plan"
    ]


LONG = f"#!/bin/sh\n{'#' * 100_000}"


async def test_a_batch_has_no_long_hostnames(sandbox: Sandbox) -> None:
    """Also of reserved hardware, whose orders were not validated: each of a thousand names could have megabytes."""
    order = {"quantity": 1000, "hardware_reservation_id": "next-available", "hostname": f"{'b' * 100_000}{{{{index}}}}"}
    assert await sandbox.refused("devices/batch", {"batches": [order]}) == ["Hostname is invalid"]


async def test_a_change_that_is_too_large_is_no_outage(sandbox: Sandbox) -> None:
    """Each such request cancelled the operations of all devices and was answered with 503, so clients tried again."""
    database = sandbox.world.store.database
    assert isinstance(database, SqliteDatabase)
    sandbox.world.store.failed = lambda: pytest.fail("operations are cancelled")
    database.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 50_000)
    texts = await sandbox.errors("PUT", sandbox.project, json={"customdata": {"long": LONG}})
    assert texts == ["The change is too large for the database: string or blob too big"]
    assert database.is_up
    assert (await sandbox.api.get(sandbox.project)).json()["customdata"] == {}
    await sandbox.active()
