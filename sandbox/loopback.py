# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses of simulated devices. All of 127.0.0.0/8 is local on Linux: each device has addresses of its own, without privileges.

Machines that boot cannot reach these: a sandbox with some has a network namespace of its own, in which other networks are local, and which
names them in :data:`VARIABLE`.
"""

from __future__ import annotations

import ipaddress
import os
from functools import lru_cache
from typing import Final

VARIABLE: Final = "SANDBOX_DEVICE_NETWORKS"
_LOOPBACK: Final = "127.64.0.0/10 127.128.0.0/10"
_CHOSEN: Final = [ipaddress.IPv4Network(network) for network in os.environ.get(VARIABLE, _LOOPBACK).split()]

PUBLIC: Final = _CHOSEN[0]
"""Public addresses of devices and reservations; each sandbox has a /16 of it."""

PRIVATE: Final = _CHOSEN[1]
"""Private addresses, which the real service allocates from 10.0.0.0/8; each sandbox has the /16 at the place of its public one."""

_OFFSET: Final = int(PRIVATE.network_address) - int(PUBLIC.network_address)


def private_network(public: str) -> str:
    """Return the network of private addresses that belongs to a network of public ones in :data:`PUBLIC`."""
    network = ipaddress.IPv4Network(public)
    return str(ipaddress.IPv4Network((int(network.network_address) + _OFFSET, network.prefixlen)))


@lru_cache(maxsize=1 << 12)
def is_private(address: str) -> bool:
    """Return whether an address is a private one of a device."""
    try:
        return ipaddress.ip_address(address) in PRIVATE
    except ValueError:
        return False


@lru_cache(maxsize=1 << 12)
def is_of_device(address: str) -> bool:
    """Return whether an address is one of a device."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed in PUBLIC or parsed in PRIVATE
