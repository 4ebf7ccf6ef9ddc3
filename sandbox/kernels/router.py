# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The router of machines with a kernel, which is this computer: the gateways of their metadata on interfaces of the switch, and DHCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from metal_api.core.machines import Hardware
from metal_api.process import Child
from sandbox.containers.command import run
from sandbox.containers.link import be_gateway, dhcp_command
from sandbox.kernels.switch import VLAN_INTERFACE, router_interface


@asynccontextmanager
async def routed(number: int, hardware: Hardware, metadata: Mapping[str, Any], folder: Path, name_server: str) -> AsyncIterator[None]:
    """The addresses in a machine's metadata lead to its port of the switch, which has their gateways; DHCP serves the public IPv4 one."""
    interface = router_interface(number)
    for entry in metadata["network"]["addresses"]:
        await be_gateway(interface, entry["address"], entry["gateway"], f"{entry['network']}/{entry['cidr']}")
    gateway = next(entry["gateway"] for entry in metadata["network"]["addresses"] if entry["address"] == hardware.address)
    command = dhcp_command(interface, hardware, gateway, name_server)
    dhcp = Child("dnsmasq", lambda: command, directory=folder, log=folder / f"{interface}.dhcp")
    await dhcp.start()
    try:
        yield
    finally:
        await dhcp.stop()


async def be_gateway_of_vlan(address: str) -> None:
    """Configure an address with its prefix length on the router's interface in the VLAN."""
    await run("ip", "address", "add", address, "dev", VLAN_INTERFACE)
