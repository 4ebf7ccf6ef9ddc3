# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network of simulated machines: an address in a VLAN leads to a machine only while its port is in that VLAN."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.machines import Hardware
from sandbox.machines.host import Host
from sandbox.metal.ports.rules import tagged_vlans
from sandbox.openshift.node_network import NetworkScript, NodeNetwork, node_network
from tests.sandbox.metal.conftest import Sandbox, sandbox_in

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
    host = Host(
        hardware,
        folder,
        sandbox.world.clock,
        boot_url=sandbox.boot_url,
        metadata_url=sandbox.metadata_url,
        dns_server=("127.0.0.1", 9),
        vlans=lambda id_: tagged_vlans(sandbox.world, id_),
    )
    return device, host


async def test_an_address_in_a_vlan_needs_a_port_in_that_vlan(sandbox: Sandbox, tmp_path: Path) -> None:
    device, host = await machine_of(sandbox, tmp_path / "machine", tags=TAGS)
    network = await node_network(host, NetworkScript.of(config(sandbox)))
    assert network == NodeNetwork("127.200.41.21", 1100)
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
    assert host.vlans() == {1100, 1101}
    await host.http.close()


async def test_a_machine_keeps_what_it_has_configured(sandbox: Sandbox, tmp_path: Path) -> None:
    _device, host = await machine_of(sandbox, tmp_path / "machine", tags=TAGS)
    script = NetworkScript.of(config(sandbox))
    assert script is not None
    await script.configure(host)
    gone = NetworkScript("http://127.0.0.1:9/metadata", "vlan")
    assert await gone.configure(host) == NodeNetwork("127.200.41.21", 1100)
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


@pytest.mark.parametrize(("kind", "families"), [("public", "4"), ("private", "4"), ("public", "4 6")])
async def test_a_bond_has_the_addresses_of_the_metadata(sandbox: Sandbox, tmp_path: Path, kind: str, families: str) -> None:
    device, host = await machine_of(sandbox, tmp_path / "machine")
    own = {(each["address_family"], each["public"]): each["address"] for each in device["ip_addresses"]}
    network = await node_network(host, NetworkScript.of(config(sandbox, kind, families=families)))
    assert network.addresses == (own[4, kind == "public"], *([own[6, True]] if families == "4 6" else []))
    assert host.addresses == (own[4, True], own[4, False])
    # Private addresses are reached from the machine's own.
    peers: list[str] = []
    arrived = asyncio.Event()

    def note(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append(writer.get_extra_info("peername")[0])
        arrived.set()
        writer.close()

    async with await asyncio.start_server(note, own[4, False], 0) as server:
        with pytest.raises(httpx.TransportError):
            await host.http.request("GET", f"http://{own[4, False]}:{server.sockets[0].getsockname()[1]}/")
        await asyncio.wait_for(arrived.wait(), 5)
    assert peers == [own[4, False]]
    await host.http.close()


async def test_a_node_waits_for_the_tags_of_its_vlan(sandbox: Sandbox, tmp_path: Path) -> None:
    _device, host = await machine_of(sandbox, tmp_path / "machine")
    script = NetworkScript.of(config(sandbox, "vlan"))
    assert script is not None
    waiting = asyncio.create_task(script.configure(host))
    done, _pending = await asyncio.wait({waiting}, timeout=1.5)
    assert not done
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await host.http.close()
