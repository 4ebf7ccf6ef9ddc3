# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-vip on a control plane node: it announces the address of the API while the API server of the node is ready.

Nothing of a node's config is run here. The unit that writes kube-vip's static pod is taken at its word, if all that it needs is on the
node: its script and its settings, and by BGP the private address of the bond, since sessions are with that address alone, by ARP a subnet
with the address.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Any, Final

from sandbox.machines import Machine
from sandbox.openshift.assets import units_of
from sandbox.openshift.node_network import NodeNetwork

UNIT: Final = "kube-vip.service"
SETTINGS: Final = "/etc/kube-vip.conf"
BOND_SETTINGS: Final = "/etc/node-network.conf"

_TIMEOUT: Final = 1.0
# The service on the node does not verify the certificate either.
_UNVERIFIED: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_UNVERIFIED.check_hostname, _UNVERIFIED.verify_mode = False, ssl.CERT_NONE


def announced_address(config: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """Return the address that a node announces; empty without kube-vip."""
    match = re.search(r"^ExecStart=(\S+)$", units_of(config).get(UNIT, ""), re.MULTILINE)
    if not match or b"/etc/kubernetes/manifests" not in files.get(match[1], b""):
        return ""
    settings = _settings(files)
    return settings.get("API_ADDRESS", "") if settings.get("IMAGE") else ""


def _settings(files: Mapping[str, bytes]) -> dict[str, str]:
    return dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', files.get(SETTINGS, b"").decode(errors="replace"), re.MULTILINE))


async def run(machine: Machine, address: str, files: Mapping[str, bytes], network: NodeNetwork) -> None:
    """Announce ``address`` until cancelled."""
    metadata_url = _settings(files).get("METADATA_URL", "")
    if metadata_url and BOND_SETTINGS not in files:
        machine.console("kube-vip: no route to the BGP neighbors: the private address of this device is not configured")
        await asyncio.Event().wait()
    if metadata_url:
        await machine.announce(address, metadata_url, lambda: _is_ready(machine))
        return
    if not network.subnet or ip_address(address) not in ip_network(network.subnet):
        machine.console(f"kube-vip: no interface of this node has a subnet with {address}")
        await asyncio.Event().wait()

    async def is_ready() -> bool:
        return network.is_in_vlan(machine) and await _is_ready(machine)

    await machine.hold(address, network.address, is_ready)


async def _is_ready(machine: Machine) -> bool:
    """Return whether this node's own API server answers with its readiness. Port 6080, which kube-vip polls, has the same answer."""
    try:
        async with asyncio.timeout(_TIMEOUT):
            reader, writer = await asyncio.open_connection(machine.address, 6443, ssl=_UNVERIFIED)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
