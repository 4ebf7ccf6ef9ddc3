# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MetalLB: the addresses of Services, what announces them, and the Service in front of the routers.

By BGP the routers of the Metal API accept a session from the private address of a device alone, so each node has peers of its own, with its
address as the source. By ARP the nodes share a subnet with the addresses, and one node answers for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from ...module_utils.base.errors import CollectionError
from ...module_utils.base.json_objects import mapping
from ...module_utils.base.kubernetes_objects import MANAGED
from ...module_utils.metal.ip_reservation import unusable
from ...module_utils.nodes.routers import ROUTER_LABEL

NAME = "equinix-metal"
"""Name of the address pool, its advertisement and the Secret with the password; first part of the names of peers."""

INGRESS = f"{NAME}-ingress"
"""Name of the pool of the routers' address, which no other Service gets."""

IPV4 = 4
"""``address_family`` of neighbors with IPv4."""


def address_range(text: str) -> tuple[int, int] | None:
    """Return first and last address of an address, a network or a range ``first-last`` of one IP version; None of a malformed text."""
    ends = text.split("-")
    try:
        network = ip_network(text) if len(ends) == 1 else None
        first, last = (network[0], network[-1]) if network else (ip_address(end.strip()) for end in ends)
    except ValueError:
        return None
    return (int(first), int(last)) if first.version == last.version and int(first) <= int(last) else None


def metallb_changes(addresses: Sequence[str], namespace: str, readings: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return objects that have to be ``present``, and BGPPeers that have to be ``absent``.

    ``readings``: ``nodes``; ``neighbors``, those that the Metal API reports, by host name of the device; ``peers``, the BGPPeers of the
    namespace; ``reservations``, blocks whose addresses are added; ``arp``, whether ARP announces the addresses, and ``ingress``, that of
    the routers. Peers with MD5 read the password from the Secret ``NAME``. Raises CollectionError for a block without addresses.
    """
    ingress = readings.get("ingress")
    pools: dict[str, dict[str, Any]] = {
        NAME: {"addresses": [*addresses, *map(_addresses, readings.get("reservations") or ())]},
        INGRESS: {"addresses": [f"{ingress}/32"] if ingress else [], "autoAssign": False},
    }
    # An advertisement without a pool would be of all pools.
    used = {name: spec for name, spec in pools.items() if spec["addresses"] or (name == NAME and not ingress)}
    present = [
        *(_object("IPAddressPool", name, namespace, spec) for name, spec in used.items()),
        _object("L2Advertisement" if readings.get("arp") else "BGPAdvertisement", NAME, namespace, {"ipAddressPools": [*used]}),
        *([_router_service(ingress)] if ingress else []),
    ]
    peers = [peer for node in readings["nodes"] for peer in _peers(namespace, node, readings.get("neighbors") or {})]
    names = {peer["metadata"]["name"] for peer in peers}
    absent = [
        {"apiVersion": "metallb.io/v1beta2", "kind": "BGPPeer", "metadata": {"name": metadata["name"], "namespace": namespace}}
        for peer in readings.get("peers") or ()
        if MANAGED in mapping((metadata := mapping(peer.get("metadata"))).get("labels")) and metadata.get("name") not in names
    ]
    return {"present": [*present, *peers], "absent": absent}


def _object(kind: str, name: str, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "metallb.io/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _router_service(address: str) -> dict[str, Any]:
    """Return the Service with this address in front of the routers, which use the network of their nodes."""
    # With the policy Local a node answers for it only while it has a router. Otherwise its connections are spread over all routers, also
    # that of a dead node until its endpoint is removed, after 40 s.
    key, _equals, value = ROUTER_LABEL.partition("=")
    ports = [{"name": name, "port": port, "targetPort": name} for name, port in (("http", 80), ("https", 443))]
    spec = {"type": "LoadBalancer", "loadBalancerIP": address, "externalTrafficPolicy": "Local", "selector": {key: value}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "namespace": "openshift-ingress"}, "spec": spec}


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
