# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check of metros with plain networks: those of a Metal API for servers of one's own have no VLANs, elastic addresses and BGP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..settings.networks import ip_families
from .context import Context
from .findings import Finding, failed, listed, passed, warning
from .load_balancer import metallb_uses_bgp, needs_bgp, uses_arp

FEATURES = frozenset({"backend_transfer", "layer_2", "global_ipv4"})
"""Features of a facility's network (vendor's OpenAPI text). A plain network has none of them."""


def needs(context: Context) -> Iterator[str]:
    """Yield the settings that a plain network cannot fulfil, each with what to use instead."""
    load_balancer, network = context.text("load_balancer"), context.text("machine_network")
    if load_balancer == "kube_vip" and needs_bgp(context):
        yield "openshift_load_balancer kube_vip needs openshift_api_address, since an elastic address needs BGP: set it, or use dns"
    if load_balancer == "haproxy":
        yield "openshift_load_balancer haproxy needs an image of the vendor, and with two hosts an elastic address: use dns or kube_vip"
    if network == "private":
        yield "openshift_machine_network private needs private addresses: use layer3"
    if network == "vlan":
        yield "openshift_machine_network vlan needs VLANs: use layer3"
    if 6 in ip_families(context.texts("service_networks")):
        yield "openshift_service_networks has IPv6 and devices have no IPv6 address: use IPv4 alone"
    if metallb_uses_bgp(context):
        yield "openshift_metallb announces addresses by BGP unless openshift_load_balancer is kube_vip with openshift_api_address"
    if any(machine.get("ip_addresses") for machine in context.machines_to_order):
        yield "metal_ip_addresses requests private addresses, and each device has one public IPv4 address: leave it unset"
    for files, url, remedy in _firmware_downloads(context):
        if not url.lower().startswith("http://"):
            yield f"{files} are at {url}, and the iPXE of servers of one's own (Debian 12) has no HTTPS: set {remedy}"


def _firmware_downloads(context: Context) -> Iterator[tuple[str, str, str]]:
    """Yield what firmware downloads: the files, their URL and how to set an http one. Boot servers have http URLs."""
    if context.text("publish") == "object_storage":
        endpoint = context.text("publish_open_endpoint") or context.text("publish_endpoint") or "https URLs of Amazon S3"
        yield "boot scripts", endpoint, "openshift_publish_open_endpoint to the http URL of the S3 service"
    mirror = context.text("image_mirror_url") or "https URLs"
    yield "kernel and initramfs", mirror, "openshift_image_mirror_url to an http URL, such as the boot service's with /images"


def depends_on(context: Context) -> bool:
    """Return whether the features of the metros have to be read for these settings."""
    return any(needs(context)) or context.text("machine_network") == "bond" or uses_arp(context)


def plain_network(context: Context) -> Finding:
    """Refuse what a plain network does not have before the run has created anything."""
    if not depends_on(context) or not context.machines_to_order:
        return passed("no setting needs VLANs, private or elastic addresses, BGP or HTTPS of the firmware")
    facilities = (context.readings.get("facilities") or {}).get("facilities")
    # A Metal API without facilities reports nothing about its networks: the real one has removed them in 2026.
    plain = sorted({code for host in facilities or [] if (code := _plain_metro(host)) in context.metros()})
    routed = [metro for metro in context.metros() if metro not in plain]
    if routed and uses_arp(context) and context.text("machine_network") != "vlan":
        found = (
            f"openshift_api_address is announced by ARP in one subnet of the nodes, and the network of {listed(routed)}"
            f" {'routes each machine by itself' if facilities else 'is not known'}"
        )
        advice = "use openshift_machine_network vlan, or remove openshift_api_address, so that kube_vip announces an elastic address by BGP"
        return failed(found, advice) if facilities else warning(found, advice)
    if not plain:
        return passed("no metro of the machines to order reports a plain network")
    if problems := list(needs(context)):
        return failed(f"plain network in {listed(plain)}: {'; '.join(problems)}")
    if context.text("machine_network") == "bond":
        return warning(
            f"plain network in {listed(plain)}: openshift_machine_network bond needs a switch with LACP on all ports of each server, and"
            " the MAC addresses of all of them in the rack file",
            "use openshift_machine_network layer3, unless your switch has these bonds",
        )
    return passed(listed(plain))


def _plain_metro(facility: Any) -> str:
    """Return the code of the metro of a facility with a plain network, empty for another one."""
    if not isinstance(facility, Mapping) or not isinstance(facility.get("metro"), Mapping):
        return ""
    features = facility.get("features")
    if not isinstance(features, list) or "baremetal" not in features or FEATURES.intersection(map(str, features)):
        return ""
    return str(facility["metro"].get("code") or "")
