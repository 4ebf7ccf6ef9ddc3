"""Devices that are nodes of an Ironic: ordered, powered, reinstalled, deleted, and the events of each failure."""

import asyncio
from pathlib import Path

from metal_api.core.world import MetroNetwork
from tests.metal_api.conftest import machine_client
from tests.metal_api.ironic.fake_rack import METRO, PLAN, FakeRack, RackApi, rack_api

ORDER = {"plan": PLAN, "metro": METRO, "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}


async def test_a_device_is_a_node(api: RackApi) -> None:
    (node_id,) = await api.offered(1)
    device = await api.active(hostname="w1")
    node = await api.node(node_id)
    assert node["provision_state"] == "active"
    assert node["instance_uuid"] == device["id"]
    assert node["power_state"] == "power on"
    assert node["instance_info"]["ramdisk"] == f"{api.boot_url}/ipxe.iso"
    events = await api.events(device["id"])
    assert f"server.allocated: Server {node['name']} allocated" in events
    await api.act(device["id"], "power_off", "inactive")
    assert (await api.node(node_id))["power_state"] == "power off"
    await api.act(device["id"], "power_on", "active")
    assert (await api.node(node_id))["power_state"] == "power on"
    await api.delete(device["id"])
    node = await api.node(node_id)
    assert (node["provision_state"], node["instance_uuid"], node["power_state"]) == ("available", None, "power off")
    await api.until(lambda: api.free() == 1)


async def test_orders_at_once_get_a_node_each(api: RackApi) -> None:
    await api.offered(4)
    answers = await asyncio.gather(*(api.api.post(f"{api.project}/devices", json=ORDER) for _unused in range(6)))
    created = [each.json()["id"] for each in answers if each.status_code == 201]
    assert sorted(each.status_code for each in answers) == [201] * 4 + [422] * 2
    await api.until(lambda: all(api.state(each) == "active" for each in created))
    nodes = await asyncio.to_thread(lambda: list(api.rack.connection.baremetal.nodes(details=True)))
    assert sorted(each.instance_id for each in nodes) == sorted(created)


async def test_a_node_of_another_user_is_not_offered(api: RackApi) -> None:
    (node_id,) = await api.offered(1)
    await asyncio.to_thread(api.rack.change, node_id, instance_uuid="5f6e9a00-0000-4000-8000-000000000001")
    await api.until(lambda: api.free() == 0)
    await asyncio.to_thread(api.rack.change, node_id, instance_uuid=None)
    await api.until(lambda: api.free() == 1)


async def test_a_node_that_another_user_takes_first_is_never_deployed(api: RackApi) -> None:
    """Between the poll that offers it and the order: Ironic decides."""
    (node_id,) = await api.offered(1)
    taken = asyncio.to_thread(api.rack.change, node_id, instance_uuid="5f6e9a00-0000-4000-8000-000000000001")
    order = api.api.post(f"{api.project}/devices", json=ORDER)
    _unused, answer = await asyncio.gather(taken, order)
    assert answer.status_code == 201
    id_ = answer.json()["id"]
    await api.until(lambda: api.state(id_) == "failed")
    assert any("taken by instance 5f6e9a00" in each for each in await api.events(id_)), await api.events(id_)
    node = await api.node(node_id)
    assert node["provision_state"] == "available"
    await api.delete(id_)
    assert (await api.node(node_id))["instance_uuid"] == "5f6e9a00-0000-4000-8000-000000000001"
    await asyncio.to_thread(api.rack.change, node_id, instance_uuid=None)


async def test_a_failed_deployment_is_told_in_events(api: RackApi) -> None:
    # The kernel of its PXE boot cannot be had: the boot service of this test has none.
    (node_id,) = await api.offered(1, boot_interface="ipxe", deploy_interface="ramdisk")
    device = await api.create(hostname="w1")
    await api.until(lambda: api.state(device["id"]) == "failed", 60)
    events = await api.events(device["id"])
    failures = [each for each in events if each.startswith("server.deploy_failed")]
    assert len(failures) == 3, events
    assert "ipxe.iso" in failures[0], failures
    assert any(each.startswith("provisioning.failed: server r1-u") for each in events), events
    await api.delete(device["id"])
    await api.until(lambda: api.free() == 1)
    assert (await api.node(node_id))["instance_uuid"] is None


async def test_a_machine_that_never_boots_has_failed(tmp_path: Path, rack: FakeRack) -> None:
    async with rack_api(tmp_path / "state", rack, boot_timeout=1.0) as api:
        await api.offered(1)
        api.machines.boots = False
        device = await api.create(hostname="w1")
        await api.until(lambda: api.state(device["id"]) == "failed")
        assert any("has not asked the boot service in 1 s" in each for each in await api.events(device["id"]))
        # Its server is still its own until it is deleted, and it can be reinstalled there.
        assert api.free() == 0
        api.machines.boots = True
        await api.act(device["id"], "reinstall", "active")
        await api.delete(device["id"])
        await api.until(lambda: api.free() == 1)


async def test_a_server_that_was_on_already_gets_no_script_before_it_is_booted_for_its_device(tmp_path: Path, rack: FakeRack) -> None:
    """Such as one that came up by itself after a power failure, and has asked the boot service since then."""
    networks = {METRO: MetroNetwork("127.91.0.0/24", "127.91.0.1", "127.91.0.10", "127.91.0.20")}
    async with rack_api(tmp_path / "state", rack, networks=networks) as api:
        (node_id,) = await api.offered(1)
        await asyncio.to_thread(rack.connection.baremetal.set_node_power_state, node_id, "power on", wait=True)
        api.machines.boots = False
        device = await api.create(hostname="w1", userdata="#!ipxe\necho script of w1\n")
        asked = 0
        # It runs until it is switched off.
        while not api.ironic.calls["power off"]:
            asked += 1
            answer = await api.ask_boot("127.91.0.10", "/auto.ipxe")
            assert "script of w1" not in answer.text
            async with machine_client(api.boot_url, "127.91.0.10") as machine:
                assert (await machine.post("/phone-home")).status_code == 200
        assert asked > 1
        assert api.state(device["id"]) != "active"
        while api.state(device["id"]) != "active":
            answer = await api.ask_boot("127.91.0.10", "/auto.ipxe")
        assert "script of w1" in answer.text
        assert api.ironic.calls["power off"] == 1
        events = await api.events(device["id"])
        assert events.index("provisioning.104.01: Device connected to DHCP system") < next(
            index for index, each in enumerate(events) if each.startswith("server.boots: ")
        ), events


async def test_a_rescue_boots_the_rescue_system_once(tmp_path: Path, rack: FakeRack) -> None:
    networks = {METRO: MetroNetwork("127.91.0.0/24", "127.91.0.1", "127.91.0.10", "127.91.0.20")}
    async with rack_api(tmp_path / "state", rack, networks=networks, rescue_script_url="http://127.0.0.1/rescue.ipxe") as api:
        await api.offered(1)
        device = await api.active(hostname="w1")
        assert (await api.ask_boot("127.91.0.10", "/auto.ipxe")).status_code == 404
        before = api.ironic.calls["boot device"]
        await api.act(device["id"], "rescue", "active")
        await api.until(lambda: ("rescue", device["id"]) in api.machines.calls)
        assert api.ironic.calls["boot device"] == before + 1
        assert (await api.ask_boot("127.91.0.10", "/auto.ipxe")).text == "#!ipxe\nchain --autofree http://127.0.0.1/rescue.ipxe\n"
        await api.act(device["id"], "reboot", "active")
        assert (await api.ask_boot("127.91.0.10", "/auto.ipxe")).status_code == 404
