"""What the service does by choice: approval, reads that are behind, servers that are gone when they are ordered, limits."""

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
