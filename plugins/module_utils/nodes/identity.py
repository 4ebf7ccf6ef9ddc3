# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device of each Node. The device id is the identity; host names are labels that every user of the project can change.

A Node is of a device when all of this holds:

- the Node was not registered before the device was provisioned: an earlier machine, or an earlier installation, registered it;
- the Node records the id of the device, in the annotation ``DEVICE`` or in ``spec.providerID``. A Node that records neither is of the only
  device with one of its addresses, else of the device with its name, unless another Node records that device.

So a Node that records a device is never of another one, whatever its name; and a device that a Node records is the machine of that Node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ..base.printable import printable
from ..base.times import time_of
from ..metal.objects import DELETING_STATES
from .addresses import vlan_address
from .node import Node

CLOCK_SKEW = timedelta(seconds=60)
"""So much the clocks of the two APIs may differ: a machine boots for longer before its Node is there."""

RESTORE = "ansible localhost -m equinix_metal.openshift.metal_device -a 'id={device} hostname={node}'"
"""The command that gives a device the name of its Node again."""


@dataclass(frozen=True)
class Device:
    """A device as far as its Node goes. ``hostname``: in lower case. ``since``: when it was provisioned last."""

    id: str
    hostname: str
    since: datetime | None
    addresses: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Renamed:
    device: Device
    node: str

    @property
    def command(self) -> str:
        return RESTORE.format(device=self.device.id, node=printable(self.node))

    @property
    def text(self) -> str:
        """What differs, and the command that restores the name."""
        name = printable(self.device.hostname) or "nothing"
        return (
            f"device {self.device.id} of node {printable(self.node)} is named {name} at the Metal API."
            f" A Node keeps its name, so restore that of the device: {self.command}"
        )


def read_devices(devices: Iterable[Mapping[str, Any]]) -> list[Device]:
    """Return devices as ``metal_device_info`` or ``metal_cluster_info`` returns them, without those being deleted."""
    return [
        Device(
            id=str(device["id"]),
            hostname=str(device.get("hostname") or "").lower(),
            since=time_of(device.get("provisioning_started_at") or device.get("created_at")),
            addresses=frozenset(
                filter(None, [*(str(ip_address.get("address")) for ip_address in device.get("ip_addresses") or ()), vlan_address(device)])
            ),
        )
        for device in devices
        if device.get("state") not in DELETING_STATES
    ]


def read_result(node: Mapping[str, Any]) -> Node:
    """Return what the rules read of a Node, from a result of ``node_info`` or ``cluster_wait``."""
    return Node(
        name=str(node["name"]),
        created_at=time_of(node.get("created_at")),
        control_plane=bool(node.get("control_plane")),
        cordoned_here=bool(node.get("cordoned_for_removal")),
        device_id=str(node.get("device_id") or ""),
        addresses=tuple(map(str, node.get("addresses") or ())),
    )


def is_older(node: Node, device: Device) -> bool:
    return node.created_at is not None and device.since is not None and node.created_at + CLOCK_SKEW < device.since


class Identities:
    def __init__(self, nodes: Iterable[Node], devices: Iterable[Device]) -> None:
        self._left = {device.id: device for device in devices}
        self._by_node: dict[str, Device] = {}
        self._by_device: dict[str, str] = {}
        nodes = sorted(nodes, key=lambda node: node.name)
        recording = [node for node in nodes if node.device_id]
        others = [node for node in nodes if not node.device_id]
        # Of two Nodes that record one device it is the one with the device's name.
        named = [node for node in recording if (device := self._left.get(node.device_id)) and device.hostname == node.name]
        self._match(named, lambda node, device: node.device_id == device.id)
        self._match(recording, lambda node, device: node.device_id == device.id)
        self._match(others, lambda node, device: bool(device.addresses & set(node.addresses)), only_one=True)
        self._match(others, lambda node, device: node.name == device.hostname)

    def _match(self, nodes: Iterable[Node], belongs: Callable[[Node, Device], bool], *, only_one: bool = False) -> None:
        for node in nodes:
            if node.name in self._by_node:
                continue
            exact = self._left.get(node.device_id)
            candidates = ([exact] if exact else []) if node.device_id else list(self._left.values())
            devices = [device for device in candidates if belongs(node, device) and not is_older(node, device)]
            if devices and (len(devices) == 1 or not only_one):
                device = max(devices, key=lambda device: (device.since is not None, device.since or datetime.min, device.id))
                self._by_node[node.name], self._by_device[device.id] = device, node.name
                del self._left[device.id]

    def device_of(self, node: str) -> Device | None:
        """Return the device of the Node of this name; None if no device is, or if there is no such Node."""
        return self._by_node.get(node)

    def node_of(self, device_id: str) -> str:
        return self._by_device.get(device_id, "")

    @property
    def renamed(self) -> list[Renamed]:
        """The devices whose host name is not that of their Node, by the names of the Nodes."""
        return [Renamed(device, node) for node, device in sorted(self._by_node.items()) if device.hostname != node]


def identify(nodes: Iterable[Mapping[str, Any]], devices: Iterable[Mapping[str, Any]]) -> Identities:
    """Return the identities of Nodes and devices, both as the modules return them."""
    return Identities(map(read_result, nodes), read_devices(devices))


def named_by_nodes(devices: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the devices with the name of their Node as ``hostname``, of those without a Node their own in lower case."""
    devices = list(devices)
    identities = identify(nodes, devices)
    return [
        {**device, "hostname": identities.node_of(str(device["id"])) or str(device.get("hostname") or "").lower()} for device in devices
    ]


def devices_by_node(devices: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the devices of ``named_by_nodes`` by that name: of several that of the Node. Devices without a name are left out."""
    devices = list(devices)
    identities = identify(nodes, devices)
    by_node: dict[str, dict[str, Any]] = {}
    # Those of Nodes last, in the place of others with their name.
    for device in sorted(devices, key=lambda device: bool(identities.node_of(str(device["id"])))):
        name = identities.node_of(str(device["id"])) or str(device.get("hostname") or "").lower()
        by_node[name] = {**device, "hostname": name}
    return {name: device for name, device in by_node.items() if name}


def of_another_device(node_device_id: str, device_id: str) -> str:
    """Return why a Node that records a device is not of the device with its name; empty if it may be. Empty ids are unknown."""
    if not node_device_id or not device_id or node_device_id == device_id:
        return ""
    return f"it is of device {printable(node_device_id)}, and device {device_id} has its name now"
