# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the cluster's networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils.nodes.addresses import MACHINE_NETWORKS
from ..settings.networks import address_bits, ip_families, ip_network, overlap, parse_network
from .context import Context
from .findings import Finding, counted, failed, listed, not_checkable, passed, passed_if, warning
from .install_config import judged
from .load_balancer import API_PORT

WITHOUT_IPV6 = {
    "layer3": "DHCP configures no IPv6 address",
    "private": "the Metal API has no private IPv6 addresses",
    "vlan": "openshift_vlan_address is an IPv4 address",
}
"""Why nodes have no IPv6 address, by machine network."""


def networks(context: Context) -> Finding:
    observed = ", ".join(f"{kind} {entry['cidr']}" for kind, entries in context.networks.items() for entry in entries)
    return judged(context, "networking", observed, problems=list(_host_subnet_problems(context)))


def _host_subnet_problems(context: Context) -> Iterator[str]:
    """Yield the cluster networks without a host subnet for every node. The installer does not know the number of workers."""
    nodes = len(context.groups["control_plane"]) + len(context.groups["workers"])
    for index, entry in enumerate(context.networks["cluster"]):
        network, prefix = ip_network(entry["cidr"]), entry.get("hostPrefix")
        # The installer reports one of another type, and one outside the network; beyond, one that is too long.
        if not isinstance(prefix, int) or not network.prefixlen <= prefix <= address_bits(network):
            continue
        subnets = 2 ** (prefix - network.prefixlen)
        if subnets < nodes:
            yield f"networking.clusterNetwork[{index}].hostPrefix {prefix} makes host subnets for {subnets} nodes, not {nodes}"


def machine_network(context: Context) -> Finding:
    kind = context.text("machine_network")
    if kind not in MACHINE_NETWORKS:
        return failed(f"'{kind}'")
    problems = list(_machine_network_problems(context, kind))
    return passed_if(not problems, "; ".join(problems) or kind)


def _machine_network_problems(context: Context, kind: str) -> Iterator[str]:
    families = ip_families(context.texts("service_networks"))
    if kind != "layer3" and not context.text("metadata_url"):
        yield f"{kind} reads the addresses of a device from its metadata, and openshift_metadata_url is empty"
    if kind == "private":
        yield from _private_problems(context)
    if 6 in families and kind != "bond":
        yield f"openshift_service_networks has IPv6 and {kind} has not: {WITHOUT_IPV6[kind]}, use bond"
    if families == [6]:
        yield "openshift_service_networks has IPv6 alone, and the bootstrap device has IPv4 alone: use both"
    without = [str(machine["hostname"]) for machine in context.nodes if not _gets_ipv6(machine.get("ip_addresses"))]
    if 6 in families and kind == "bond" and without:
        yield f"metal_ip_addresses orders no IPv6 address for {listed(without)}"
    if kind == "private" and not context.is_bootstrapped:
        yield from _blocks_outside(context)


def _private_problems(context: Context) -> Iterator[str]:
    """Yield why machines or the controller would not reach the API. A machine has its private address only after its Ignition config."""
    kind = context.text("load_balancer")
    if kind not in ("haproxy", "external"):
        yield (
            f"private needs openshift_load_balancer haproxy or external: with {kind} api-int leads to private addresses, and machines"
            " without a private address get their Ignition config there"
        )
    elif kind == "external" and not context.settings.get("private_access"):
        yield (
            "private with openshift_load_balancer external needs openshift_private_access: the controller connects to private addresses,"
            " haproxy needs no access to them"
        )


def _gets_ipv6(requested: Any) -> bool:
    """Return whether a device gets an IPv6 address. Without a list it gets one of each kind; other checks report the IPv4 addresses."""
    return not requested or any(isinstance(entry, Mapping) and str(entry.get("address_family")) == "6" for entry in requested)


def _blocks_outside(context: Context) -> Iterator[str]:
    """Yield private blocks of the project that are in no machine network. Blocks of metros without a device are not known yet."""
    machine_networks = [parsed for cidr in context.texts("machine_networks") if (parsed := parse_network(cidr))]
    for ip_reservation in (context.readings.get("private_blocks") or {}).get("ip_reservations") or []:
        block = parse_network(f"{ip_reservation.get('network')}/{ip_reservation.get('cidr')}")
        if block is not None and not any(block in network for network in machine_networks):
            yield f"the private block {block.cidr} of the project is in none of openshift_machine_networks"


def node_firewall(context: Context) -> Finding:
    if not context.settings.get("node_firewall"):
        return passed("openshift_node_firewall is false: ports that only nodes use are open to every client")
    sources = context.texts("node_firewall_sources")
    malformed = [source for source in sources if parse_network(source) is None]
    if malformed:
        return failed(f"neither addresses nor networks: {listed(malformed)}")
    if not sources and not context.is_bootstrapped and (unknown := _unknown_load_balancer(context)):
        return (failed if context.text("load_balancer") == "external" else warning)(
            f"openshift_node_firewall_sources has no address of {unknown}: the nodes drop its health checks of port 22623 and the"
            " connections that it forwards, and no machine gets its Ignition config",
            "set openshift_node_firewall_sources to the addresses from which the load balancer connects to the nodes",
        )
    return passed(f"machines of the cluster, its pods and {counted(len(sources), 'further source')}")


def _unknown_load_balancer(context: Context) -> str:
    """Return the load balancer whose addresses are not in the record ``nodes``, which has those of the cluster's devices; empty if none."""
    if context.text("load_balancer") == "external":
        return "the external load balancer"
    reading = context.readings.get("load_balancer") or {}
    foreign = (
        [] if reading.get("own") else [str(result["address"]) for result in reading.get("results") or [] if result["port"] == API_PORT]
    )
    return f"{listed(foreign)}, to which the records of the API lead" if foreign else ""


def private_blocks(context: Context) -> Finding:
    if context.is_bootstrapped:
        return not_checkable("not checked: the cluster is installed and its networks cannot change")
    reservations = context.read("private_blocks", "ip_reservations")
    blocks = [
        parsed for reservation in reservations if (parsed := parse_network(f"{reservation.get('network')}/{reservation.get('cidr')}"))
    ]
    if not blocks:
        return not_checkable("the project has no private block yet: the first device in a metro creates one")
    own = [(kind, ip_network(entry["cidr"])) for kind in ("cluster", "service") for entry in context.networks[kind]]
    overlaps = [
        f"{kind} network {network.cidr} overlaps {block.cidr} of the project"
        for kind, network in own
        for block in blocks
        if overlap(network, block)
    ]
    return passed_if(not overlaps, "; ".join(overlaps) or f"no overlap with {listed(str(block.cidr) for block in blocks)}")
