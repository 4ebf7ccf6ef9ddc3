# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node addresses of devices in the chosen machine network. Everything that connects to a node or names its address reads them here.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.tags import ROLE_TAG

Device = Mapping[str, Any]

PUBLIC = {4: "public_ipv4", 6: "public_ipv6"}
PRIVATE = {4: "private_ipv4"}
"""The Metal API has no private IPv6 addresses."""

MACHINE_NETWORKS: Mapping[str, Mapping[int, str]] = {"layer3": PUBLIC, "bond": PUBLIC, "private": PRIVATE, "vlan": {}}
"""Attribute of a device's ``addresses`` that is the node address, by machine network and IP version. A VLAN's are in the device's tags."""

NODE_ADDRESS_TAG = "openshift-node-address="
"""Prefix of the tag with the address of a device in the cluster's VLAN: the Metal API does not know it otherwise."""

FAMILIES = (4, 6)


def node_addresses(device: Device, network: str = "layer3", families: Sequence[int] = (4,)) -> list[str]:
    """Return the node addresses of a device, those of the first IP version first; empty until the API has assigned them.

    A load balancer is no node: its addresses are the public ones in every machine network.
    """
    kinds = PUBLIC if ROLE_TAG + "load-balancer" in (device.get("tags") or ()) else MACHINE_NETWORKS[network]
    known = device.get("addresses") or {}
    found = [(family, str(known.get(kinds[family]) or "")) for family in families if family in kinds]
    if not kinds:
        tagged = vlan_addresses(device)
        found = [(family, address) for family in families for address in tagged if ipaddress.ip_address(address).version == family]
    return [address for _family, address in found if address]


def vlan_addresses(device: Device) -> list[str]:
    """Return the addresses of a device in the cluster's VLAN, by its tags."""
    tags = (str(tag) for tag in device.get("tags") or ())
    return [tag.removeprefix(NODE_ADDRESS_TAG) for tag in tags if tag.startswith(NODE_ADDRESS_TAG) and _is_address(tag)]


def node_address(device: Device, network: str = "layer3") -> str:
    """Return the address at which a node is reached, IPv4 if it has one; empty until the API has assigned one."""
    return next(iter(node_addresses(device, network, FAMILIES[:1]) or node_addresses(device, network, FAMILIES[1:])), "")


def reachable_addresses(devices: Iterable[Device], network: str = "layer3") -> list[str]:
    """Return ``node_address`` of the devices that have one, in their order."""
    return [address for device in devices if (address := node_address(device, network))]


def api_addresses(by_role: Mapping[str, Sequence[Device]], network: str = "layer3", *, bootstrap: bool = False) -> list[str]:
    """Return the addresses at which the controller reaches the cluster's API. ``by_role``: as ``devices_by_role`` returns them.

    These are the control plane's node addresses, and with ``bootstrap`` the bootstrap device's. Private ones are reached through the
    devices of the load balancer, if there are any.
    """
    if network == "private" and (balanced := reachable_addresses(by_role["load_balancer"], network)):
        return balanced
    return reachable_addresses([*by_role["control_plane"], *(by_role["bootstrap"] if bootstrap else ())], network)


def _is_address(tag: str) -> bool:
    try:
        ipaddress.ip_address(tag.removeprefix(NODE_ADDRESS_TAG))
    except ValueError:
        return False
    return True
