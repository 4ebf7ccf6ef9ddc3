"""What the service does by choice: approval, reads that are behind, servers that are gone when they are ordered, limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.metal_api.conftest import Sandbox


async def set_to(sandbox: Sandbox, **settings: Any) -> None:
    answer = await sandbox.control.put("/settings", json=settings)
    assert answer.status_code == 200, answer.text


async def ask(sandbox: Sandbox, quantity: int, **fields: Any) -> dict[str, Any]:
    body = {"type": "public_ipv4", "quantity": quantity, "metro": "da", **fields}
    return await sandbox.post("ips", body)


@pytest.mark.parametrize(("approved", "state"), [(True, "created"), (False, "denied")])
async def test_a_person_decides(sandbox: Sandbox, approved: bool, state: str) -> None:
    await set_to(sandbox, quotas={"public_ipv4": 4})
    assert (await ask(sandbox, 4))["state"] == "created"
    waiting = await ask(sandbox, 8, tags=["a"])
    assert (waiting["state"], waiting["network"], waiting["cidr"]) == ("pending", None, 29)
    found = (await sandbox.control.get("/approvals")).json()["approvals"]
    assert [(each["id"], each["quantity"]) for each in found] == [(waiting["id"], 8)]
    decided = await sandbox.control.post(f"/approvals/{waiting['id']}", json={"approved": approved})
    assert decided.json()["state"] == state
    shown = (await sandbox.api.get(f"/ips/{waiting['id']}")).json()
    assert (shown["state"], bool(shown["network"]), shown["tags"]) == (state, approved, ["a"])
    assert (await sandbox.control.post(f"/approvals/{waiting['id']}")).status_code == 422
    assert (await sandbox.control.post("/approvals/none")).status_code == 404
    assert (await sandbox.api.delete(f"/ips/{waiting['id']}")).status_code == 204


@pytest.mark.parametrize(("granted", "state"), [(True, "created"), (False, "denied")])
async def test_time_decides(sandbox: Sandbox, granted: bool, state: str) -> None:
    await set_to(sandbox, approval={"seconds": 100, "granted": granted, "addresses_at_once": 2})
    waiting = await ask(sandbox, 4)
    assert waiting["state"] == "pending"
    await sandbox.until(lambda: sandbox.world.store["reservations"][waiting["id"]].state == state)
    body = {"type": "public_ipv4", "quantity": 4, "metro": "da", "fail_on_approval_required": True}
    (text,) = await sandbox.refused("ips", body)
    assert "quota" in text
    assert "approval" in text
    wrong = {"type": "global_ipv4", "quantity": 8}
    assert await sandbox.refused("ips", wrong) == ["Quantity must be one of 1, 2, 4"]


async def test_reads_can_be_behind(sandbox: Sandbox) -> None:
    (id_,) = await sandbox.seed(1)
    sandbox.world.clock.speed = 1
    await set_to(sandbox, stale_reads={"seconds": 60})
    changed = await sandbox.api.put(f"/devices/{id_}", json={"tags": ["new"]})
    assert changed.json()["tags"] == ["new"]
    assert (await sandbox.device(id_))["tags"] == []
    fresh = await sandbox.create()
    assert await sandbox.errors("GET", f"/devices/{fresh['id']}", 404) == ["Not found"]
    vlan = await sandbox.post("virtual-networks", {"metro": "da"})
    listed = (await sandbox.api.get(f"{sandbox.project}/devices", params={"include": "project,network_ports.virtual_networks"})).json()
    assert [each["id"] for each in listed["devices"]] == [id_]
    # What is written is written at once: the second of one number is refused, and a change meets the thing itself.
    taken = {"metro": "da", "vxlan": vlan["vxlan"]}
    assert await sandbox.refused("virtual-networks", taken) == ["Vxlan has already been taken"]
    assert (await sandbox.api.put(f"/virtual-networks/{vlan['id']}", json={"tags": ["a"]})).status_code == 200
    sandbox.world.clock.speed = 1_000
    await sandbox.until(lambda: sandbox.world.read_lag < 0.1)
    await set_to(sandbox, stale_reads={"seconds": 0})
    assert (await sandbox.device(id_))["tags"] == ["new"]
    assert (await sandbox.device(fresh["id"]))["id"] == fresh["id"]


async def test_servers_can_be_gone_when_they_are_ordered(sandbox: Sandbox) -> None:
    await set_to(sandbox, capacity={"metros": {"da": {"c3.small.x86": 2}}, "taken_after_check": 2})
    body = {"servers": [{"metro": "da", "plan": "c3.small.x86", "quantity": 2}]}
    first = await sandbox.api.post("/capacity/metros", json=body)
    assert first.json()["servers"][0]["available"] is True
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}
    assert await sandbox.refused("devices", order) == ["There aren't available servers in that metro"]
    second = await sandbox.api.post("/capacity/metros", json=body)
    assert second.json()["servers"][0]["available"] is False
    await set_to(sandbox, capacity={"metros": {"da": {"c3.small.x86": 3}}, "taken_after_check": 0})
    assert (await sandbox.api.post(f"{sandbox.project}/devices", json=order)).status_code == 201


async def test_usages_and_bandwidth(sandbox: Sandbox) -> None:
    (id_,) = await sandbox.seed(1)
    assert (await sandbox.api.get(f"/devices/{id_}/usages")).json() == {"usages": [{"quantity": "1", "total": "0.75", "unit": "hour"}]}
    (usage,) = (await sandbox.api.get(f"{sandbox.project}/usages")).json()["usages"]
    assert (usage["name"], usage["plan"], usage["price"], usage["facility"]) == ("seeded-1", "c3.small.x86", "0.75", "da11")
    found = (await sandbox.api.get(f"/devices/{id_}/bandwidth", params={"from": "1700000000", "until": "1700000180"})).json()
    assert [each["target"] for each in found["bandwidth"]] == ["inbound", "outbound"]
    assert found["bandwidth"][0]["datapoints"] == [[None, 1700000000], [None, 1700000060], [None, 1700000120]]
    assert await sandbox.errors("GET", f"/devices/{id_}/bandwidth") == ["from must be a number of seconds since 1970"]
    empty = (await sandbox.api.get(f"{sandbox.project}/firmware-sets")).json()
    assert (empty["page"], empty["total_pages"], empty["records"]) == (1, 0, [])
