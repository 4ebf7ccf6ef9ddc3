"""A device from its order to its end."""

from __future__ import annotations

from tests.sandbox.metal.conftest import Sandbox, machine_client


async def test_a_fresh_device_is_queued_without_addresses_and_with_ports(sandbox: Sandbox) -> None:
    sandbox.world.clock.speed = 1
    device = await sandbox.create(hostname="one", tags=["a", "b"])
    assert device["state"] == "queued"
    assert device["ip_addresses"] == []
    assert device["provisioning_percentage"] == 0.0
    assert [each["id"] for each in device["provisioning_events"]] == [None] * 4
    assert [each["name"] for each in device["network_ports"]] == ["bond0", "eth0", "eth1"]
    assert device["network_ports"][0]["network_type"] == "layer3"
    assert device["project"] == {"href": f"/metal/v1/projects/{sandbox.world.project_id}"}
    assert device["plan"]["slug"] == "c3.small.x86"


async def test_a_custom_ipxe_device_is_active_when_its_script_phones_home(sandbox: Sandbox) -> None:
    sandbox.machines.boots = False
    device = await sandbox.create(hostname="one.demo.metal.test", ipxe_script_url="http://127.0.0.1/boot.ipxe")
    await sandbox.until(lambda: ("install", device["id"]) in sandbox.machines.calls)
    assert (await sandbox.device(device["id"]))["state"] == "provisioning"
    hw = sandbox.machines.hardware[device["id"]]
    async with machine_client(sandbox.boot_url, hw.address) as machine:
        script = await machine.get("/auto.ipxe")
        assert script.text.startswith("#!ipxe\n")
        assert "chain --autofree http://127.0.0.1/boot.ipxe" in script.text
        assert (await machine.post("/phone-home", data={"type": "provisioning.104.01", "body": "x"})).status_code == 200
        assert (await sandbox.device(device["id"]))["state"] == "active"
        assert (await machine.get("/auto.ipxe")).status_code == 404
        assert (await machine.post("/events", json={"state": "running", "message": "ignition"})).status_code == 200
    events = (await sandbox.api.get(f"/devices/{device['id']}/events", params={"per_page": 50})).json()["events"]
    assert [each["type"] for each in reversed(events)] == [
        "provisioning.101",
        "provisioning.102",
        "provisioning.103",
        "provisioning.104.01",
        "user.0",
    ]


async def test_metadata_knows_its_caller_by_address(sandbox: Sandbox) -> None:
    device = await sandbox.active(hostname="one", userdata='{"ignition": {"version": "3.2.0"}}')
    address = device["ip_addresses"][0]["address"]
    async with machine_client(sandbox.metadata_url, address) as machine:
        found = (await machine.get("/metadata")).json()
        assert found["hostname"] == "one"
        assert found["phone_home_url"] == f"{sandbox.boot_url}/phone-home"
        assert (await machine.get("/userdata")).text == '{"ignition": {"version": "3.2.0"}}'
        assert "public-ipv4" in (await machine.get("/2009-04-04/meta-data/")).text.splitlines()
        assert (await machine.get("/2009-04-04/meta-data/public-ipv4")).text == address
    async with machine_client(sandbox.metadata_url, "127.0.0.9") as stranger:
        answer = await stranger.get("/metadata")
        assert (answer.status_code, answer.json()) == (404, {"message": "resource not found"})


async def test_delete_deprovisions_and_then_404(sandbox: Sandbox) -> None:
    device = await sandbox.active(hostname="one")
    path = f"/devices/{device['id']}"
    sandbox.world.clock.speed = 60
    assert (await sandbox.api.delete(path)).status_code == 204
    assert (await sandbox.device(device["id"]))["state"] == "deprovisioning"
    sandbox.world.clock.speed = 100_000
    await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")
    answer = await sandbox.api.get(path)
    assert (answer.status_code, answer.json()) == (404, {"errors": ["Not found"]})
    assert answer.headers["x-request-id"]
    assert ("remove", device["id"]) in sandbox.machines.calls


async def test_other_systems_are_active_when_they_phone_home(sandbox: Sandbox) -> None:
    device = await sandbox.active(hostname="lb", operating_system="ubuntu_24_04", userdata="#cloud-config\npackages: [haproxy]\n")
    assert len(device["provisioning_events"]) == 10
    assert all(each["id"] for each in device["provisioning_events"])
    assert device["provisioning_percentage"] is None
