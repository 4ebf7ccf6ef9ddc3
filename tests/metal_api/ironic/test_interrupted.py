"""What an Ironic or a server leaves that was killed at the worst moment, and what an operator does meanwhile."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.record import Device
from metal_api.ironic import machines
from metal_api.ironic.client import IronicClient, IronicError
from metal_api.ironic.machines import REFUSALS
from metal_api.servers import Server
from tests.metal_api.ironic.fake_rack import FakeRack, RackApi, rack_api


def _lose_the_first(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let Ironic accept a power action and end before it begins with it. Returns the power actions that are requested."""
    requested: list[str] = []
    power = IronicClient.power

    async def lossy(self: IronicClient, node_id: str, target: str) -> None:
        requested.append(target)
        if len(requested) > 1:
            await power(self, node_id, target)

    monkeypatch.setattr(IronicClient, "power", lossy)
    return requested


async def test_a_power_action_that_ironic_lost_is_repeated(api: RackApi, monkeypatch: pytest.MonkeyPatch) -> None:
    (node_id,) = await api.offered(1)
    id_ = (await api.active(hostname="w1"))["id"]
    requested = _lose_the_first(monkeypatch)
    await api.act(id_, "power_off")
    await api.until(lambda: api.state(id_) == "inactive")
    assert (await api.node(node_id))["power_state"] == "power off"
    assert requested == ["power off"] * 2
    assert any(each.startswith("server.power_failed: Request of power off is repeated") for each in await api.events(id_))


async def test_a_refusal_of_ironic_is_repeated_a_few_times_and_then_an_event(api: RackApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was repeated without end and without a word, 582 times in 15 s, and the device could not be deleted."""
    monkeypatch.setattr(machines, "_LONGEST_PAUSE", 0.02)
    await api.offered(1)
    refused: list[str] = []

    async def refuse(_client: IronicClient, _node_id: str, target: str) -> None:
        refused.append(target)
        raise IronicError("the node is locked", 409)

    with monkeypatch.context() as patched:
        patched.setattr(IronicClient, "provision", refuse)
        id_ = (await api.create(hostname="w1"))["id"]
        await api.until(lambda: api.state(id_) == "failed", 120)
    assert f"provisioning.failed: Ironic has refused a request {REFUSALS} times: the node is locked" in await api.events(id_)
    assert refused == ["active"] * REFUSALS
    await api.delete(id_)
    await api.until(lambda: api.free() == 1)


@pytest.mark.parametrize("status", [0, 503])
async def test_an_ironic_that_does_not_answer_is_waited_for(api: RackApi, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    await api.offered(1)
    asked: list[str] = []
    provision = IronicClient.provision

    async def answers_late(self: IronicClient, node_id: str, target: str) -> None:
        asked.append(target)
        if len(asked) <= REFUSALS:
            raise IronicError("Ironic does not answer", status)
        await provision(self, node_id, target)

    monkeypatch.setattr(IronicClient, "provision", answers_late)
    id_ = (await api.create(hostname="w1"))["id"]
    await api.until(lambda: api.state(id_) == "active", 120)
    assert asked == ["active"] * (REFUSALS + 1)


async def test_a_server_whose_node_is_missing_keeps_its_record(api: RackApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one whose BMC did not answer when the nodes were created again, until it is taken out of the rack file."""
    await api.offered(2)
    id_ = (await api.active(hostname="w1"))["id"]
    servers = api.world.store[Server]
    addresses = {each.id: each.address for each in servers}
    monkeypatch.setattr(api.ironic, "_is_expected", lambda _name: True)
    await asyncio.to_thread(api.rack.empty)
    await api.until(lambda: [each.unavailable for each in servers] == ["the backend does not list it any more"] * 2)
    assert {each.id: each.address for each in servers} == addresses
    await api.delete(id_, expected="failed")
    assert api.world.store[Device][id_].server_id in addresses
    monkeypatch.setattr(api.ironic, "_is_expected", lambda _name: False)
    await api.until(lambda: len(servers) == 1)
    await api.delete(id_)
    await api.until(lambda: not len(servers))


async def _interrupted_order(state: Path, rack: FakeRack) -> tuple[str, str]:
    """End a server between the deployment of a device and its first boot; returns the ids of node and device."""
    async with rack_api(state, rack) as api:
        api.machines.boots = False
        (node_id,) = await api.offered(1)
        id_ = (await api.create(hostname="w1"))["id"]
        await api.until(lambda: ("install", id_) in api.machines.calls)
    return node_id, id_


def _fail_deployment(rack: FakeRack, node_id: str) -> None:
    rack.set_in_database(node_id, provision_state="deploy failed", target_provision_state="active", last_error="the conductor has ended")


async def test_a_machine_that_may_have_given_up_booting_is_rebooted_after_a_restart(tmp_path: Path, rack: FakeRack) -> None:
    node_id, id_ = await _interrupted_order(tmp_path / "state", rack)
    async with rack_api(tmp_path / "state", rack) as api:
        await api.until(lambda: api.state(id_) == "active")
        assert (api.ironic.calls["power off"], api.ironic.calls["power on"]) == (1, 1)
        assert (await api.node(node_id))["power_state"] == "power on"
        assert any("it has not asked for its boot script" in each for each in await api.events(id_))


@pytest.mark.parametrize("pending", ["provision", "reinstall"])
async def test_a_machine_that_is_deployed_again_gets_its_script_again(tmp_path: Path, rack: FakeRack, pending: str) -> None:
    """Firmware may boot before Ironic has ended the deployment, and Ironic be killed then: the installation was interrupted."""
    async with rack_api(tmp_path / "state", rack) as api:
        (node_id,) = await api.offered(1)
        device = await api.active(hostname="w1")
        id_ = device["id"]
        await api.until(lambda: api.world.store[Device][id_].pending is None)
        api.world.store.put(replace(api.world.store[Device][id_], pending=pending))
    _fail_deployment(rack, node_id)
    async with rack_api(tmp_path / "state", rack) as api:
        await api.until(lambda: api.world.store[Device][id_].pending is None)
        assert api.state(id_) == "active"
        assert api.ironic.calls["provision active"] == 1
        # What was not undeployed yet is, whatever its machine has asked for meanwhile.
        assert api.ironic.calls["provision deleted"] == (pending == "reinstall")
        assert (await api.node(node_id))["provision_state"] == "active"
        scripts = [each for each in await api.events(id_) if each.startswith("provisioning.104.01")]
        assert len(scripts) == 2, scripts


async def test_a_machine_that_still_runs_gets_no_script_between_two_deployments(
    tmp_path: Path, rack: FakeRack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is powered off before the second one is requested."""
    node_id, id_ = await _interrupted_order(tmp_path / "state", rack)
    _fail_deployment(rack, node_id)
    provision, power_states = IronicClient.provision, list[str]()

    async def recorded(self: IronicClient, id_: str, target: str) -> None:
        power_states.append(rack.node(id_)["power_state"])
        await provision(self, id_, target)

    monkeypatch.setattr(IronicClient, "provision", recorded)
    async with rack_api(tmp_path / "state", rack) as api:
        await api.until(lambda: api.state(id_) == "active")
    assert power_states == ["power off"]


async def test_a_reinstallation_that_was_complete_is_not_repeated_after_a_restart(tmp_path: Path, rack: FakeRack) -> None:
    async with rack_api(tmp_path / "state", rack) as api:
        await api.offered(1)
        id_ = (await api.active(hostname="w1"))["id"]
        await api.until(lambda: api.world.store[Device][id_].pending is None)
        api.world.store.put(replace(api.world.store[Device][id_], pending="reinstall", pending_options={"undeployed": True}))
    async with rack_api(tmp_path / "state", rack) as api:
        await api.until(lambda: api.world.store[Device][id_].pending is None)
        assert api.state(id_) == "active"
        assert (api.ironic.calls["provision deleted"], api.ironic.calls["provision active"]) == (0, 0)


async def test_an_allocation_that_goes_on_after_a_deletion_is_deleted(api: RackApi, monkeypatch: pytest.MonkeyPatch) -> None:
    (node_id,) = await api.offered(1)
    allocated = asyncio.Event()

    async def allocating(_client: IronicClient, _id: str) -> dict[str, Any]:
        allocated.set()
        return {"state": "allocating"}

    with monkeypatch.context() as patched:
        patched.setattr(IronicClient, "allocation", allocating)
        id_ = (await api.create(hostname="w1"))["id"]
        await asyncio.wait_for(allocated.wait(), 20)
        while (await api.node(node_id))["instance_uuid"] is None:
            await api.ironic.next_poll()
        await asyncio.to_thread(api.rack.forget_instance, node_id, allocation="allocating")
        # By its termination time: a user cannot delete a device that is provisioned.
        with api.world.store.transaction():
            api.world.service(Lifecycle).end(api.world.store[Device][id_], "Termination time reached")
        await api.until(lambda: api.state(id_) == "gone")
    assert not await asyncio.to_thread(lambda: list(api.rack.connection.baremetal.allocations()))


async def test_a_device_is_reinstalled_after_its_undeployment_failed(api: RackApi) -> None:
    """Ironic has taken the device off the node then."""
    (node_id,) = await api.offered(1)
    id_ = (await api.active(hostname="w1"))["id"]
    await asyncio.to_thread(api.rack.set_in_database, node_id, provision_state="error", target_provision_state="available")
    await asyncio.to_thread(api.rack.forget_instance, node_id)
    await api.act(id_, "reinstall")
    await api.until(lambda: api.state(id_) in {"active", "failed"})
    assert api.state(id_) == "active", await api.events(id_)
    assert (await api.node(node_id))["instance_uuid"] == id_


@pytest.mark.parametrize("fault", [None, "service failure"])
async def test_only_the_maintenance_of_a_failed_cleaning_is_ended(api: RackApi, fault: str | None) -> None:
    (node_id,) = await api.offered(1)
    id_ = (await api.active(hostname="w1"))["id"]
    failed = {"provision_state": "clean failed", "target_provision_state": "available", "maintenance": True, "last_error": "no agent"}
    await asyncio.to_thread(api.rack.set_in_database, node_id, **failed, maintenance_reason="disk 2 is replaced", fault=fault)
    await asyncio.to_thread(api.rack.forget_instance, node_id)
    await api.delete(id_, "failed")
    assert (await api.node(node_id))["maintenance"]
    events = await api.events(id_)
    assert any(each.startswith("server.clean_failed") and "no agent" in each for each in events), events
    assert any(each.startswith("deprovisioning.failed") and "in maintenance" in each and "disk 2" in each for each in events), events
    assert api.free() == 0
    # One of Ironic's own is ended, and the server is free after another cleaning.
    await asyncio.to_thread(api.rack.set_in_database, node_id, **failed, maintenance_reason="no agent", fault="clean failure")
    await api.delete(id_)
    node = await api.node(node_id)
    assert (node["maintenance"], node["provision_state"], node["power_state"]) == (False, "available", "power off")
