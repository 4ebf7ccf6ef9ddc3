"""Servers that a backend reports: which of them can be ordered."""

from dataclasses import replace

from metal_api.servers import FoundServer, Server, Servers
from tests.metal_api.conftest import Sandbox

MAC = "52:54:00:99:00:01"
ONE = FoundServer("5f6e9a00-0000-4000-8099-000000000001", "r1-u1", "c3.small.x86", "da", (MAC,))


def servers(sandbox: Sandbox, *found: FoundServer) -> dict[str, Server]:
    """Report servers, and return the records by id."""
    sandbox.world.service(Servers).refresh(found)
    return {each.id: each for each in sandbox.world.store[Server]}


async def test_a_server_that_the_backend_has_forgotten_is_not_offered_anew(sandbox: Sandbox) -> None:
    """As after a lost database of Ironic: its device runs on, and an order must not power it off and overwrite it."""
    assert servers(sandbox, ONE)[ONE.id].is_free
    device = await sandbox.active(plan=ONE.plan, metro=ONE.metro)
    again = replace(ONE, id="5f6e9a00-0000-4000-8099-000000000002")
    known = servers(sandbox, again)
    assert known[ONE.id].device_id == device["id"]
    assert known[again.id].unavailable == f"it has the MAC address of server r1-u1, which is device {device['id']}"
    assert not sandbox.world.service(Servers).free(ONE.metro, ONE.plan)
    order = {"plan": ONE.plan, "metro": ONE.metro, "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}
    assert await sandbox.refused("devices", order) == ["There aren't available servers in that metro"]
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")
    assert servers(sandbox, again)[again.id].is_free


async def test_a_server_is_not_reserved_for_a_project_of_another_organization_with_this_name(sandbox: Sandbox) -> None:
    reserved = replace(ONE, reserved_for="payments")
    assert servers(sandbox, reserved)[ONE.id].unavailable == "it is reserved for project 'payments', which does not exist"
    organization = (await sandbox.api.post("/organizations", json={"name": "others"})).json()["id"]
    other = (await sandbox.api.post(f"/organizations/{organization}/projects", json={"name": "payments"})).json()["id"]
    assert servers(sandbox, reserved)[ONE.id].unavailable == "it is reserved for project 'payments', which does not exist"
    ours = (await sandbox.api.post("/projects", json={"name": "payments"})).json()["id"]
    assert servers(sandbox, reserved)[ONE.id].project_id == ours
    assert servers(sandbox, replace(reserved, reserved_for=other))[ONE.id].project_id == other
