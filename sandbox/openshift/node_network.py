# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network that a machine configures at its boot, as far as the sandbox has one: its addresses, and which is the node address.

A unit ``node-network.service`` with the program ``/usr/local/bin/node-network`` is taken at its word, which is in
``/etc/node-network.conf``: the addresses are in the metadata, or, in a VLAN, in the tags there. No script is run. Without the unit a
machine has the address of DHCP alone: nothing listens at its private address. An address in a VLAN is a loopback address of the
sandbox's computer like those of devices. It leads to the machine only while a bond of its device is in that VLAN, tagged. IPv6 addresses
are in the status and the certificates of nodes, and carry no traffic.

With the tag of a default gateway the machine has no other address: it sends from the one in the VLAN and serves its clients there, as long
as an active Metal gateway of that VLAN has the address of the default gateway. Routers of the customer are not simulated.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_interface
from typing import Any, Final

import httpx

from sandbox.machines import Machine
from sandbox.openshift.assets import files_of

CONF: Final = "/etc/node-network.conf"
PROGRAM: Final = "/usr/local/bin/node-network"
UNIT: Final = "node-network.service"
SAVED: Final = "node-network.json"
"""The configured addresses, in the directory of the machine: used while the metadata service does not answer."""

_RETRY: Final = 1.0


@dataclass(frozen=True)
class NodeNetwork:
    """``address``: the node address; ``vlan``: number of the VLAN that it is in, None outside of VLANs.

    ``second``: node address of the second IP version, in a dual stack cluster.
    ``gateway``: the default gateway in the VLAN, empty if that is on the bond.
    ``subnet``: that of the VLAN, whose machines reach each other without a router; empty outside of VLANs, where each one is routed.
    """

    address: str
    vlan: int | None = None
    second: str = ""
    gateway: str = ""
    subnet: str = ""

    @property
    def addresses(self) -> tuple[str, ...]:
        """All node addresses, as the kubelet's flag node-ip has them."""
        return (self.address, self.second) if self.second else (self.address,)

    def is_in_vlan(self, machine: Machine) -> bool:
        """Whether other machines in the VLAN reach the node address, now."""
        return self.vlan is None or self.vlan in machine.attachment().vlans

    def is_routed(self, machine: Machine) -> bool:
        """Whether the default gateway in the VLAN routes packets, now."""
        return self.vlan is not None and self.gateway in machine.attachment().gateways.get(self.vlan, ())

    async def until_connected(self, machine: Machine) -> None:
        """Wait until other machines reach the node address."""
        if self.is_in_vlan(machine):
            return
        machine.console(f"bond0.{self.vlan}: no frames, the port of this device is not in VLAN {self.vlan}")
        while not self.is_in_vlan(machine):  # noqa: ASYNC110 - the switch port changes without an event
            await asyncio.sleep(_RETRY)
        machine.console(f"bond0.{self.vlan}: connected")


@dataclass(frozen=True)
class NetworkScript:
    """The settings of the unit in a machine's config."""

    metadata_url: str
    kind: str
    """Which address is the node address: public, private or vlan."""
    families: tuple[int, ...] = (4,)
    """IP versions of the cluster."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> NetworkScript | None:
        """Return the settings, None without a unit that has an effect on the node address."""
        files = files_of(config)
        units = (config.get("systemd") or {}).get("units") or []
        starts = any(
            unit.get("name") == UNIT
            and unit.get("enabled")
            and re.search(rf"^ExecStart={PROGRAM}$", unit.get("contents") or "", re.MULTILINE)
            for unit in units
        )
        if not starts or PROGRAM not in files or CONF not in files:
            return None
        values = dict(re.findall(r'^(\w+)="(.*)"$', files[CONF].decode(), re.MULTILINE))
        families = tuple(int(family) for family in values.get("FAMILIES", "4").split())
        return cls(values.get("METADATA_URL", ""), values.get("NODE_ADDRESS", ""), families)

    async def configure(self, machine: Machine) -> NodeNetwork:
        """Return what the machine configures. Waits for the metadata service at the first boot."""
        saved, reported = machine.directory / SAVED, False
        while (values := await self._read(machine)) is None and not saved.exists():
            if not reported:
                machine.console(f"node-network: {self.metadata_url} has no metadata of this device yet: trying again in 5 s")
                reported = True
            await asyncio.sleep(_RETRY)
        if values is None:
            values = json.loads(saved.read_text(encoding="utf-8"))
        else:
            saved.write_text(json.dumps(values), encoding="utf-8")
        machine.configure_private(values["private"])
        network = self._chosen(machine, values)
        if network.gateway:
            machine.configure(network.address, lambda: network.is_routed(machine))
        interface = "bond0" if network.vlan is None else f"bond0.{network.vlan}"
        machine.console(f"node-network: configured {interface} with {' and '.join(network.addresses)}")
        return network

    def _chosen(self, machine: Machine, values: dict[str, str]) -> NodeNetwork:
        """Return the node addresses. In the service's network that is the address of DHCP, if the metadata has none of the chosen kind."""
        address = values.get({"vlan": "vlan_address", "private": "private"}.get(self.kind, "public"), "")
        if not address:
            machine.console(f"node-network: the metadata has no {self.kind} IPv4 address of this device")
            return NodeNetwork(machine.hardware.address)
        if self.kind == "vlan":
            return NodeNetwork(address, int(values["vlan"]), gateway=values.get("gateway", ""), subnet=values.get("subnet", ""))
        # nodeip-configuration uses the address of the other IP version on the same interface.
        return NodeNetwork(address, second=values["ipv6"] if set(self.families) == {4, 6} else "")

    async def _read(self, machine: Machine) -> dict[str, str] | None:
        """Return the addresses in the metadata, and the VLAN and the address in its tags; None as long as it is not complete."""
        try:
            response = await machine.http.request("GET", self.metadata_url)
            metadata = response.json() if response.is_success else {}
            tags, addresses = metadata.get("tags") or [], metadata["network"]["addresses"]
        except (httpx.TransportError, ValueError, AttributeError, KeyError, TypeError):
            return None
        values = dict(tag.partition("=")[::2] for tag in tags)
        vlan, interface = values.get("openshift-vlan", ""), values.get("openshift-vlan-address", "")
        address = interface.partition("/")[0]
        if self.kind == "vlan" and not (vlan.isdigit() and address):
            return None

        def of(family: int, *, public: bool) -> str:
            own = [entry for entry in addresses if entry["management"] and (entry["address_family"], entry["public"]) == (family, public)]
            return str(own[0]["address"]) if own else ""

        management = {"public": of(4, public=True), "private": of(4, public=False), "ipv6": of(6, public=True)}
        subnet = str(ip_interface(interface).network) if interface else ""
        return {**management, "vlan": vlan, "vlan_address": address, "subnet": subnet, "gateway": values.get("openshift-vlan-gateway", "")}


async def node_network(machine: Machine, script: NetworkScript | None) -> NodeNetwork:
    """Return the network of a machine; without a script the address that DHCP configures."""
    return NodeNetwork(machine.hardware.address) if script is None else await script.configure(machine)
