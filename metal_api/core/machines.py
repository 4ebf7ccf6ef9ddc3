# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface between the Metal API and the machines of its devices.

The Metal API calls :class:`Machines` and does not depend on its implementation, such as the nodes of an Ironic. A machine uses only the
services that real hardware has, the boot service and the metadata service, from its own source address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

DriveKind = Literal["SSD", "NVMe", "HDD"]


@dataclass(frozen=True)
class Drive:
    """A disk of a machine. ``name``: its device node (``/dev/sda``), ``size_gb``: decimal gigabytes."""

    name: str
    size_gb: int
    kind: DriveKind = "SSD"


@dataclass(frozen=True)
class Hardware:
    """The hardware of a machine.

    ``address``: the device's public IPv4, which DHCP configures; ``architecture``: ``x86_64`` or ``aarch64``;
    ``operating_system``: a slug, of which ``custom_ipxe`` boots from the network. ``server_id``: the server it is, as the backend names it,
    None for a machine that the backend makes.
    """

    device_id: str
    hostname: str
    address: str
    plan: str
    architecture: str
    drives: tuple[Drive, ...]
    macs: tuple[str, ...]
    operating_system: str
    server_id: str | None = None


class MachineError(Exception):
    """The backend could not do what was requested of a machine. The message has its reason, for an event of the device."""


class Machines(Protocol):
    """Power and disks of all machines.

    A call returns when the backend has done its part: an Ironic when it reports the state. A call that was interrupted, also by
    ``kill -9``, is repeated and has to go on from what it finds. All but ``restore`` and ``close`` raise :class:`MachineError`.
    """

    async def install(self, hw: Hardware) -> None:
        """Power on a new machine, with network boot."""

    async def power_off(self, device_id: str) -> None:
        """Power off. Does nothing for unknown machines and those that are off."""

    async def power_on(self, device_id: str, *, hw: Hardware) -> None:
        """Boot an existing machine from its disks (its firmware still calls the boot service first)."""

    async def reboot(self, device_id: str) -> None:
        """Power cycle."""

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        """Install the machine again; ``keep_disks`` keeps all disks except the installed system's."""

    async def rescue(self, hw: Hardware) -> None:
        """Boot the rescue system from the network; disks do not change."""

    async def remove(self, device_id: str) -> None:
        """Deprovision: stop everything, wipe the disks, delete the machine's directory."""

    async def restore(self, hw: Hardware, *, is_on: bool) -> None:
        """Continue a machine with the power that it had when the server ended."""

    async def close(self) -> None:
        """End all tasks and processes of the backend; machines that exist stay as they are."""
