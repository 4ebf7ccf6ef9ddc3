# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks in CIDR notation.

A network is an interface of ``ipaddress``, which keeps the address it was written with; ``network`` is the network itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

Network = IPv4Interface | IPv6Interface


def parse_network(text: str) -> Network | None:
    """Return the network, None for malformed text."""
    try:
        return None if "%" in text else ip_interface(text)
    except ValueError:
        return None


def ip_families(cidrs: Iterable[str]) -> list[int]:
    """Return the IP versions of networks, each once, in the order of the networks. Malformed ones are left out."""
    return list(dict.fromkeys(network.version for cidr in cidrs if (network := parse_network(str(cidr))) is not None))


def is_within(inner: Network, outer: Network) -> bool:
    """Return whether all addresses of a network are in another one. Networks of different IP versions share none."""
    return inner.version == outer.version and inner.network.subnet_of(outer.network)  # type: ignore[arg-type]  # of the same version


def overlap(one: Network, other: Network) -> bool:
    """Return whether two networks share addresses."""
    return is_within(one, other) or is_within(other, one)


def with_network(cidrs: Iterable[str], cidr: str) -> list[str]:
    """Return the networks, and ``cidr`` too if it is in none of them. Malformed networks are kept; an empty ``cidr`` is none."""
    networks = list(cidrs)
    added = parse_network(cidr) if cidr else None
    known = [network for text in networks if (network := parse_network(str(text))) is not None]
    return networks if added is None or any(is_within(added, network) for network in known) else [*networks, cidr]


def url_of(host: str, port: int | str, scheme: str = "http") -> str:
    """Return the URL of a host, a name or an address of either IP version, without a path."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
