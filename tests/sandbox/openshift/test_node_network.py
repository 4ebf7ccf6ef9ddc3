"""The network of simulated machines: an address in a VLAN leads to a machine only while its port is in that VLAN."""

import asyncio
import base64
import ipaddress
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from metal_api.core.machines import Hardware
from sandbox.machines.host import Host, Site
from sandbox.metal.attachment import attachment
from sandbox.openshift.node_network import NetworkScript, NodeNetwork, node_network
from tests.metal_api.conftest import Sandbox, sandbox_in

TAGS = ["openshift-vlan=1100", "openshift-vlan-address=127.200.41.21/24"]


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with sandbox_in(tmp_path / "state") as running:
        yield running


def config(sandbox: Sandbox, kind: str = "vlan", *, enabled: bool = True, families: str = "4") -> dict[str, Any]:
    """Return the merged Ignition config of a node, as far as it has a network."""

    def file(path: str, content: str) -> dict[str, Any]:
        return {"path": path, "contents": {"source": f"data:;base64,{base64.b64encode(content.encode()).decode()}"}}

    unit = {"name": "node-network.service", "enabled": enabled, "contents": "[Service]\nExecStart=/usr/local/bin/node-network\n"}
    settings = f'METADATA_URL="{sandbox.metadata_url}/metadata"\nNODE_ADDRESS="{kind}"\nFAMILIES="{families}"\n'
    files = [file("/etc/node-network.conf", settings), file("/usr/local/bin/node-network", "#!/bin/sh\n")]
    return {"storage": {"files": files}, "systemd": {"units": [unit]}}


async def machine_of(sandbox: Sandbox, folder: Path, **body: Any) -> tuple[dict[str, Any], Host]:
    """Return an active device and its machine, which reads the metadata from its own address."""
    device = await sandbox.active(hostname="worker-0.demo.metal.test", **body)
    address = next(each["address"] for each in device["ip_addresses"] if each["public"] and each["address_family"] == 4)
    hardware = Hardware(device["id"], device["hostname"], address, "c3.small.x86", "x86_64", (), (), "custom_ipxe")
    where = (sandbox.world.clock, sandbox.boot_url, sandbox.metadata_url, ("127.0.0.1", 9))
    return device, Host(hardware, folder, Site(*where, attachment=lambda id_: attachment(sandbox.world, id_)))


async def test_an_address_in_a_vlan_needs_a_port_in_that_vlan(sandbox: Sandbox, tmp_path: Path) -> None:
    device, host = await machine_of(sandbox, tmp_path / "machine", tags=TAGS)
    network = await node_network(host, NetworkScript.of(config(sandbox)))
    assert network == NodeNetwork("127.200.41.21", 1100, subnet="127.200.41.0/24")
    vlans = [
        (await sandbox.api.post(f"{sandbox.project}/virtual-networks", json={"metro": "da", "vxlan": vxlan})).json()
        for vxlan in (1101, 1100)
    ]
    (bond,) = (port for port in device["network_ports"] if port["name"] == "bond0")
    waiting = asyncio.create_task(network.until_connected(host))
    (await sandbox.api.post(f"/ports/{bond['id']}/assign", json={"vnid": vlans[0]["id"]})).raise_for_status()
    done, _pending = await asyncio.wait({waiting}, timeout=2.5)
    assert not done, "another VLAN does not connect the machine"
    (await sandbox.api.post(f"/ports/{bond['id']}/assign", json={"vnid": vlans[1]["id"]})).raise_for_status()
    await asyncio.wait_for(waiting, 20)
    assert host.attachment().vlans == {1100, 1101}
    await host.http.close()


async def test_in_layer_2_a_machine_reaches_others_by_the_gateway_of_its_vlan_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    vlan = (await sandbox.api.post(f"{sandbox.project}/virtual-networks", json={"metro": "da", "vxlan": 1100})).json()
    made = await sandbox.api.post(f"{sandbox.project}/ips", json={"type": "public_ipv4", "quantity": 8, "metro": "da"})
    block = made.json()
    router, address = (str(each) for each in list(ipaddress.ip_network(f"{block['network']}/{block['cidr']}").hosts())[:2])
    tags = ["openshift-vlan=1100", f"openshift-vlan-address={address}/29", f"openshift-vlan-gateway={router}"]
    device, host = await machine_of(sandbox, tmp_path / "machine", tags=tags)
    public = host.address
    script = NetworkScript.of(config(sandbox))
    network = await node_network(host, script)
    assert (network, host.address, public) == (
        NodeNetwork(address, 1100, gateway=router, subnet=f"{block['network']}/{block['cidr']}"),
        address,
        host.hardware.address,
    )
    # In layer 3 still, but the machine does not use its public address any more, and the VLAN leads nowhere yet.
    url = f"{sandbox.metadata_url}/metadata"
    (bond,) = (port for port in device["network_ports"] if port["name"] == "bond0")
    (await sandbox.api.post(f"/ports/{bond['id']}/assign", json={"vnid": vlan["id"]})).raise_for_status()
    assert network.is_in_vlan(host)
    assert not host.is_connected()
    with pytest.raises(httpx.ConnectError, match="no route to host"):
        await host.http.request("GET", url)
    body = {"virtual_network_id": vlan["id"], "ip_reservation_id": block["id"]}
    gateway = (await sandbox.api.post(f"{sandbox.project}/metal-gateways", json=body)).json()
    async with asyncio.timeout(20):
        while not host.is_connected():  # noqa: ASYNC110 - the gateway becomes active without an event
            await asyncio.sleep(0.05)
    # Reachable, but the metadata service knows devices by their management addresses.
    assert (await host.http.request("GET", url)).status_code == 404
    (await sandbox.api.post(f"/ports/{bond['id']}/convert/layer-2")).raise_for_status()
    assert (await sandbox.api.get(f"/devices/{device['id']}")).json()["ip_addresses"] == []
    assert host.is_connected()
    # A boot begins with DHCP, which does not answer in layer 2, and ends with what the machine has configured before.
    host.reset_network()
    assert (host.address, host.is_connected()) == (public, False)
    assert (await node_network(host, script), host.address) == (network, address)
    (await sandbox.api.delete(f"/metal-gateways/{gateway['id']}")).raise_for_status()
    assert not host.is_connected()
    await host.http.close()


async def test_without_an_enabled_unit_the_machine_has_the_address_of_dhcp_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    _device, host = await machine_of(sandbox, tmp_path / "machine", tags=TAGS)
    network = await node_network(host, NetworkScript.of(config(sandbox, enabled=False)))
    assert network == NodeNetwork(host.hardware.address)
    await network.until_connected(host)
    assert host.addresses == (host.hardware.address,)
    with pytest.raises(httpx.ConnectError, match="network is unreachable"):
        await host.http.request("GET", "http://127.128.0.1:9/")
    await host.http.close()
