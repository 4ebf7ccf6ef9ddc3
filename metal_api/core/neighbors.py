# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The neighbors of this computer: which network card has an address that it talks with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ARP: Final = Path("/proc/net/arp")
"""The kernel's table of IPv4 neighbors (Linux, proc_net(5))."""
_COMPLETE: Final = 0x2


def mac_of(address: str, table: Path = ARP) -> str | None:
    """Return the MAC address behind an IPv4 address of a network that this computer is on, None for any other address.

    While a connection is open the kernel has the address, which it needs for its answers.
    """
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return None
    for line in lines:
        # IP address, HW type, flags, HW address, mask, device.
        fields = line.split()
        if len(fields) >= 4 and fields[0] == address and int(fields[2], 16) & _COMPLETE:
            return fields[3].lower()
    return None
