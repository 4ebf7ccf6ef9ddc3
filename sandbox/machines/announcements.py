# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses beside its own that each device has configured, and those that it announces by BGP or ARP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator


class Announcements:
    """Written by machines, read by the network between them, whatever the Metal API has of sessions and assignments."""

    def __init__(self) -> None:
        self._configured: defaultdict[str, set[str]] = defaultdict(set)
        self._announced: defaultdict[str, set[str]] = defaultdict(set)
        self._neighbors: dict[str, tuple[str, str]] = {}

    def configure(self, device_id: str, address: str) -> None:
        """Note that a device accepts packets to an address."""
        self._configured[device_id].add(address)

    def announce(self, device_id: str, address: str) -> None:
        """Note that a device's BGP daemon exports a route to an address."""
        self._announced[device_id].add(address)

    def withdraw(self, device_id: str, address: str) -> None:
        """Note that it exports that route no more."""
        self._announced[device_id].discard(address)

    def answer_arp(self, device_id: str, address: str, own_address: str) -> None:
        """Note that a device accepts packets to an address in its subnet, and answers ARP for it in place of any other device.

        ``own_address``: where the device is reached.
        """
        self.configure(device_id, address)
        self._neighbors[address] = device_id, own_address

    def remove(self, device_id: str, address: str) -> None:
        """Note that a device has removed an address."""
        self._configured[device_id].discard(address)

    def neighbors(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield each address that a device answers ARP for, with the id and the own address of the device."""
        yield from ((address, hop) for address, hop in self._neighbors.items() if self.accepts(hop[0], address))

    def switch_off(self, device_id: str) -> None:
        """Remove the configured addresses of a device. Its routes remain until they are withdrawn, or their hold time is over."""
        self._configured.pop(device_id, None)

    def forget(self, device_id: str) -> None:
        """Withdraw all routes of a device."""
        self._announced.pop(device_id, None)

    def accepts(self, device_id: str, address: str) -> bool:
        """Return whether a device has configured an address."""
        return address in self._configured.get(device_id, ())

    def announcers(self, address: str) -> list[str]:
        """Return the ids of the devices that announce an address."""
        return sorted(device for device, addresses in self._announced.items() if address in addresses)
