# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network that a machine configures at its boot, as far as the sandbox has one: its node address.

A unit ``node-network.service`` with the program ``/usr/local/bin/node-network`` is taken at its word, which is in
``/etc/node-network.conf``: the node address is in the metadata, or, in a VLAN, in the tags there. No script is run. An address in a VLAN is
a loopback address of the sandbox's computer like those of devices. It leads to the machine only while a bond of its device is in that VLAN,
tagged.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from sandbox.machines import Machine
from sandbox.openshift.assets import files_of

CONF: Final = "/etc/node-network.conf"
PROGRAM: Final = "/usr/local/bin/node-network"
UNIT: Final = "node-network.service"
SAVED: Final = "node-network.json"
"""What the machine has configured, in its directory: it stays in use while the metadata service does not answer."""

_RETRY: Final = 1.0


@dataclass(frozen=True)
class NodeNetwork:
    """``address``: the node address; ``vlan``: number of the VLAN that it is in, None outside of VLANs."""

    address: str
    vlan: int | None = None

    async def until_connected(self, machine: Machine) -> None:
        """Wait until other machines reach the node address."""
        if self.vlan is None or self.vlan in machine.vlans():
            return
        machine.console(f"bond0.{self.vlan}: no frames, the port of this device is not in VLAN {self.vlan}")
        while self.vlan not in machine.vlans():  # noqa: ASYNC110 - the switch port changes without an event
            await asyncio.sleep(_RETRY)
        machine.console(f"bond0.{self.vlan}: connected")


@dataclass(frozen=True)
class NetworkScript:
    """The settings of the unit in a machine's config."""

    metadata_url: str
    kind: str

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
        return cls(values.get("METADATA_URL", ""), values.get("NODE_ADDRESS", ""))

    async def configure(self, machine: Machine) -> NodeNetwork:
        """Return what the machine configures. Waits for the metadata service at the first boot."""
        if self.kind != "vlan":
            return NodeNetwork(machine.hardware.address)
        saved, reported = machine.directory / SAVED, False
        while True:
            if found := await self._tagged(machine):
                saved.write_text(json.dumps({"address": found.address, "vlan": found.vlan}), encoding="utf-8")
                machine.console(f"node-network: configured bond0.{found.vlan} with {found.address}")
                return found
            if saved.exists():
                return NodeNetwork(**json.loads(saved.read_text(encoding="utf-8")))
            if not reported:
                machine.console(f"node-network: {self.metadata_url} has no metadata of this device yet: trying again in 5 s")
                reported = True
            await asyncio.sleep(_RETRY)

    async def _tagged(self, machine: Machine) -> NodeNetwork | None:
        """Return the VLAN and the address in the tags of the metadata."""
        try:
            response = await machine.http.request("GET", self.metadata_url)
            tags = response.json().get("tags") or [] if response.is_success else []
        except (httpx.TransportError, ValueError, AttributeError):
            return None
        values = dict(tag.partition("=")[::2] for tag in tags)
        vlan, address = values.get("openshift-vlan", ""), values.get("openshift-vlan-address", "")
        return NodeNetwork(address.partition("/")[0], int(vlan)) if vlan.isdigit() and address else None


async def node_network(machine: Machine, script: NetworkScript | None) -> NodeNetwork:
    """Return the network of a machine; without a script the address that DHCP configures."""
    return NodeNetwork(machine.hardware.address) if script is None else await script.configure(machine)
