"""Ports, VLANs, reservations and assignments."""

from typing import Any

import pytest

from tests.metal_api.conftest import Sandbox


class Net:
    """The ports of one device, by name, and two VLANs, by number."""

    def __init__(self, sandbox: Sandbox, device: dict[str, Any], vlans: dict[str, str]) -> None:
        self.sandbox = sandbox
        self.vlans = vlans
        self.device_id = device["id"]
        self.ids = {each["name"]: each["id"] for each in device["network_ports"]}

    async def post(self, port: str, call: str, **body: Any) -> dict[str, Any]:
        answer = await self.sandbox.api.post(f"/ports/{self.ids[port]}/{call}", json=body)
        assert answer.status_code in {200, 201}, answer.text
        result: dict[str, Any] = answer.json()
        return result

    def read(self, step: str) -> tuple[str, str, dict[str, Any]]:
        """Return port, call and body of a step such as ``eth1 assign 1000``. Clients send the id of a VLAN, and flags of a bond."""
        port, call, *vlan = step.split()
        flags = {"bond": {"bulk_enable": port == "bond0"}, "disbond": {"bulk_disable": port == "bond0"}}
        return port, call, {"vnid": self.vlans[vlan[0]]} if vlan else flags.get(call, {})

    async def step(self, step: str) -> None:
        port, call, body = self.read(step)
        await self.post(port, call, **body)

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
    return await sandbox.post("virtual-networks", {"metro": "da", **body})


@pytest.fixture
async def net(sandbox: Sandbox) -> Net:
    (id_,) = await sandbox.seed(1)
    vlans = {str(number): (await vlan(sandbox, vxlan=number))["id"] for number in (1000, 1001)}
    return Net(sandbox, await sandbox.device(id_), vlans)


NATIVE = ["bond0 convert/layer-2", "bond0 assign 1000", "bond0 assign 1001", "bond0 native-vlan 1000"]
ON_ETH1 = ["eth1 disbond", "eth1 assign 1000", "eth1 assign 1001", "eth1 native-vlan 1000"]
APART = ["bond0 convert/layer-2", "bond0 disbond"]


@pytest.mark.parametrize(
    ("steps", "network_type", "addresses"),
    [
        ([], "layer3", 3),
        (["bond0 assign 1000", "bond0 unassign 1000"], "layer3", 3),
        (["bond0 assign 1000", "bond0 assign 1001", "eth1 disbond"], "hybrid", 3),
        (["bond0 assign 1000", "bond0 assign 1001", "eth1 disbond", "eth1 bond"], "hybrid-bonded", 3),
        (ON_ETH1, "hybrid", 3),
        (["bond0 convert/layer-2"], "layer2-bonded", 0),
        (APART, "layer2-individual", 0),
        ([*APART, "eth1 assign 1000", "eth1 unassign 1000", "bond0 bond"], "layer2-bonded", 0),
        # The bond is taken apart before it leaves layer 3, and its way back: bond, then layer 3.
        (["bond0 disbond", "bond0 convert/layer-2"], "layer2-individual", 0),
        (["bond0 disbond", "bond0 convert/layer-2", "bond0 bond", "bond0 convert/layer-3"], "layer3", 3),
        # packet-python's live test: the VLAN is taken off afterwards.
        (["bond0 convert/layer-2 1000", "bond0 disbond", "bond0 unassign 1000"], "layer2-individual", 0),
    ],
)
async def test_network_types(net: Net, steps: list[str], network_type: str, addresses: int) -> None:
    for step in steps:
        await net.step(step)
    assert await net.type() == network_type
    assert len(await net.addresses()) == addresses


@pytest.mark.parametrize(
    ("steps", "refused", "text"),
    [
        ([], "bond0 unassign 1000", "Virtual network 1000 not assigned"),
        (["bond0 assign 1000"], "bond0 assign 1000", "Virtual network 1000 already"),
        (["bond0 disbond"], "bond0 assign 1000", "not bonded"),
        (["bond0 convert/layer-2"], "bond0 convert/layer-2", "bond0 is already configured for Layer 2"),
        ([*APART, "eth1 assign 1000"], "bond0 bond", "virtual networks"),
        (APART, "bond0 convert/layer-3", "bonded"),
        # A native VLAN has no place on a bond in layer 3 (vendor's docs).
        (NATIVE, "bond0 convert/layer-3", "native"),
        (NATIVE, "eth1 disbond", "native"),
        (["eth1 disbond"], "eth0 disbond", "last port"),
        (["eth1 disbond", "eth1 assign 1000"], "eth1 native-vlan 1000", "At least two"),
        (ON_ETH1, "eth1 unassign 1000", "native"),
    ],
)
async def test_refused_calls_of_ports(net: Net, steps: list[str], refused: str, text: str) -> None:
    for step in steps:
        await net.step(step)
    port, call, body = net.read(refused)
    assert text in await net.refused(port, call, **body)


async def test_vlans_of_ports_are_shown_and_kept(sandbox: Sandbox, net: Net) -> None:
    path = f"/virtual-networks/{net.vlans['1000']}"
    await net.step("bond0 assign 1000")
    assert await sandbox.errors("DELETE", path) == ["Cannot delete Virtual Network when port is assigned"]
    shown = (await sandbox.api.get(path, params={"include": "instances"})).json()
    assert shown["instances"][0]["id"] == net.device_id
    apart = await net.post("bond0", "disbond?include=virtual_networks", bulk_disable=False)
    assert (apart["data"]["bonded"], [each["id"] for each in apart["virtual_networks"]]) == (False, [net.vlans["1000"]])
    assert await sandbox.errors("DELETE", path) == ["Cannot delete Virtual Network when port is assigned"]
    await net.step("bond0 unassign 1000")
    assert (await sandbox.api.delete(path)).status_code == 204


async def test_a_bond_takes_its_vlans_to_layer_3(net: Net) -> None:
    """As equinix.cloud and terraform-provider-equinix go from layer2-bonded to hybrid-bonded, in tests against the real service."""
    for step in NATIVE[:-1]:
        await net.step(step)
    asked = [{"address_family": 4, "public": True}, {"address_family": 4, "public": False}, {"address_family": 6, "public": True}]
    converted = await net.post("bond0", "convert/layer-3?include=virtual_networks", request_ips=asked)
    assert converted["network_type"] == "hybrid-bonded"
    assert [each["vxlan"] for each in converted["virtual_networks"]] == [1000, 1001]
    assert len(await net.addresses()) == 3
    assert (await net.post("bond0", "convert/layer-2"))["network_type"] == "layer2-bonded"
    # metal-cli 0.18 sends the last address it was asked for as often as it has flags.
    asked = [{"address_family": 4, "public": True}] * 3
    await net.post("bond0", "convert/layer-3", request_ips=asked)
    assert len(await net.addresses()) == 1


async def test_batches_are_worked_off_afterwards(sandbox: Sandbox, net: Net) -> None:
    first, second = net.vlans.values()
    await net.post("bond0", "convert/layer-2")
    path = "vlan-assignments/batches"
    wanted = [{"vlan": "1000", "state": "assigned", "native": True}, {"vlan": second, "state": "assigned"}]
    batch = await net.post("bond0", path, vlan_assignments=wanted)
    assert (batch["state"], batch["quantity"]) == ("queued", 2)
    store = sandbox.world.store
    await sandbox.until(lambda: store["vlan_batches"][batch["id"]].state == "completed")
    assignments = (await sandbox.api.get(f"/ports/{net.ids['bond0']}/vlan-assignments")).json()["vlan_assignments"]
    assert [(each["vlan"], each["native"]) for each in assignments] == [(1000, True), (1001, False)]
    # The first part of it could be done, the second cannot: nothing is.
    wanted = [{"vlan": second, "state": "unassigned"}, {"vlan": first, "state": "assigned", "native": True}]
    bad = await net.post("bond0", path, vlan_assignments=wanted)
    await sandbox.until(lambda: store["vlan_batches"][bad["id"]].state == "failed")
    assert (await sandbox.api.get(f"/ports/{net.ids['bond0']}/{path}/{bad['id']}")).json()["error_messages"]
    assert len(store["ports"][net.ids["bond0"]].vlan_ids) == 2
    # What is not on the port is taken off it without a word.
    third = await vlan(sandbox)
    quiet = await net.post("bond0", path, vlan_assignments=[{"vlan": third["id"], "state": "unassigned"}])
    await sandbox.until(lambda: store["vlan_batches"][quiet["id"]].state == "completed")


async def test_vlan_numbers(sandbox: Sandbox) -> None:
    await vlan(sandbox, vxlan=2)
    assert await sandbox.refused("virtual-networks", {"metro": "da", "vxlan": 2}) == ["Vxlan has already been taken"]
    assert (await vlan(sandbox, vxlan=2, metro="sv"))["metro_code"] == "sv"
    assert await sandbox.refused("virtual-networks", {"metro": "da", "vxlan": 4000}) == ["Vxlan must be between 2 and 3999"]
    found = (await sandbox.api.get(f"{sandbox.project}/virtual-networks", params={"metro": "sv"})).json()["virtual_networks"]
    assert [each["vxlan"] for each in found] == [2]
    await sandbox.control.put("/settings", json={"quotas": {"virtual_networks": 2}})
    assert "quota" in (await sandbox.refused("virtual-networks", {"metro": "da"}))[0]


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
    block = await sandbox.post("ips", {"type": "public_ipv4", "quantity": 2, "metro": "da"})
    wanted = [{"address_family": 4, "public": True, "cidr": 31, "ip_reservations": [block["id"]]}, {"address_family": 4, "public": False}]
    device = await sandbox.active(ip_addresses=wanted)
    assert "assigned" in (await sandbox.errors("DELETE", f"/ips/{block['id']}"))[0]
    sandbox.world.clock.speed = 1
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    assert (await sandbox.api.delete(f"/ips/{block['id']}")).status_code == 204
    assert sandbox.state(device["id"]) == "deprovisioning"
    assert (await sandbox.api.get(f"/devices/{device['id']}/ips")).json()["ip_addresses"]


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
