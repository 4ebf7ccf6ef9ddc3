# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VLAN of a cluster: its gateway, its subnet, and the addresses of machines in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, ip_interface
from typing import Any

from .networks import is_address

OWN_GATEWAYS = ("private", "public")
"""Kinds of gateways that the cluster creates in its VLAN."""

LAYER_2 = "layer2"

_IDENTIFIER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def gateway_kind(text: str) -> str:
    """Return what ``openshift_vlan_gateway`` names: ``none``, ``private``, ``public``, ``id`` of a Metal gateway, or the ``address`` of a
    router; empty for another text.
    """
    if text in ("none", *OWN_GATEWAYS):
        return text
    if _IDENTIFIER.fullmatch(text):
        return "id"
    return "address" if is_address(text) and ":" not in text else ""


def ipv4_network(text: str) -> IPv4Network | None:
    """Return the network of an IPv4 address with its prefix length; None of another text, as while a gateway has no address."""
    try:
        return IPv4Interface(text).network
    except ValueError:
        return None


def cluster_gateway(gateways: Iterable[Mapping[str, Any]], gateway_id: str) -> Mapping[str, Any] | None:
    """Return the Metal gateway that ``openshift_vlan_gateway`` names, among those of the cluster's VLAN; the oldest of several."""
    kind = gateway_kind(gateway_id)
    present = sorted(
        (gateway for gateway in gateways if gateway.get("state") != "deleting"),
        key=lambda gateway: (str(gateway.get("created_at")), str(gateway.get("id"))),
    )
    if kind == "id":
        return next((gateway for gateway in present if gateway.get("id") == gateway_id), None)
    if kind not in OWN_GATEWAYS:
        return None
    return next((gateway for gateway in present if (gateway.get("private_ipv4_subnet_size") is not None) == (kind == "private")), None)


def cluster_vlan(
    vlans: Sequence[Mapping[str, Any]], gateways: Iterable[Mapping[str, Any]], *, mode: str, gateway: str, subnet: str
) -> dict[str, Any]:
    """Return ``id``, ``vxlan``, ``subnet`` and ``gateway`` of the cluster's VLAN; empty without a VLAN.

    ``subnet``: the given one, else that of the Metal gateway; empty while neither is known. ``gateway``: the default gateway of machines in
    layer 2; empty in hybrid mode, where the default gateway is that of the bond.
    """
    if not vlans:
        return {}
    chosen = cluster_gateway(gateways, gateway)
    network = ipv4_network(str(chosen["gateway_address"])) if chosen else None
    address = str(ip_interface(str(chosen["gateway_address"])).ip) if chosen and network else ""
    if gateway_kind(gateway) == "address":
        address = gateway
    return {
        "id": vlans[0]["id"],
        "vxlan": vlans[0]["vxlan"],
        "subnet": str(network) if network else subnet,
        "gateway": address if mode == LAYER_2 else "",
    }


def address_in(subnet: str, address: str) -> str:
    """Return the address of a machine in the subnet, from ``openshift_vlan_address``: an address, or its number in the subnet.

    Raises ValueError for a malformed subnet or address, and for a number beyond the subnet.
    """
    if not address.isdecimal():
        return str(IPv4Address(address))
    try:
        return str(IPv4Network(subnet)[int(address)])
    except IndexError:
        raise ValueError(f"{subnet} has no address of the number {address}") from None
