# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the cluster's networks.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Union

from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.findings import Finding, either, listed, not_checkable
from ansible_collections.equinix_metal.openshift.plugins.module_utils._preflight.situation import Situation

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]  # noqa: UP007 - ansible-test's pylint cannot read the other form here


def networks(situation: Situation) -> Finding:
    problems: list[str] = []
    networks = list(_parsed(situation, problems))
    for (one, first), (other, second) in combinations(networks, 2):
        if first.version == second.version and first.overlaps(second):
            problems.append(f"{one} network {first} and {other} network {second} overlap")
    problems += [f"no {kind} network is given" for kind, given in situation.networks.items() if not given]
    problems += _shares(situation)
    return either(not problems, "; ".join(problems) or ", ".join(f"{kind} {network}" for kind, network in networks))


def _parsed(situation: Situation, problems: list[str]) -> Iterator[tuple[str, Network]]:
    for kind, texts in situation.networks.items():
        for text in texts:
            try:
                yield kind, ipaddress.ip_network(text)
            except ValueError as problem:
                problems.append(f"{kind} network: {problem}")


def _shares(situation: Situation) -> list[str]:
    """What is wrong with the hostPrefix of cluster networks."""
    problems = []
    nodes = len(situation.groups["control_plane"]) + len(situation.groups["workers"])
    for entry in situation.network_entries("cluster"):
        prefix = entry.get("hostPrefix") if isinstance(entry, Mapping) else None
        try:
            network = ipaddress.ip_network(str(entry["cidr"] if isinstance(entry, Mapping) else entry))
        except (KeyError, ValueError):
            continue  # told already
        prefix = prefix if prefix is not None else 23 if network.version == 4 else 64
        if not str(prefix).isdecimal() or not network.prefixlen <= int(prefix) < network.max_prefixlen:
            problems.append(
                f"cluster network {network}: hostPrefix {prefix} is not between {network.prefixlen} and {network.max_prefixlen - 1}"
            )
        elif 2 ** (int(prefix) - network.prefixlen) < nodes:
            problems.append(
                f"cluster network {network}: hostPrefix {prefix} is enough for {2 ** (int(prefix) - network.prefixlen)} nodes, not {nodes}"
            )
    return problems


def _block(block: Mapping[str, Any]) -> Network | None:
    """What the service says of a block; None for what is no network: it spoils only itself."""
    try:
        return ipaddress.ip_network(f"{block['network']}/{block['cidr']}", strict=False)
    except ValueError:
        return None


def private_blocks(situation: Situation) -> Finding:
    if situation.standing:
        return not_checkable("the cluster stands: its networks do not change any more")
    listed_blocks = situation.read("private_blocks", "ip_reservations")
    blocks = [found for block in listed_blocks if (found := _block(block))]
    if not blocks:
        return not_checkable("the project has no private block yet: it gets one with its first machine in a metro")
    own = [(kind, network) for kind, network in _parsed(situation, []) if kind != "machine"]
    clashing = [
        f"{kind} network {network} has the project's {block} in it"
        for kind, network in own
        for block in blocks
        if network.version == block.version and network.overlaps(block)
    ]
    return either(not clashing, "; ".join(clashing) or f"apart from {listed(map(str, blocks))}")
