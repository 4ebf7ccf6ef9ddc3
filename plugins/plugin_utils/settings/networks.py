# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks in CIDR notation, computed with netaddr. This is the only importer of netaddr.

An ``IPNetwork`` is IPv4 or IPv6 (``version``) and keeps the address it was written with: ``ip``, the network itself is ``cidr``.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from ipaddress import ip_address

LIBRARY_ERROR: str | None = None
"""Traceback of the import when netaddr is not installed."""

try:
    from netaddr import AddrFormatError, IPNetwork
except ImportError:
    LIBRARY_ERROR = traceback.format_exc()


def ip_network(cidr: str) -> IPNetwork:
    """Return the network. Raises AddrFormatError for malformed text."""
    return IPNetwork(cidr)


def parse_network(text: str) -> IPNetwork | None:
    """Return the network, None for malformed text."""
    try:
        return IPNetwork(text)
    except (AddrFormatError, ValueError):
        return None


def is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def ip_families(cidrs: Iterable[str]) -> list[int]:
    """Return the IP versions of networks, each once, in the order of the networks. Malformed ones are left out."""
    return list(dict.fromkeys(network.version for cidr in cidrs if (network := parse_network(str(cidr))) is not None))


def overlap(one: IPNetwork, other: IPNetwork) -> bool:
    """Return whether two networks share addresses. Networks of different IP versions do not."""
    return one in other or other in one


def address_bits(network: IPNetwork) -> int:
    """Return the length of an address of the network's IP version: 32 or 128 bits."""
    return 32 if network.version == 4 else 128


def with_network(cidrs: Iterable[str], cidr: str) -> list[str]:
    """Return the networks, and ``cidr`` too if it is in none of them. Malformed networks are kept; an empty ``cidr`` is none."""
    networks = list(cidrs)
    added = parse_network(cidr) if cidr else None
    known = [network for text in networks if (network := parse_network(str(text))) is not None]
    return networks if added is None or any(added in network for network in known) else [*networks, cidr]


def url_of(host: str, port: int | str, scheme: str = "http") -> str:
    """Return the URL of a host, a name or an address of either IP version, without a path."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
