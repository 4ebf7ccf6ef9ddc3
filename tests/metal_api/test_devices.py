"""A device from its order to its end."""

from typing import Any

import pytest

from tests.metal_api.conftest import Sandbox, machine_client


async def test_a_fresh_device_is_queued_without_addresses_and_with_ports(sandbox: Sandbox) -> None:
    sandbox.world.clock.speed = 1
    device = await sandbox.create(hostname="one", tags=["a", "b"])
    assert device["state"] == "queued"
    assert device["ip_addresses"] == []
    assert device["provisioning_percentage"] == 0.0
    assert [each["id"] for each in device["provisioning_events"]] == [None] * 4
    assert [each["name"] for each in device["network_ports"]] == ["eth0", "eth1", "bond0"]
    assert device["network_ports"][2]["network_type"] == "layer3"
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
    # A server has further events of its own.
    assert [each["type"] for each in reversed(events) if not each["type"].startswith("server.")] == [
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


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"plan": "c9.none"}, ["c9.none is not a valid plan"]),
        (
            {"plan": None, "operating_system": None, "metro": None},
            ["Plan can't be blank", "Operating system can't be blank", "Metro can't be blank"],
        ),
        ({"metro": "zz"}, ["zz is not a valid metro"]),
        ({"hostname": "no_underscores"}, ["Hostname is invalid"]),
        ({"userdata": "hello"}, ["Userdata unrecognized userdata format"]),
        ({"userdata": "#cloud-config\n- [}"}, ["Userdata unrecognized userdata format"]),
        ({"userdata": '{"ignition": '}, ["Userdata unrecognized userdata format"]),
        ({"billing_cycle": "weekly"}, ["weekly is not a valid billing cycle"]),
        ({"ip_addresses": [{"address_family": 4, "public": True}]}, ["Private IPv4 is required"]),
        ({"plan": "c3.large.arm64", "operating_system": "rhel_9"}, ["Operating system rhel_9 is not provisionable on c3.large.arm64"]),
        ({"metro": None, "facility": "ams99"}, ["ams99 is not a valid facility"]),
    ],
)
async def test_refused_orders(sandbox: Sandbox, change: dict[str, Any], expected: list[str]) -> None:
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "hostname": "one", **change}
    assert await sandbox.refused("devices", order) == expected
    assert len(sandbox.world.store["devices"]) == 0


async def test_a_quota_of_a_plan_is_returned_and_enforced(sandbox: Sandbox) -> None:
    assert (await sandbox.control.put("/settings", json={"quotas": {"plans": {"c3.small.x86": -1}}})).status_code == 422
    await sandbox.control.put("/settings", json={"quotas": {"plans": {"c3.small.x86": 1}}})
    assert (await sandbox.api.get(sandbox.project)).json()["max_devices"] == {"c3.small.x86": 1}
    await sandbox.create(plan="c3.small.x86")
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "hostname": "two"}
    refused = await sandbox.refused("devices", order)
    assert refused == ["Devices quota of 1 c3.small.x86 for this project has been reached"]
    await sandbox.create(plan="m3.small.x86")
    await sandbox.control.put("/settings", json={"quotas": {"plans": {}}})
    await sandbox.create(plan="c3.small.x86")


async def test_features_that_a_plan_has_not(sandbox: Sandbox) -> None:
    for good in ([], {}, ["uefi"], {"uefi": "required", "gpu": "preferred"}):
        assert (await sandbox.create(features=good))["state"] == "queued"
    body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}
    for missing in (["gpu"], {"gpu": "required"}):
        texts = await sandbox.refused("devices", {**body, "features": missing})
        assert texts == ["There aren't available servers in that metro"]
    for wrong in ("gpu", {"gpu": "perhaps"}, [1], {"gpu": ["required"]}):
        (text,) = await sandbox.refused("devices", {**body, "features": wrong})
        assert text.startswith("Features must be")


async def test_a_key_is_needed_unless_said_otherwise(sandbox: Sandbox) -> None:
    (key,) = (await sandbox.api.get("/ssh-keys")).json()["ssh_keys"]
    assert (await sandbox.create())["ssh_keys"] == [{"href": f"/metal/v1/ssh-keys/{key['id']}"}]
    await sandbox.api.delete(f"/ssh-keys/{key['id']}")
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}
    assert await sandbox.refused("devices", order) == ["must have at least one SSH key or explicitly send no_ssh_keys option"]
    assert (await sandbox.create(no_ssh_keys=True))["ssh_keys"] == []


async def test_update_and_lock(sandbox: Sandbox) -> None:
    device = await sandbox.active(hostname="one")
    path = f"/devices/{device['id']}"
    changed = (
        await sandbox.api.patch(path, json={"locked": True, "tags": ["x"], "plan": "m3.small.x86", "userdata": "#!/bin/sh\n"})
    ).json()
    assert (changed["locked"], changed["tags"], changed["plan"]["slug"]) == (True, ["x"], "c3.small.x86")
    assert (await sandbox.api.get(f"{path}/userdata")).json() == {"userdata": "#!/bin/sh\n"}
    assert await sandbox.errors("DELETE", path) == ["Cannot delete a locked item"]
    assert (await sandbox.api.put(path, json={"locked": False})).json()["locked"] is False
    assert (await sandbox.api.delete(path)).status_code == 204


async def test_power_actions(sandbox: Sandbox) -> None:
    device = await sandbox.active(hostname="one")
    path = f"/devices/{device['id']}"

    async def act(**body: Any) -> None:
        answer = await sandbox.api.post(f"{path}/actions", json=body)
        assert (answer.status_code, answer.content) == (202, b"")

    sandbox.machines.proceed.clear()
    await act(type="power_off")
    assert sandbox.state(device["id"]) == "powering_off"
    sandbox.machines.proceed.set()
    await sandbox.until(lambda: sandbox.state(device["id"]) == "inactive")
    assert "that is inactive" in (await sandbox.errors("POST", f"{path}/actions", json={"type": "reboot"}))[0]
    await act(type="power_on")
    await sandbox.until(lambda: sandbox.state(device["id"]) == "active")
    await act(type="reboot")
    await sandbox.until(lambda: ("reboot", device["id"]) in sandbox.machines.calls)
    await sandbox.until(lambda: sandbox.world.store["devices"][device["id"]].pending is None)
    await act(type="rescue")
    await sandbox.until(lambda: ("rescue", device["id"]) in sandbox.machines.calls)
    await sandbox.until(lambda: sandbox.world.store["devices"][device["id"]].pending is None)
    sandbox.machines.proceed.clear()
    await act(type="reinstall", operating_system="debian_12", preserve_data=True)
    assert sandbox.state(device["id"]) == "reinstalling"
    sandbox.machines.proceed.set()
    await sandbox.until(lambda: sandbox.state(device["id"]) == "active")
    shown = await sandbox.device(device["id"])
    assert shown["operating_system"]["slug"] == "debian_12"
    assert [each["address"] for each in shown["ip_addresses"]] == [each["address"] for each in device["ip_addresses"]]
    assert ("reinstall keep", device["id"]) in sandbox.machines.calls
    assert await sandbox.errors("POST", f"{path}/actions", json={"type": "dance"}) == ["invalid action"]


async def test_a_failed_provisioning_vanishes(sandbox: Sandbox) -> None:
    await sandbox.control.post("/faults", json={"hostname": "^bad", "times": 1})
    await sandbox.control.put("/settings", json={"durations": {"failed_visible": 10_000, "failed_forbidden": 10_000}})
    device = await sandbox.create(hostname="bad-1")
    path = f"/devices/{device['id']}"
    await sandbox.until(lambda: sandbox.state(device["id"]) == "failed")
    assert (await sandbox.device(device["id"]))["state"] == "failed"
    await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")
    assert await sandbox.errors("GET", path, 403) == ["Access denied for the current authentication token"]
    await sandbox.until(lambda: not len(sandbox.world.store["departed"]))
    assert await sandbox.errors("GET", path, 404) == ["Not found"]
    assert (await sandbox.active(hostname="bad-2"))["state"] == "active"


async def test_bad_events_are_refused(sandbox: Sandbox) -> None:
    device = await sandbox.active()
    async with machine_client(sandbox.boot_url, device["ip_addresses"][0]["address"]) as machine:
        assert (await machine.post("/events", content="")).status_code == 400
        assert (await machine.post("/events", json={"state": "failed", "code": 1000, "message": "m"})).status_code == 200
        assert (await machine.post("/phone-home", content="x", headers={"Content-Type": "text/css"})).status_code == 400
    async with machine_client(sandbox.boot_url, "127.0.0.9") as stranger:
        assert (await stranger.post("/events", content="")).status_code == 200
        assert (await stranger.get("/auto.ipxe")).status_code == 404
    events = (await sandbox.api.get(f"/devices/{device['id']}/events")).json()["events"]
    assert (events[0]["type"], events[0]["state"], events[0]["body"]) == ("user.1000", "failed", "m")
