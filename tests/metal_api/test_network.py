"""Ports, VLANs, reservations and assignments."""

from __future__ import annotations

from typing import Any

import pytest

from tests.metal_api.conftest import Sandbox


class Net:
    """The ports of one device, by name."""

    def __init__(self, sandbox: Sandbox, device: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.device_id = device["id"]
        self.ids = {each["name"]: each["id"] for each in device["network_ports"]}

    async def post(self, port: str, call: str, **body: Any) -> dict[str, Any]:
        answer = await self.sandbox.api.post(f"/ports/{self.ids[port]}/{call}", json=body)
        assert answer.status_code in {200, 201}, answer.text
        result: dict[str, Any] = answer.json()
        return result

    async def refused(self, port: str, call: str, **body: Any) -> str:
        (text,) = await self.sandbox.errors("POST", f"/ports/{self.ids[port]}/{call}", json=body)
        return text

    async def type(self, port: str = "bond0") -> str:
        answer = await self.sandbox.api.get(f"/ports/{self.ids[port]}")
        return str(answer.json()["network_type"])

    async def addresses(self) -> list[str]:
        answer = await self.sandbox.api.get(f"/devices/{self.device_id}/ips")
        return [each["address"] for each in answer.json()["ip_addresses"]]


async def vlan(sandbox: Sandbox, **body: Any) -> dict[str, Any]:
    answer = await sandbox.api.post(f"{sandbox.project}/virtual-networks", json={"metro": "da", **body})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


@pytest.fixture
async def net(sandbox: Sandbox) -> Net:
    (id_,) = await sandbox.seed(1)
    return Net(sandbox, await sandbox.device(id_))


async def test_hybrid_bonded_and_back(sandbox: Sandbox, net: Net) -> None:
    one = await vlan(sandbox, vxlan=1000)
    assert one["vxlan"] == 1000
    assert await net.type() == "layer3"
    assert (await net.post("bond0", "assign", vnid=one["id"]))["network_type"] == "hybrid-bonded"
    assert (await net.refused("bond0", "assign", vnid="1000")).startswith("Virtual network 1000 already")
    assert await sandbox.errors("DELETE", f"/virtual-networks/{one['id']}") == ["Cannot delete Virtual Network when port is assigned"]
    shown = (await sandbox.api.get(f"/virtual-networks/{one['id']}", params={"include": "instances"})).json()
    assert shown["instances"][0]["id"] == net.device_id
    assert (await net.post("bond0", "unassign", vnid=1000))["network_type"] == "layer3"
    assert (await sandbox.api.delete(f"/virtual-networks/{one['id']}")).status_code == 204


async def test_layer_2_takes_the_addresses_and_layer_3_gives_them_back(sandbox: Sandbox, net: Net) -> None:
    assert len(await net.addresses()) == 3
    assert (await net.post("bond0", "convert/layer-2"))["network_type"] == "layer2-bonded"
    assert await net.addresses() == []
    assert await net.refused("bond0", "convert/layer-2") == "bond0 is already configured for Layer 2"
    await net.post("bond0", "disbond", bulk_disable=True)
    assert await net.type() == "layer2-individual"
    one = await vlan(sandbox)
    await net.post("eth1", "assign", vnid=one["vxlan"])
    assert "virtual networks" in await net.refused("bond0", "bond", bulk_enable=True)
    await net.post("eth1", "unassign", vnid=str(one["vxlan"]))
    assert "bonded" in await net.refused("bond0", "convert/layer-3")
    await net.post("bond0", "bond", bulk_enable=True)
    asked = [{"address_family": 4, "public": True}, {"address_family": 4, "public": False}]
    assert (await net.post("bond0", "convert/layer-3", request_ips=asked))["network_type"] == "layer3"
    assert len(await net.addresses()) == 2


async def test_a_bond_takes_its_vlans_to_layer_3(sandbox: Sandbox, net: Net) -> None:
    """As equinix.cloud and terraform-provider-equinix go from layer2-bonded to hybrid-bonded, in tests against the real service."""
    await net.post("bond0", "convert/layer-2")
    first, second = await vlan(sandbox), await vlan(sandbox)
    for each in (first, second):
        await net.post("bond0", "assign", vnid=each["id"])
    assert await net.type() == "layer2-bonded"
    # A native one has no place on a bond in layer 3 (vendor's docs).
    await net.post("bond0", "native-vlan", vnid=first["id"])
    assert "native" in await net.refused("bond0", "convert/layer-3")
    await sandbox.api.delete(f"/ports/{net.ids['bond0']}/native-vlan")
    asked = [{"address_family": 4, "public": True}, {"address_family": 4, "public": False}, {"address_family": 6, "public": True}]
    converted = await net.post("bond0", "convert/layer-3?include=virtual_networks", request_ips=asked)
    assert converted["network_type"] == "hybrid-bonded"
    assert [each["vxlan"] for each in converted["virtual_networks"]] == [first["vxlan"], second["vxlan"]]
    assert len(await net.addresses()) == 3
    assert (await net.post("bond0", "convert/layer-2"))["network_type"] == "layer2-bonded"
    # metal-cli 0.18 sends the last address it was asked for as often as it has flags.
    asked = [{"address_family": 4, "public": True}] * 3
    await net.post("bond0", "convert/layer-3", request_ips=asked)
    assert len(await net.addresses()) == 1


async def test_ports_in_the_order_of_packet_python(sandbox: Sandbox, net: Net) -> None:
    """Its live test: the bond is taken apart with a VLAN on it, which is taken off afterwards."""
    one, two = await vlan(sandbox), await vlan(sandbox)
    await net.post("bond0", "convert/layer-2", vnid=one["id"])
    await net.post("bond0", "unassign", vnid=one["id"])
    await net.post("bond0", "assign", vnid=one["id"])
    await net.post("bond0", "bond", bulk_disable=False)
    apart = await net.post("bond0", "disbond?include=virtual_networks", bulk_disable=False)
    assert (apart["data"]["bonded"], apart["network_type"]) == (False, "layer2-individual")
    assert [each["id"] for each in apart["virtual_networks"]] == [one["id"]]
    assert await sandbox.errors("DELETE", f"/virtual-networks/{one['id']}") == ["Cannot delete Virtual Network when port is assigned"]
    # What is on it can only become less while it is apart.
    assert "not bonded" in await net.refused("bond0", "assign", vnid=two["id"])
    await net.post("bond0", "unassign", vnid=one["id"])
    assert await net.refused("bond0", "unassign", vnid=one["id"]) == "Virtual network 1000 not assigned"
    for each in (one, two):
        await net.post("eth0", "assign", vnid=each["id"])
    await net.post("eth0", "native-vlan", vnid=one["id"])
    await sandbox.api.delete(f"/ports/{net.ids['eth0']}/native-vlan")


async def test_one_port_leaves_a_bond_that_has_vlans(sandbox: Sandbox, net: Net) -> None:
    one, two = await vlan(sandbox), await vlan(sandbox)
    for each in (one, two):
        await net.post("bond0", "assign", vnid=each["id"])
    assert await net.type() == "hybrid-bonded"
    await net.post("eth1", "disbond")
    assert await net.type() == "hybrid"
    await net.post("eth1", "bond")
    assert await net.type() == "hybrid-bonded"
    await net.post("bond0", "convert/layer-2")
    await net.post("bond0", "native-vlan", vnid=one["id"])
    assert "native" in await net.refused("eth1", "disbond")
    assert "native" in await net.refused("bond0", "disbond")


async def test_a_bond_is_taken_apart_before_or_after_it_leaves_layer_3(sandbox: Sandbox, net: Net) -> None:
    await net.post("eth1", "disbond")
    assert "last port" in await net.refused("eth0", "disbond")
    assert (await net.post("bond0", "disbond"))["data"]["bonded"] is False
    assert await net.type() == "layer2-individual"
    assert len(await net.addresses()) == 3
    assert (await net.post("bond0", "convert/layer-2"))["network_type"] == "layer2-individual"
    assert await net.addresses() == []
    # And its way back: bond, then layer 3.
    assert (await net.post("bond0", "bond"))["network_type"] == "layer2-bonded"
    assert (await net.post("bond0", "convert/layer-3"))["network_type"] == "layer3"


async def test_hybrid_unbonded_and_native(sandbox: Sandbox, net: Net) -> None:
    answer = await sandbox.api.post(f"/ports/{net.ids['eth1']}/disbond", params={"bulk_disable": "false"})
    assert answer.json()["data"]["bonded"] is False
    assert await net.type() == "hybrid"
    first, second = await vlan(sandbox), await vlan(sandbox)
    assert (first["vxlan"], second["vxlan"]) == (1000, 1001)
    await net.post("eth1", "assign", vnid=first["id"])
    assert "At least two" in await net.refused("eth1", "native-vlan", vnid=first["id"])
    await net.post("eth1", "assign", vnid=second["id"])
    native = (await net.post("eth1", "native-vlan?include=native_virtual_network", vnid=first["id"]))["native_virtual_network"]
    assert native["vxlan"] == 1000
    assert "native" in await net.refused("eth1", "unassign", vnid=first["id"])
    assert (await sandbox.api.delete(f"/ports/{net.ids['eth1']}/native-vlan")).json()["native_virtual_network"] is None
    assert "bond port" in await net.refused("eth1", "convert/layer-2")


async def test_batches_are_worked_off_afterwards(sandbox: Sandbox, net: Net) -> None:
    first, second = await vlan(sandbox), await vlan(sandbox)
    await net.post("bond0", "convert/layer-2")
    path = "vlan-assignments/batches"
    wanted = [{"vlan": str(first["vxlan"]), "state": "assigned", "native": True}, {"vlan": second["id"], "state": "assigned"}]
    batch = await net.post("bond0", path, vlan_assignments=wanted)
    assert (batch["state"], batch["quantity"]) == ("queued", 2)
    store = sandbox.world.store
    await sandbox.until(lambda: store["vlan_batches"][batch["id"]].state == "completed")
    assignments = (await sandbox.api.get(f"/ports/{net.ids['bond0']}/vlan-assignments")).json()["vlan_assignments"]
    assert [(each["vlan"], each["native"]) for each in assignments] == [(1000, True), (1001, False)]
    # The first part of it could be done, the second cannot: nothing is.
    wanted = [{"vlan": second["id"], "state": "unassigned"}, {"vlan": first["id"], "state": "assigned", "native": True}]
    bad = await net.post("bond0", path, vlan_assignments=wanted)
    await sandbox.until(lambda: store["vlan_batches"][bad["id"]].state == "failed")
    assert (await sandbox.api.get(f"/ports/{net.ids['bond0']}/{path}/{bad['id']}")).json()["error_messages"]
    assert len(store["ports"][net.ids["bond0"]].vlan_ids) == 2
    # What is not on the port is taken off it without a word.
    third = await vlan(sandbox)
    quiet = await net.post("bond0", path, vlan_assignments=[{"vlan": third["id"], "state": "unassigned"}])
    await sandbox.until(lambda: store["vlan_batches"][quiet["id"]].state == "completed")


async def test_four_ports_make_two_bonds(sandbox: Sandbox) -> None:
    (id_,) = await sandbox.seed(1, plan="n2.xlarge.x86")
    device = await sandbox.device(id_)
    assert {each["name"]: each.get("bond", {}).get("name") for each in device["network_ports"]} == {
        "bond0": None,
        "bond1": None,
        "eth0": "bond0",
        "eth1": "bond1",
        "eth2": "bond0",
        "eth3": "bond1",
    }


async def test_a_bond_without_addresses_is_taken_apart_port_by_port(sandbox: Sandbox) -> None:
    """As packngo makes a machine with four ports hybrid, and takes it back."""
    (id_,) = await sandbox.seed(1, plan="n2.xlarge.x86")
    ids = {each["name"]: each["id"] for each in (await sandbox.device(id_))["network_ports"]}

    async def shown() -> dict[str, tuple[bool, str | None]]:
        ports = (await sandbox.device(id_))["network_ports"]
        return {each["name"]: (each["data"]["bonded"], each.get("network_type")) for each in ports}

    for name in ("eth1", "eth3"):
        assert (await sandbox.api.post(f"/ports/{ids[name]}/disbond")).status_code == 200
    # The bond is not what left it: clients take a device whose bond1 is not bonded for one in layer 2.
    assert await shown() == {
        "bond0": (True, "layer3"),
        "bond1": (True, "hybrid"),
        "eth0": (True, None),
        "eth1": (False, None),
        "eth2": (True, None),
        "eth3": (False, None),
    }
    await sandbox.api.post(f"/ports/{ids['bond1']}/bond", params={"bulk_enable": "false"})
    assert (await shown())["bond1"] == (True, "layer3")
    await sandbox.api.post(f"/ports/{ids['bond1']}/disbond", json={"bulk_disable": True})
    assert (await shown())["bond1"] == (False, "layer2-individual")
    assert (await sandbox.api.post(f"/ports/{ids['eth0']}/disbond")).status_code == 200
    assert "last port" in (await sandbox.errors("POST", f"/ports/{ids['eth2']}/disbond"))[0]


async def test_vlan_numbers(sandbox: Sandbox) -> None:
    await vlan(sandbox, vxlan=2)
    assert await sandbox.errors("POST", f"{sandbox.project}/virtual-networks", json={"metro": "da", "vxlan": 2}) == [
        "Vxlan has already been taken"
    ]
    assert (await vlan(sandbox, vxlan=2, metro="sv"))["metro_code"] == "sv"
    assert await sandbox.errors("POST", f"{sandbox.project}/virtual-networks", json={"vxlan": 4000}) == [
        "Metro can't be blank",
    ]
    assert await sandbox.errors("POST", f"{sandbox.project}/virtual-networks", json={"metro": "da", "vxlan": 4000}) == [
        "Vxlan must be between 2 and 3999"
    ]
    found = (await sandbox.api.get(f"{sandbox.project}/virtual-networks", params={"metro": "sv"})).json()["virtual_networks"]
    assert [each["vxlan"] for each in found] == [2]
    await sandbox.control.put("/settings", json={"quotas": {"virtual_networks": 2}})
    assert "quota" in (await sandbox.errors("POST", f"{sandbox.project}/virtual-networks", json={"metro": "da"}))[0]


async def test_a_vlan_of_a_building_as_older_clients_ask_for_it(sandbox: Sandbox) -> None:
    made = (await sandbox.api.post(f"{sandbox.project}/virtual-networks", json={"facility": "da11", "vxlan": 7})).json()
    assert (made["vxlan"], made["facility_code"], made["metro"], made["metro_code"]) == (1000, "da11", None, None)
    shown = (await sandbox.api.get(f"/virtual-networks/{made['id']}", params={"include": "facility"})).json()
    assert shown["facility"]["code"] == "da11"
    (id_,) = await sandbox.seed(1, metro="da")
    bond = next(each for each in (await sandbox.device(id_))["network_ports"] if each["name"] == "bond0")
    assert (await sandbox.api.post(f"/ports/{bond['id']}/assign", json={"vnid": made["id"]})).status_code == 200


async def test_reservations_and_assignments(sandbox: Sandbox) -> None:
    assert (await sandbox.api.get(f"{sandbox.project}/ips")).json()["ip_addresses"] == []
    (id_,) = await sandbox.seed(1)
    blocks = (await sandbox.api.get(f"{sandbox.project}/ips")).json()["ip_addresses"]
    assert sorted((each["type"], each["cidr"]) for each in blocks) == [("private_ipv4", 25), ("public_ipv6", 56)]
    block = (
        await sandbox.api.post(
            f"{sandbox.project}/ips", json={"type": "public_ipv4", "quantity": 4, "metro": "da", "details": "d", "tags": ["t"]}
        )
    ).json()
    assert (block["cidr"], block["state"], block["assignments"]) == (30, "created", [])
    path = f"/ips/{block['id']}"
    free = (await sandbox.api.get(f"{path}/available", params={"cidr": 32})).json()["available"]
    assert len(free) == 4
    assigned = await sandbox.api.post(f"/devices/{id_}/ips", json={"address": free[1]})
    assert assigned.status_code == 201
    assert assigned.json()["management"] is False
    assert await sandbox.errors("POST", f"/devices/{id_}/ips", json={"address": free[1].split("/")[0]}) == [
        "Address has already been taken"
    ]
    assert await sandbox.errors("DELETE", path)
    assert len((await sandbox.api.get(f"{path}/available", params={"cidr": 31})).json()["available"]) == 1
    assert (await sandbox.api.get(f"/ips/{assigned.json()['id']}")).json()["assigned_to"]["href"].endswith(id_)
    assert (await sandbox.api.delete(f"/ips/{assigned.json()['id']}")).status_code == 204
    assert (await sandbox.api.patch(path, json={"details": "e", "tags": []})).json()["details"] == "e"
    assert (await sandbox.api.delete(path)).status_code == 204
    assert await sandbox.errors("GET", path, 404) == ["Not found"]


async def test_a_block_can_be_released_while_its_device_is_deleting(sandbox: Sandbox) -> None:
    block = (await sandbox.api.post(f"{sandbox.project}/ips", json={"type": "public_ipv4", "quantity": 2, "metro": "da"})).json()
    wanted = [{"address_family": 4, "public": True, "cidr": 31, "ip_reservations": [block["id"]]}, {"address_family": 4, "public": False}]
    device = await sandbox.active(ip_addresses=wanted)
    assert "assigned" in (await sandbox.errors("DELETE", f"/ips/{block['id']}"))[0]
    sandbox.world.clock.speed = 1
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    assert (await sandbox.api.delete(f"/ips/{block['id']}")).status_code == 204
    assert sandbox.state(device["id"]) == "deprovisioning"
    assert (await sandbox.api.get(f"/devices/{device['id']}/ips")).json()["ip_addresses"]


async def test_a_device_that_cannot_get_its_addresses_fails(sandbox: Sandbox) -> None:
    block = (await sandbox.api.post(f"{sandbox.project}/ips", json={"type": "public_ipv4", "quantity": 2, "metro": "da"})).json()
    wanted = [
        {"address_family": 4, "public": True, "cidr": 31, "ip_reservations": [block["id"]]},
        {"address_family": 4, "public": False},
    ]
    first = await sandbox.active(ip_addresses=wanted)
    assert first["ip_addresses"][0]["parent_block"]["href"].endswith(block["id"])
    assert sandbox.machines.hardware[first["id"]].address == first["ip_addresses"][0]["address"]
    second = await sandbox.create(ip_addresses=wanted)
    await sandbox.until(lambda: sandbox.state(second["id"]) in {"failed", "gone"})


async def test_over_quota_waits_or_fails_by_choice(sandbox: Sandbox) -> None:
    await sandbox.control.put("/settings", json={"quotas": {"public_ipv4": 4}})
    wanted = {"type": "public_ipv4", "quantity": 8, "metro": "DA"}
    pending = (await sandbox.api.post(f"{sandbox.project}/ips", json=wanted)).json()
    assert (pending["state"], pending["network"], pending["cidr"]) == ("pending", None, 29)
    assert "approval" in (await sandbox.errors("POST", f"{sandbox.project}/ips", json={**wanted, "fail_on_approval_required": True}))[0]
    assert await sandbox.errors("POST", f"{sandbox.project}/ips", json={"type": "global_ipv4", "quantity": 8}) == [
        "Quantity must be one of 1, 2, 4"
    ]


async def test_a_vlan_is_deleted_while_its_last_device_is(sandbox: Sandbox, net: Net) -> None:
    """As packet-python's live tests end: device, VLANs and project are deleted one call after the other."""
    kept, one = await vlan(sandbox), await vlan(sandbox)
    for each in (kept, one):
        await net.post("bond0", "assign", vnid=each["id"])
    sandbox.world.clock.speed = 1
    assert (await sandbox.api.delete(f"/devices/{net.device_id}")).status_code == 204
    assert sandbox.state(net.device_id) == "deprovisioning"
    assert (await sandbox.api.get(f"/virtual-networks/{one['id']}")).json()["instances"] == []
    assert (await sandbox.api.delete(f"/virtual-networks/{one['id']}")).status_code == 204
    # The device and its ports can still be read.
    port = (await sandbox.api.get(f"/ports/{net.ids['bond0']}", params={"include": "virtual_networks"})).json()
    assert [each["id"] for each in port["virtual_networks"]] == [kept["id"]]
    assert (await sandbox.device(net.device_id))["state"] == "deprovisioning"
    sandbox.world.clock.speed = 10_000_000
    await sandbox.until(lambda: sandbox.state(net.device_id) == "gone")
    assert (await sandbox.api.delete(f"/virtual-networks/{kept['id']}")).status_code == 204
