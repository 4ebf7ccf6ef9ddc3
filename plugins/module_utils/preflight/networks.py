# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the cluster's networks.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, Union

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import Finding, listed, not_checkable, passed_if
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.install_config import judged

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]  # noqa: UP007 - ansible-test's pylint cannot read the other form here


def networks(context: Context) -> Finding:
    found = ", ".join(f"{kind} {entry['cidr']}" for kind, entries in context.networks.items() for entry in entries)
    return judged(context, "networking", found, problems=list(_host_subnet_problems(context)))


def _host_subnet_problems(context: Context) -> Iterator[str]:
    """Yield the cluster networks without a host subnet for every node. The installer does not know the number of workers."""
    nodes = len(context.groups["control_plane"]) + len(context.groups["workers"])
    for index, entry in enumerate(context.networks["cluster"]):
        network, prefix = _network(entry.get("cidr")), int(entry.get("hostPrefix") or 0)
        subnets = 2 ** (prefix - network.prefixlen) if network and prefix >= network.prefixlen else nodes
        if subnets < nodes:
            yield f"networking.clusterNetwork[{index}].hostPrefix {prefix} makes host subnets for {subnets} nodes, not {nodes}"


def _network(cidr: Any) -> Network | None:
    """Return the network; None for malformed text, which the rules of the install-config report."""
    try:
        return ipaddress.ip_network(str(cidr), strict=False)
    except ValueError:
        return None


def _block(reservation: Mapping[str, Any]) -> Network | None:
    """Return the network of an IP reservation."""
    return _network(f"{reservation.get('network')}/{reservation.get('cidr')}")


def private_blocks(context: Context) -> Finding:
    if context.is_bootstrapped:
        return not_checkable("not checked: the cluster is installed and its networks cannot change")
    reservations = context.read("private_blocks", "ip_reservations")
    blocks = [found for reservation in reservations if (found := _block(reservation))]
    if not blocks:
        return not_checkable("the project has no private block yet: the first device in a metro creates one")
    own = [
        (kind, network) for kind in ("cluster", "service") for entry in context.networks[kind] if (network := _network(entry.get("cidr")))
    ]
    overlaps = [
        f"{kind} network {network} overlaps {block} of the project"
        for kind, network in own
        for block in blocks
        if network.version == block.version and network.overlaps(block)
    ]
    return passed_if(not overlaps, "; ".join(overlaps) or f"no overlap with {listed(map(str, blocks))}")
