# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocation of address blocks from a network."""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(maxsize=1 << 16)
def network(text: str) -> Network:
    """Parse a network. Cached, since a list of a thousand devices contains some thousand networks, most of them repeated."""
    return ipaddress.ip_network(text)


class NetworkTexts(NamedTuple):
    """A network as the API returns it. ``full_*``: IPv6 addresses are not abbreviated."""

    version: int
    prefix: int
    address: str
    netmask: str
    full_address: str
    full_netmask: str


@lru_cache(maxsize=1 << 16)
def network_texts(text: str) -> NetworkTexts:
    """Return a network's texts. Cached, since formatting an IPv6 address is the most expensive part of rendering a device."""
    block = network(text)
    address, netmask = block.network_address, block.netmask
    full = (address.exploded, netmask.exploded)
    return NetworkTexts(block.version, block.prefixlen, str(address), str(netmask), *full)


def contains(outer: Network, inner: Network) -> bool:
    return outer.version == inner.version and (
        int(outer.network_address) <= int(inner.network_address) and int(inner.broadcast_address) <= int(outer.broadcast_address)
    )


def gateway_and_address(network: Network) -> tuple[str, str]:
    """Return the first two addresses of a /31 or /127, .1 and .2 of a larger network, twice the same of a single address.

    Source: recorded answers.
    """
    first = network.network_address
    if network.num_addresses == 1:
        return str(first), str(first)
    if network.num_addresses == 2:
        return str(first), str(first + 1)
    return str(first + 1), str(first + 2)


class ExhaustedError(Exception):
    """The pool has no free block of the requested size."""


class Pool:
    """Allocates blocks of ``unit`` (a prefix length) or larger from ``network``.

    The search starts after the block allocated last and wraps around. So its duration does not grow with the number of allocated blocks,
    and a released address is reused as late as possible: no client reaches a new device by a stale DNS record.
    """

    def __init__(self, network: str, unit: int, *, first: int = 0) -> None:
        """``first``: number of units at the beginning that are never allocated."""
        self.network = ipaddress.ip_network(network)
        self.unit = unit
        self._size = 1 << (self.network.max_prefixlen - unit)
        self._units = 1 << (unit - self.network.prefixlen)
        self._first = first
        self._next = first
        self._used: set[int] = set()

    @property
    def free_units(self) -> int:
        return self._units - self._first - len(self._used)

    def _range(self, block: Network) -> range:
        start = (int(block.network_address) - int(self.network.network_address)) // self._size
        return range(start, start + max(1, block.num_addresses // self._size))

    def mark(self, block: Network) -> None:
        """Mark ``block`` as allocated: at start, for each block in the store."""
        taken = self._range(block)
        self._used.update(taken)
        self._next = max(self._next, taken.stop)

    def release(self, block: Network) -> None:
        self._used.difference_update(self._range(block))

    def is_free(self, block: Network) -> bool:
        return self._used.isdisjoint(self._range(block))

    def free(self, prefix: int) -> list[Network]:
        """Return the free blocks of ``prefix``, at most 256 of them, to keep answers small."""
        width = 1 << max(0, self.unit - prefix)
        starts = (start for start in range(0, self._units - width + 1, width) if self._used.isdisjoint(range(start, start + width)))
        return [self._block(start, prefix) for start in itertools.islice(starts, 256)]

    def _block(self, start: int, prefix: int) -> Network:
        base = int(self.network.network_address) + start * self._size
        return ipaddress.IPv4Network((base, prefix)) if self.network.version == 4 else ipaddress.IPv6Network((base, prefix))

    def take(self, prefix: int) -> Network:
        """Allocate a block of ``prefix``, aligned to its size. Raises :class:`ExhaustedError`."""
        width = 1 << max(0, self.unit - prefix)
        aligned = -(-self._next // width) * width
        for start in self._candidates(aligned, width):
            units = range(start, start + width)
            if self._used.isdisjoint(units):
                self._used.update(units)
                self._next = units.stop
                return self._block(start, prefix)
        raise ExhaustedError(f"no /{prefix} left in {self.network}")

    def _candidates(self, aligned: int, width: int) -> Iterable[int]:
        yield from range(aligned, self._units - width + 1, width)
        yield from range(-(-self._first // width) * width, min(aligned, self._units - width + 1), width)
