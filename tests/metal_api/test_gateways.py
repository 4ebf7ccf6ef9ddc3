"""Metal gateways and VRFs."""

from typing import Any

import pytest

from sandbox.metal.attachment import active_addresses
from tests.metal_api.conftest import Sandbox


async def vlan(sandbox: Sandbox, metro: str = "da") -> str:
    return str((await sandbox.post("virtual-networks", {"metro": metro}))["id"])


async def test_a_private_gateway_has_a_block_of_its_own(sandbox: Sandbox) -> None:
    vlan_id = await vlan(sandbox)
    body = {"virtual_network_id": vlan_id, "private_ipv4_subnet_size": 16}
    made = await sandbox.post("metal-gateways", body, include="ip_reservation,virtual_network,project")
    block = made["ip_reservation"]
    assert (made["state"], made["project"]["name"], made["virtual_network"]["vxlan"]) == ("ready", "sandbox", 1000)
    assert (block["type"], block["cidr"], block["metal_gateway"]["id"]) == ("private_ipv4", 28, made["id"])
    assert made["gateway_address"] == f"{block['gateway']}/28"
    shown = (await sandbox.api.get(f"/virtual-networks/{vlan_id}")).json()
    assert [each["id"] for each in shown["metal_gateways"]] == [made["id"]]
    assert await sandbox.errors("DELETE", f"/ips/{block['id']}") == ["Cannot delete an IP reservation that is used by a metal gateway"]
    # Also after the time that an activation takes.
    await sandbox.world.policy.pause("gateway")
    assert (await sandbox.api.get(f"/metal-gateways/{made['id']}")).json()["state"] == "ready"
    deleted = await sandbox.api.delete(f"/metal-gateways/{made['id']}")
    assert (deleted.status_code, deleted.json()["state"]) == (202, "deleting")
    assert await sandbox.errors("GET", f"/metal-gateways/{made['id']}", 404) == ["Not found"]
    assert await sandbox.errors("GET", f"/ips/{block['id']}", 404) == ["Not found"]
    assert (await sandbox.api.delete(f"/virtual-networks/{vlan_id}")).status_code == 204


@pytest.mark.parametrize("is_first", [False, True], ids=["gateway before port", "port before gateway"])
async def test_a_gateway_is_active_when_a_port_is_in_its_vlan(sandbox: Sandbox, is_first: bool) -> None:
    vlan_id = await vlan(sandbox)
    (id_,) = await sandbox.seed(1)
    (bond,) = (each["id"] for each in (await sandbox.device(id_))["network_ports"] if each["name"] == "bond0")

    async def join() -> None:
        (await sandbox.api.post(f"/ports/{bond}/assign", json={"vnid": vlan_id})).raise_for_status()

    if is_first:
        await join()
    made = await sandbox.post("metal-gateways", {"virtual_network_id": vlan_id, "private_ipv4_subnet_size": 16})
    assert made["state"] == "ready"
    if not is_first:
        await join()
    await sandbox.until(lambda: sandbox.world.store["metal_gateways"][made["id"]].state == "active")
    assert active_addresses(sandbox.world, vlan_id) == [made["gateway_address"].partition("/")[0]]
    sandbox.world.change_settings({"durations": {"gateway_delete": 20_000}})
    deleted = await sandbox.api.delete(f"/metal-gateways/{made['id']}")
    assert (deleted.status_code, deleted.json()["state"]) == (202, "deleting")
    assert (await sandbox.api.get(f"/metal-gateways/{made['id']}")).json()["state"] == "deleting"
    sandbox.world.clock.speed = 10_000_000
    await sandbox.until(lambda: not len(sandbox.world.store["metal_gateways"]))
    assert await sandbox.errors("GET", f"/metal-gateways/{made['id']}", 404) == ["Not found"]


async def test_gateways_that_cannot_share_a_vlan(sandbox: Sandbox) -> None:
    """A public block has its VLAN for itself; so has a VRF (ours)."""

    async def block(**body: Any) -> dict[str, Any]:
        made = await sandbox.post("ips", {"type": "public_ipv4", "quantity": 8, "metro": "da", **body})
        return {"ip_reservation_id": made["id"]}

    vrfs = [await sandbox.post("vrfs", {"name": name, "metro": "da", "ip_ranges": [f"10.{name}.0.0/16"]}) for name in ("1", "2")]
    private = {"private_ipv4_subnet_size": 8}
    public = [await block() for _number in range(2)]
    routed = [await block(type="vrf", vrf_id=vrf["id"], network=f"10.{vrf['name']}.4.0", cidr=24) for vrf in vrfs]
    for first, others in (
        (private, [public[0], routed[0]]),
        (public[0], [private, public[1], routed[0]]),
        (routed[0], [private, public[1], routed[1]]),
    ):
        vlan_id = await vlan(sandbox)
        made = await sandbox.post("metal-gateways", {"virtual_network_id": vlan_id, **first})
        for other in others:
            body = {"virtual_network_id": vlan_id, **other}
            assert await sandbox.refused("metal-gateways", body) == ["Virtual network already has a metal gateway"], (first, other)
        # One that is being deleted is in nobody's way.
        await sandbox.api.delete(f"/metal-gateways/{made['id']}")
        last = await sandbox.post("metal-gateways", {"virtual_network_id": vlan_id, **others[-1]})
        await sandbox.api.delete(f"/metal-gateways/{last['id']}")
        await sandbox.until(lambda: not len(sandbox.world.store["metal_gateways"]))
    both = {"virtual_network_id": await vlan(sandbox)}
    await sandbox.post("metal-gateways", {**both, **routed[0]})
    await sandbox.post("metal-gateways", {**both, **await block(type="vrf", vrf_id=vrfs[0]["id"], network="10.1.5.0", cidr=24)})


async def test_a_public_gateway_and_what_is_refused(sandbox: Sandbox) -> None:
    vlan_id = await vlan(sandbox)
    small = await sandbox.post("ips", {"type": "public_ipv4", "quantity": 4, "metro": "da"})
    elsewhere = await sandbox.post("ips", {"type": "public_ipv4", "quantity": 8, "metro": "ny"})
    block = await sandbox.post("ips", {"type": "public_ipv4", "quantity": 8, "metro": "da"})
    for body, text in (
        ({}, "Virtual network can't be blank"),
        ({"virtual_network_id": "x"}, "Virtual network x does not exist in this project"),
        ({"virtual_network_id": vlan_id}, "Exactly one of ip_reservation_id and private_ipv4_subnet_size must be given"),
        ({"virtual_network_id": vlan_id, "private_ipv4_subnet_size": 9}, "Private ipv4 subnet size must be one of 8, 16, 32, 64, 128"),
        ({"virtual_network_id": vlan_id, "ip_reservation_id": "x"}, "IP reservation x does not exist in this project"),
        (
            {"virtual_network_id": vlan_id, "ip_reservation_id": elsewhere["id"]},
            "IP reservation must be in the same metro as the virtual network",
        ),
        (
            {"virtual_network_id": vlan_id, "ip_reservation_id": small["id"]},
            "IP reservation must be a public IPv4 block between /25 and /29",
        ),
    ):
        assert await sandbox.refused("metal-gateways", body) == [text]
    made = await sandbox.post("metal-gateways", {"virtual_network_id": vlan_id, "ip_reservation_id": block["id"]})
    assert made["ip_reservation"] == {"href": f"/metal/v1/ips/{block['id']}", "type": "public_ipv4"}
    again = {"virtual_network_id": await vlan(sandbox), "ip_reservation_id": block["id"]}
    assert await sandbox.refused("metal-gateways", again) == ["IP reservation is already in use"]
    await sandbox.api.delete(f"/metal-gateways/{made['id']}")
    await sandbox.until(lambda: not len(sandbox.world.store["metal_gateways"]))
    # A block that was reserved for itself stays.
    assert (await sandbox.api.get(f"/ips/{block['id']}")).json()["metal_gateway"] is None


async def test_blocks_of_a_vrf(sandbox: Sandbox) -> None:
    vrf = await sandbox.post("vrfs", {"name": "one", "metro": "da", "ip_ranges": ["192.168.0.0/20", "fd00:1::/56"], "local_asn": 65010})
    assert (vrf["local_asn"], vrf["metro"]["code"], vrf["project"]) == (65010, "da", {"href": f"/metal/v1{sandbox.project}"})
    body = {"type": "vrf", "vrf_id": vrf["id"], "network": "192.168.4.0", "cidr": 25, "tags": ["a"], "details": "b"}
    block = await sandbox.post("ips", body)
    assert (block["type"], block["vrf"]["id"], block["public"], block["gateway"]) == ("vrf", vrf["id"], False, "192.168.4.1")
    listed = (await sandbox.api.get(f"{sandbox.project}/ips", params={"types": "vrf"})).json()["ip_addresses"]
    assert [each["id"] for each in listed] == [block["id"]]
    six = await sandbox.post("ips", {**body, "network": "fd00:1:0:1::", "cidr": 64})
    assert six["address_family"] == 6
    for change, text in (
        ({"vrf_id": "x"}, "Vrf must exist"),
        ({"network": "192.168.4.1"}, "Network and cidr are not a subnet"),
        ({"cidr": 30}, "Cidr must be between 22 and 29"),
        ({"network": "10.0.0.0"}, "Network is not within an IP range of the VRF"),
        ({"network": "192.168.4.64", "cidr": 26}, "Network has already been taken"),
    ):
        assert await sandbox.refused("ips", {**body, **change}) == [text]
    gateway = await sandbox.post("metal-gateways", {"virtual_network_id": await vlan(sandbox), "ip_reservation_id": block["id"]})
    assert gateway["vrf"] == {"href": f"/metal/v1/vrfs/{vrf['id']}"}
    assert gateway["ip_reservation"]["vrf"] == gateway["vrf"]
    path = f"/vrfs/{vrf['id']}"
    assert await sandbox.errors("PUT", path, json={"ip_ranges": ["fd00:1::/56"]}) == [
        "Ip ranges: 192.168.4.0/25 is reserved and has to stay within one"
    ]
    assert await sandbox.errors("DELETE", path) == ["Cannot delete a VRF that has metal gateways"]
    await sandbox.api.delete(f"/metal-gateways/{gateway['id']}")
    await sandbox.until(lambda: not len(sandbox.world.store["metal_gateways"]))
    assert await sandbox.errors("DELETE", path) == ["Cannot delete a VRF that has IP reservations"]
    for each in (block, six):
        assert (await sandbox.api.delete(f"/ips/{each['id']}")).status_code == 204
    assert (await sandbox.api.delete(path)).status_code == 204
    assert await sandbox.errors("GET", path, 404) == ["Not found"]
