# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the cluster's networks.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import overlap, parse_network
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import Finding, listed, not_checkable, passed_if
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.install_config import judged


def networks(context: Context) -> Finding:
    found = ", ".join(f"{kind} {entry['cidr']}" for kind, entries in context.networks.items() for entry in entries)
    return judged(context, "networking", found, problems=list(_host_subnet_problems(context)))


def _host_subnet_problems(context: Context) -> Iterator[str]:
    """Yield the cluster networks without a host subnet for every node. The installer does not know the number of workers."""
    nodes = len(context.groups["control_plane"]) + len(context.groups["workers"])
    for index, entry in enumerate(context.networks["cluster"]):
        # The rules of the install-config report malformed networks.
        network, prefix = parse_network(str(entry.get("cidr"))), int(entry.get("hostPrefix") or 0)
        subnets = 2 ** (prefix - network.prefixlen) if network and prefix >= network.prefixlen else nodes
        if subnets < nodes:
            yield f"networking.clusterNetwork[{index}].hostPrefix {prefix} makes host subnets for {subnets} nodes, not {nodes}"


def private_blocks(context: Context) -> Finding:
    if context.is_bootstrapped:
        return not_checkable("not checked: the cluster is installed and its networks cannot change")
    reservations = context.read("private_blocks", "ip_reservations")
    blocks = [found for each in reservations if (found := parse_network(f"{each.get('network')}/{each.get('cidr')}"))]
    if not blocks:
        return not_checkable("the project has no private block yet: the first device in a metro creates one")
    own = [
        (kind, network)
        for kind in ("cluster", "service")
        for entry in context.networks[kind]
        if (network := parse_network(str(entry.get("cidr"))))
    ]
    overlaps = [
        f"{kind} network {network.cidr} overlaps {block.cidr} of the project"
        for kind, network in own
        for block in blocks
        if overlap(network, block)
    ]
    return passed_if(not overlaps, "; ".join(overlaps) or f"no overlap with {listed(str(block.cidr) for block in blocks)}")
