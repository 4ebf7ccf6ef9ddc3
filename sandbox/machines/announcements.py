# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses beside its own that each device has configured, and those that it announces by BGP or ARP."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

RENEW_DEADLINE = 3.0
LEASE_DURATION = 5.0
"""Real seconds after the last renewal in which a device has its address, and in which no other device can take it: those of kube-vip."""


@dataclass(frozen=True)
class Lease:
    """``own_address``: where the device is reached that has the address."""

    device_id: str
    own_address: str
    renewed: float

    @property
    def age(self) -> float:
        """Real seconds since the last renewal."""
        return time.monotonic() - self.renewed


class Announcements:
    """Written by machines, read by the network between them, whatever the Metal API has of sessions and assignments."""

    def __init__(self) -> None:
        self._configured: defaultdict[str, set[str]] = defaultdict(set)
        self._announced: defaultdict[str, set[str]] = defaultdict(set)
        self._leases: dict[str, Lease] = {}

    def configure(self, device_id: str, address: str) -> None:
        """Note that a device accepts packets to an address."""
        self._configured[device_id].add(address)

    def announce(self, device_id: str, address: str) -> None:
        """Note that a device's BGP daemon exports a route to an address."""
        self._announced[device_id].add(address)

    def withdraw(self, device_id: str, address: str) -> None:
        """Note that it exports that route no more."""
        self._announced[device_id].discard(address)

    def renew(self, address: str, device_id: str, own_address: str) -> bool:
        """Renew the lease of an address, or take one that has expired. Return whether the device has it, and so answers ARP for it."""
        lease = self._leases.get(address)
        if lease is not None and lease.device_id != device_id and lease.age < LEASE_DURATION:
            return False
        self._leases[address] = Lease(device_id, own_address, time.monotonic())
        self.configure(device_id, address)
        return True

    def leased(self) -> Iterator[tuple[str, Lease]]:
        """Yield each address that a device answers ARP for."""
        yield from ((address, lease) for address, lease in self._leases.items() if lease.age < RENEW_DEADLINE)

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
