# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a provisioning and their events (types and texts: recorded answers)."""

from __future__ import annotations

from metal_api.catalogue.data import NETWORK_BOOT
from metal_api.devices.record import Device

EVENTS = {
    "provisioning.101": "Provisioning started",
    "provisioning.102": "Network configured",
    "provisioning.103": "Configuration written, restarting device",
    "provisioning.104": "Connected to magic install system",
    "provisioning.104.01": "Device connected to DHCP system",
    "provisioning.105": "Server partitions created",
    "provisioning.106": "Operating system packages installed",
    "provisioning.107": "Server networking interfaces configured",
    "provisioning.108": "Cloud-init packages installed and configured",
    "provisioning.109": "Installation finished, rebooting server",
    "provisioning.110": "Device phoned home and is ready to go",
}

# States of devices with a percentage.
STATES = frozenset({"queued", "provisioning", "reinstalling"})

# The service installs nothing on a custom_ipxe device: its last step is the boot script's phone-home (Boots source). The shorter list is
# ours.
_CUSTOM_IPXE = ("provisioning.101", "provisioning.102", "provisioning.103", "provisioning.104.01")
_INSTALLED = tuple(type_ for type_ in EVENTS if type_ != "provisioning.104.01")


def types(device: Device) -> tuple[str, ...]:
    """Return the events of this device's provisioning, in their order."""
    return _CUSTOM_IPXE if device.operating_system == NETWORK_BOOT else _INSTALLED


def percentage(device: Device) -> float:
    """Return the percentage of recorded events (recorded answer: 57.14 for 4 of 7)."""
    all_ = types(device)
    return round(100 * sum(type_ in device.progress for type_ in all_) / len(all_), 2)
