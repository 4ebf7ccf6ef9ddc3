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

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import Finding, either, listed, not_checkable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.install_config import judged
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]  # noqa: UP007 - ansible-test's pylint cannot read the other form here


def networks(situation: Situation) -> Finding:
    found = ", ".join(f"{kind} {entry['cidr']}" for kind, entries in situation.networks.items() for entry in entries)
    return judged(situation, "networking", found, problems=list(_shares(situation)))


def _shares(situation: Situation) -> Iterator[str]:
    """Yield cluster networks without a share for every node. The installer does not know how many there will be."""
    nodes = len(situation.groups["control_plane"]) + len(situation.groups["workers"])
    for index, entry in enumerate(situation.networks["cluster"]):
        network, prefix = _network(entry.get("cidr")), int(entry.get("hostPrefix") or 0)
        shares = 2 ** (prefix - network.prefixlen) if network and prefix >= network.prefixlen else nodes
        if shares < nodes:
            yield f"networking.clusterNetwork[{index}].hostPrefix {prefix} is enough for {shares} nodes, not {nodes}"


def _network(cidr: Any) -> Network | None:
    """None for what is no network: it spoils only itself."""
    try:
        return ipaddress.ip_network(str(cidr), strict=False)
    except ValueError:
        return None


def _block(block: Mapping[str, Any]) -> Network | None:
    """What the service says of a block."""
    return _network(f"{block.get('network')}/{block.get('cidr')}")


def private_blocks(situation: Situation) -> Finding:
    if situation.standing:
        return not_checkable("the cluster stands: its networks do not change any more")
    listed_blocks = situation.read("private_blocks", "ip_reservations")
    blocks = [found for block in listed_blocks if (found := _block(block))]
    if not blocks:
        return not_checkable("the project has no private block yet: it gets one with its first machine in a metro")
    own = [
        (kind, network) for kind in ("cluster", "service") for entry in situation.networks[kind] if (network := _network(entry.get("cidr")))
    ]
    clashing = [
        f"{kind} network {network} has the project's {block} in it"
        for kind, network in own
        for block in blocks
        if network.version == block.version and network.overlaps(block)
    ]
    return either(not clashing, "; ".join(clashing) or f"apart from {listed(map(str, blocks))}")
