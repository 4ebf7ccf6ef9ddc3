# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MetalLB with BGP: the addresses of Services, and the peers of each node.

The routers of the Metal API accept a BGP session from the private address of a device alone, so each node has peers of its own, with its
address as the source. Layer 2 mode is not possible: devices share no network of layer 2 with the routers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.base.errors import CollectionError
from ...module_utils.base.json_objects import mapping
from ...module_utils.base.kubernetes_objects import MANAGED
from ...module_utils.metal.ip_reservation import unusable

NAME = "equinix-metal"
"""Name of the address pool, its advertisement and the Secret with the password; first part of the names of peers."""

IPV4 = 4
"""``address_family`` of neighbors with IPv4."""


def malformed_addresses(addresses: Iterable[str]) -> list[str]:
    """Return which texts are neither a network in CIDR notation nor a range ``first-last`` of addresses of one IP version."""
    return [text for text in map(str, addresses) if not _is_network(text) and not _is_range(text)]


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return "/" in text


def _is_range(text: str) -> bool:
    try:
        first, last = (ipaddress.ip_address(part.strip()) for part in text.split("-"))
    except ValueError:
        return False
    return first.version == last.version and int(first) <= int(last)


def metallb_changes(addresses: Sequence[str], namespace: str, readings: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return objects that have to be ``present``, and BGPPeers that have to be ``absent``.

    ``readings``: ``nodes``; ``neighbors``, those that the Metal API reports, by host name of the device; ``peers``, the BGPPeers of the
    namespace; ``reservations``, blocks whose addresses are added. Peers with MD5 read the password from the Secret ``NAME``. Raises
    CollectionError for a block without addresses.
    """
    present: list[dict[str, Any]] = [
        {
            "apiVersion": "metallb.io/v1beta1",
            "kind": "IPAddressPool",
            "metadata": {"name": NAME, "namespace": namespace},
            "spec": {"addresses": [*addresses, *map(_addresses, readings.get("reservations") or ())]},
        },
        {
            "apiVersion": "metallb.io/v1beta1",
            "kind": "BGPAdvertisement",
            "metadata": {"name": NAME, "namespace": namespace},
            "spec": {"ipAddressPools": [NAME]},
        },
    ]
    peers = [peer for node in readings["nodes"] for peer in _peers(namespace, node, readings["neighbors"])]
    names = {peer["metadata"]["name"] for peer in peers}
    absent = [
        {"apiVersion": "metallb.io/v1beta2", "kind": "BGPPeer", "metadata": {"name": metadata["name"], "namespace": namespace}}
        for peer in readings.get("peers") or ()
        if MANAGED in mapping((metadata := mapping(peer.get("metadata"))).get("labels")) and metadata.get("name") not in names
    ]
    return {"present": [*present, *peers], "absent": absent}


def _addresses(block: Mapping[str, Any]) -> str:
    if problem := unusable(block):
        raise CollectionError(f"Cannot create the address pool: {problem}. Run again when the IP reservation is approved.")
    return f"{block['network']}/{block['cidr']}"


def _peers(namespace: str, node: Mapping[str, Any], neighbors: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterable[dict[str, Any]]:
    """Yield a BGPPeer for each router that this node has a session with. The sessions are of IPv4."""
    metadata = mapping(node.get("metadata"))
    name = str(metadata.get("name"))
    hostname = mapping(metadata.get("labels")).get("kubernetes.io/hostname") or name
    for neighbor in (entry for entry in neighbors.get(name) or () if entry.get("address_family") == IPV4):
        for number, address in enumerate(neighbor.get("peer_ips") or ()):
            secret = {"passwordSecret": {"name": NAME, "namespace": namespace}} if neighbor.get("md5_enabled") else {}
            yield {
                "apiVersion": "metallb.io/v1beta2",
                "kind": "BGPPeer",
                "metadata": {"name": f"{NAME}-{name}-ipv4-{number}", "namespace": namespace, "labels": {MANAGED: "true"}},
                "spec": {
                    "myASN": neighbor["customer_as"],
                    "peerASN": neighbor["peer_as"],
                    "peerAddress": address,
                    "sourceAddress": neighbor["customer_ip"],
                    "ebgpMultiHop": bool(neighbor.get("multihop")),
                    "nodeSelectors": [{"matchLabels": {"kubernetes.io/hostname": hostname}}],
                    **secret,
                },
            }
