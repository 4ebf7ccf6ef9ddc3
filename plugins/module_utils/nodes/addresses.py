# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node addresses of devices in the chosen machine network. Everything that connects to a node or names its address reads them here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_interface
from typing import Any

from ..base.tags import ROLE_TAG, VLAN_ADDRESS_TAG, VLAN_GATEWAY_TAG, tag_values

Device = Mapping[str, Any]

PUBLIC = {4: "public_ipv4", 6: "public_ipv6"}
PRIVATE = {4: "private_ipv4"}
"""The Metal API has no private IPv6 addresses."""

VLAN = {4: "vlan_ipv4"}
"""The Metal API knows no addresses in a VLAN: that of a device is in its tags."""

MACHINE_NETWORKS: Mapping[str, Mapping[int, str]] = {"layer3": PUBLIC, "bond": PUBLIC, "private": PRIVATE, "vlan": VLAN}
"""Attribute of a device's ``addresses`` that is the node address, by machine network and IP version."""

SERVICE_NETWORKS: Mapping[str, str] = {"vlan": "bond"}
"""Machine networks whose API and ingress are reached at the addresses of another one: the bond below the VLAN has the public address."""

FAMILIES = (4, 6)


def node_addresses(device: Device, network: str = "layer3", families: Sequence[int] = (4,)) -> list[str]:
    """Return the node addresses of a device, those of the first IP version first; empty until the API has assigned them.

    A load balancer is no node: its addresses are the public ones in every machine network. The bootstrap device has no MachineConfig, so
    it has the one address that DHCP configures, an IPv4 address, and its private one where bootstrap.ign configures that. In layer 2 it has
    the address in the VLAN alone, as the others.
    """
    tags = device.get("tags") or ()
    if is_layer2(device):
        return _addresses(device, "vlan", families)
    if ROLE_TAG + "bootstrap" in tags:
        kinds = ("private", "layer3") if network == "private" else ("layer3", "private")
        return next((addresses for kind in kinds if (addresses := _addresses(device, kind, FAMILIES[:1]))), [])
    is_load_balancer = ROLE_TAG + "load-balancer" in tags
    return _addresses(device, "layer3" if is_load_balancer else network, families)


def _addresses(device: Device, network: str, families: Sequence[int]) -> list[str]:
    kinds = MACHINE_NETWORKS[network]
    known = {**(device.get("addresses") or {}), "vlan_ipv4": vlan_address(device)}
    addresses = [str(known.get(kinds[family]) or "") for family in families if family in kinds]
    return [address for address in addresses if address]


def vlan_address(device: Device) -> str:
    """Return the IPv4 address of a device in the cluster's VLAN, from its tags; empty without one."""
    for value in tag_values(list(device.get("tags") or ()), VLAN_ADDRESS_TAG):
        try:
            return str(ip_interface(value).ip)
        except ValueError:
            continue
    return ""


def is_layer2(device: Device) -> bool:
    """Return whether the machine of a device uses its VLAN alone.

    Its bond may be in layer 3 still: it is converted when the node is ready.
    """
    return bool(tag_values(list(device.get("tags") or ()), VLAN_GATEWAY_TAG))


def service_addresses(device: Device, network: str = "layer3", families: Sequence[int] = (4,)) -> list[str]:
    """Return the addresses at which clients outside the nodes' network reach the API and ingress of a device. In layer 2 these are the node
    addresses.
    """
    return node_addresses(device, SERVICE_NETWORKS.get(network, network), families)


def machine_addresses(device: Device, families: Sequence[int] = (4,)) -> list[str]:
    """Return all addresses from which a device may connect to the others: a node fetches its Ignition config from its public address, also
    where its node address is another one.
    """
    return [address for network in ("layer3", "private", "vlan") for address in _addresses(device, network, families)]


def node_address(device: Device, network: str = "layer3") -> str:
    """Return the node address of a device, IPv4 if it has one; empty until the API has assigned one."""
    return next(iter(node_addresses(device, network, FAMILIES[:1]) or node_addresses(device, network, FAMILIES[1:])), "")


def reachable_address(device: Device, network: str = "layer3") -> str:
    """Return the address at which the controller reaches a device, IPv4 if it has one; empty until the API has assigned one.

    The bootstrap device is reached at its public address: the installer reads its logs there, and those of private nodes through it.
    """
    is_bootstrap = ROLE_TAG + "bootstrap" in (device.get("tags") or ())
    return node_address(device, "layer3" if is_bootstrap else SERVICE_NETWORKS.get(network, network))


def reachable_addresses(devices: Iterable[Device], network: str = "layer3") -> list[str]:
    """Return ``reachable_address`` of the devices that have one, in their order."""
    return [address for device in devices if (address := reachable_address(device, network))]


def api_addresses(by_role: Mapping[str, Sequence[Device]], network: str = "layer3", *, bootstrap: bool = False) -> list[str]:
    """Return the addresses at which the controller reaches the cluster's API. ``by_role``: as ``devices_by_role`` returns them.

    These are the control plane's service addresses, and with ``bootstrap`` the bootstrap device's. Private ones are reached through the
    devices of the load balancer, if there are any.
    """
    if network == "private" and (balanced := reachable_addresses(by_role["load_balancer"], network)):
        return balanced
    return reachable_addresses([*by_role["control_plane"], *(by_role["bootstrap"] if bootstrap else ())], network)
