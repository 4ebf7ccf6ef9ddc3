"""Each machine network on machines with kernels of their own: what the MachineConfig configures, at each boot and without a link."""

import asyncio
import contextlib
import json
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.node_network import node_network
from metal_api.app import create_metadata_app
from metal_api.listener import Listener
from sandbox import namespace
from sandbox.containers.command import run
from sandbox.kernels.image import ensure_image
from sandbox.kernels.machine import Machine
from sandbox.kernels.router import be_gateway_of_vlan, routed
from sandbox.kernels.switch import Switch
from sandbox.openshift.machine_config_server import in_version, merged, template
from tests.cluster.control_plane import ControlPlane
from tests.kernels import kubelet
from tests.metal_api.conftest import sandbox_in

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not os.environ.get("SANDBOX_NAMESPACE"), reason="python -m tests.kernels runs these, as root"),
]

FILES = Path(__file__).resolve().parents[2] / "roles/ignition/files"
NAME = "worker-0"
SERVICES, PORT = "198.51.100.1", 8080
"""Where the metadata service and the API of the cluster are, outside of all networks of machines."""
VLAN, VLAN_ADDRESS, VLAN_GATEWAY = 1000, "192.168.40.21/24", "192.168.40.1"
CLOSED_PORT = 9
BOOTS_WITHIN = 600.0
SLOW = "%5BManager%5D%0ADefaultTimeoutStartSec=600%0ADefaultDeviceTimeoutSec=600%0A"
LONGEST_GAP = 10.0
"""Seconds without an answer after the loss of a link: LACP notices a silent one within 3 s, and the computer is busy."""


@dataclass(frozen=True)
class Mode:
    """A machine network, the IP versions of its cluster, and the tags of a device in it."""

    network: str
    families: tuple[int, ...] = (4,)
    vlan_mode: str = ""
    tags: tuple[str, ...] = ()


VLAN_TAGS = (f"openshift-vlan={VLAN}", f"openshift-vlan-address={VLAN_ADDRESS}")
MODES = {
    "bond": Mode("bond"),
    "private": Mode("private"),
    "dual-stack": Mode("bond", families=(4, 6)),
    "vlan-hybrid": Mode("vlan", vlan_mode="hybrid", tags=VLAN_TAGS),
    "vlan-layer2": Mode("vlan", vlan_mode="layer2", tags=(*VLAN_TAGS, f"openshift-vlan-gateway={VLAN_GATEWAY}")),
}


@dataclass
class Node:
    """A machine of the mode, its metadata, its switch and the cluster that it joins."""

    mode: Mode
    machine: Machine
    switch: Switch
    metadata: dict[str, Any]
    cluster: ControlPlane

    def of(self, family: int, *, public: bool) -> dict[str, Any]:
        (entry,) = [
            entry for entry in self.metadata["network"]["addresses"] if (entry["address_family"], entry["public"]) == (family, public)
        ]
        return dict(entry)

    @property
    def in_layer2(self) -> bool:
        return self.mode.vlan_mode == "layer2"

    @property
    def node_addresses(self) -> list[str]:
        if self.mode.network == "vlan":
            return [str(ip_interface(VLAN_ADDRESS).ip)]
        return [str(self.of(family, public=self.mode.network == "bond")["address"]) for family in self.mode.families]

    def expected(self) -> dict[str, Any]:
        """Return the addresses by interface, the routes with a gateway, and the node addresses."""
        vlan = {f"bond0.{VLAN}": {VLAN_ADDRESS}} if self.mode.network == "vlan" else {}
        if self.in_layer2:
            return {
                "addresses": vlan,
                "routes": {"default": (VLAN_GATEWAY, f"bond0.{VLAN}")},
                "IPv6 gateway": "",
                "node": self.node_addresses,
                "kubelet": self.node_addresses,
            }
        public, private, v6 = self.of(4, public=True), self.of(4, public=False), self.of(6, public=True)
        return {
            "addresses": {"bond0": {f"{entry['address']}/{entry['cidr']}" for entry in (public, private, v6)}, **vlan},
            "routes": {
                "default": (public["gateway"], "bond0"),
                **dict.fromkeys((*self.metadata["private_subnets"], "169.254.255.0/24"), (private["gateway"], "bond0")),
            },
            "IPv6 gateway": v6["gateway"],
            "node": self.node_addresses,
            "kubelet": self.node_addresses,
        }

    async def configured(self) -> dict[str, Any]:
        """Return the same of the machine, once all its units have started."""
        state = "systemctl is-system-running --wait > /dev/null; systemctl list-units --failed --plain --no-legend | cut -d ' ' -f 1"
        # Until the bond is up DHCP answers at one port alone: an emulated machine is too slow to give up at the other one in time.
        assert await self.machine.run(state, within=BOOTS_WITHIN) in {"", "NetworkManager-wait-online.service"}
        addresses, routes, routes6 = [
            json.loads(await self.machine.run(f"ip -json {what}")) for what in ("address show", "-4 route show", "-6 route show default")
        ]
        values = dict(re.findall(r'"(\w+)=(.*?)"', await self.machine.run("cat /etc/systemd/system/kubelet.service.d/20-nodenet.conf")))
        return {
            "addresses": {
                link["ifname"]: own
                for link in addresses
                if (own := {f"{entry['local']}/{entry['prefixlen']}" for entry in link["addr_info"] if entry["scope"] == "global"})
            },
            "routes": {route["dst"]: (route["gateway"], route["dev"]) for route in routes if "gateway" in route},
            "IPv6 gateway": "".join(route["gateway"] for route in routes6),
            "node": values["KUBELET_NODE_IP" if len(self.mode.families) == 1 else "KUBELET_NODE_IPS"].split(","),
            "kubelet": await kubelet.addresses(self.cluster, NAME, await self.machine.run("cat /proc/sys/kernel/random/boot_id")),
        }

    async def until_bonded(self) -> None:
        """Wait until both ends use both cables as one link."""
        for machine, bond in ((self.machine, "bond0"), (self.switch, "bond0")):
            async with asyncio.timeout(60):
                while await machine.run(f"cat /sys/class/net/{bond}/bonding/ad_num_ports") != "2":  # noqa: ASYNC110 - it polls a machine
                    await asyncio.sleep(1)

    async def answers(self, address: str) -> bool:
        """Return whether the machine refuses a connection to a port without a service, which takes a packet in each direction."""
        try:
            async with asyncio.timeout(1):
                await asyncio.open_connection(address, CLOSED_PORT)
        except ConnectionRefusedError:
            return True
        except (TimeoutError, OSError):
            return False
        raise AssertionError(f"port {CLOSED_PORT} is open")

    @asynccontextmanager
    async def traffic(self, address: str) -> AsyncIterator[None]:
        """Connect ten times a second meanwhile. Fails with a gap that is too long, or without an answer at the end."""
        answered = [time.monotonic()]

        async def connect() -> None:
            while True:
                if await self.answers(address):
                    answered.append(time.monotonic())
                await asyncio.sleep(0.1)

        task = asyncio.create_task(connect())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        gaps = [after - before for before, after in zip(answered, [*answered[1:], time.monotonic()], strict=True)]
        print(f"{len(answered)} answers, longest gap {max(gaps):.1f} s")
        assert max(gaps) < LONGEST_GAP, f"{address} did not answer for {max(gaps):.1f} s"


@pytest.fixture
async def node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Node]:
    mode = MODES[request.param]
    namespace.set_up()
    await run("ip", "address", "replace", f"{SERVICES}/32", "dev", "lo")
    image = ensure_image(Console())
    async with sandbox_in(tmp_path / "state", strict=False) as sandbox, contextlib.AsyncExitStack() as stack:
        service = Listener(create_metadata_app(sandbox.world))
        await service.open(SERVICES, PORT, None)
        stack.push_async_callback(service.close)
        device = await sandbox.active(hostname=NAME, tags=list(mode.tags))
        metadata = (await sandbox.api.get(f"/devices/{device['id']}/metadata")).json()
        hardware = sandbox.machines.hardware[device["id"]]
        settings = {
            "kind": mode.network,
            "vlan_mode": mode.vlan_mode,
            "metadata_url": f"http://{SERVICES}:{PORT}/metadata",
            "families": mode.families,
            "script": (FILES / "node-network.sh").read_text(encoding="utf-8"),
            "service": (FILES / "node-network.service").read_text(encoding="utf-8"),
        }
        worker = [each for each in node_network({"node_network": settings}) if "worker" in each["metadata"]["name"]]
        config = in_version(merged([template("worker", schedulable=False, dual_stack=len(mode.families) > 1), *worker]), (3, 3, 0))
        # As the pointer on its disk does.
        config["storage"]["files"].append({"path": "/etc/hostname", "overwrite": True, "contents": {"source": f"data:,{NAME}%0A"}})
        # Each instruction is emulated, on a computer that may be busy.
        config["storage"]["files"].append({"path": "/etc/systemd/system.conf.d/50-slow.conf", "contents": {"source": f"data:,{SLOW}"}})
        cluster = stack.enter_context(kubelet.joined_cluster(tmp_path / "cluster", SERVICES))
        kubelet.add(config, cluster)
        folder = tmp_path / "machines"
        folder.mkdir()
        macs = tuple(interface["mac"] for interface in metadata["network"]["interfaces"])
        switch = Switch(folder, image, [macs], VLAN)
        disks = await kubelet.disk(folder)
        machine = Machine("node", folder, image, switch.cards_of(0), config=config, disks=disks)
        for each in (switch, machine):
            stack.push_async_callback(each.lose_power)
        await switch.power_on()
        await be_gateway_of_vlan(f"{VLAN_GATEWAY}/24")
        await stack.enter_async_context(routed(0, hardware, metadata, folder, SERVICES))
        if mode.network == "vlan":
            await switch.set_vlan(0, VLAN, layer3=True)
        yield Node(mode, machine, switch, metadata, cluster)


@pytest.mark.parametrize("node", MODES, indirect=True)
async def test_boots_and_losses(node: Node) -> None:
    await node.machine.power_on()
    assert await node.configured() == node.expected(), "first boot"
    await node.until_bonded()
    if node.in_layer2:
        await node.switch.set_vlan(0, VLAN, layer3=False)
    for address in node.node_addresses:
        assert await node.answers(address), address
    # A cable is pulled out, then the other one fails silently: its end at the machine keeps the carrier.
    for number, silent in ((0, False), (1, True)):
        async with node.traffic(node.node_addresses[0]):
            await asyncio.sleep(1)
            for up in (False, True):
                if not silent:
                    node.machine.connect_card(number, up=up)
                node.switch.connect(0, number, up=up)
                await asyncio.sleep(15)
        await node.until_bonded()
    await node.machine.lose_power()
    assert not await node.answers(node.node_addresses[0])
    node.switch.connect(0, 1, up=False)
    await node.machine.power_on()
    assert await node.configured() == node.expected(), "second boot, after a loss of power, with one link"
    for address in node.node_addresses:
        assert await node.answers(address), address
    node.switch.connect(0, 1, up=True)
    await node.until_bonded()
