# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a device is made of: the seam between the Metal API and whatever plays its machines.

The Metal API calls :class:`Machines` and knows nothing of what is behind it; a machine knows the Metal API only as
real hardware does, through the boot service and the metadata service, from its own source address. What runs on an
installed machine is a :class:`System`, made by a :data:`SystemFactory` from the final Ignition config.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import httpx

from sandbox.clock import Clock

DriveKind = Literal["SSD", "NVMe", "HDD"]


@dataclass(frozen=True)
class Drive:
    """One disk of a machine. ``name`` is its device node (``/dev/sda``), ``size_gb`` decimal gigabytes."""

    name: str
    size_gb: int
    kind: DriveKind = "SSD"


@dataclass(frozen=True)
class Hardware:
    """One machine as the data centre knows it.

    ``address`` is the public IPv4 of the device (127.64.x.y in the sandbox), ``architecture`` is ``x86_64`` or
    ``aarch64``, ``operating_system`` a slug: ``custom_ipxe`` walks the PXE path.
    """

    device_id: str
    hostname: str
    address: str
    plan: str
    architecture: str
    drives: tuple[Drive, ...]
    macs: tuple[str, ...]
    operating_system: str


class Machines(Protocol):
    """Power and disks of all machines. Every call returns at once; the work goes on in a task of the machine."""

    async def install(self, hw: Hardware) -> None:
        """First power on after create, with network boot allowed."""

    async def power_off(self, device_id: str) -> None:
        """Cut the power. A machine that is not known or is off already stays so."""

    async def power_on(self, device_id: str, *, hw: Hardware) -> None:
        """Start an existing machine from what its disks hold (firmware still asks the boot service first)."""

    async def reboot(self, device_id: str) -> None:
        """Power cycle."""

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        """Start over as after create; ``keep_disks`` leaves all but the installed system's disk as it is."""

    async def rescue(self, hw: Hardware) -> None:
        """Boot the rescue system over the network; disks stay as they are."""

    async def remove(self, device_id: str) -> None:
        """Deprovision: everything stops, disks are wiped, the machine's directory goes away."""

    async def restore(self, hw: Hardware) -> None:
        """The sandbox started again and the machine was on before: go on from where its directory says it was."""

    async def close(self) -> None:
        """End all tasks and processes; directories stay for :meth:`restore`."""


class MachineHTTP(Protocol):
    """HTTP as one machine does it: from its own source address, names resolved only by the sandbox's DNS server."""

    async def request(  # noqa: PLR0913 - the parts of an HTTP request, all but two by keyword
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        ca_pem: bytes | None = None,
        cert: tuple[Path, Path] | None = None,
        timeout: float = 10.0,  # noqa: ASYNC109 - for each phase, not for the whole
    ) -> httpx.Response:
        """One request, without following redirects.

        ``ca_pem``: trust these certificates; without it, the system's. ``cert``: client certificate and key files.
        ``timeout``: real seconds for each of connect, write and read. Host and SNI are those of ``url``, all addresses of its name
        are tried in turn. Raises ``httpx.TransportError`` (names that do not resolve are an ``httpx.ConnectError``).
        """


class Machine(Protocol):
    """What a system sees of the machine it runs on."""

    @property
    def hardware(self) -> Hardware: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def directory(self) -> Path:
        """Persistent for the life of the installed disk; survives ``kill -9`` of the sandbox, gone at remove."""

    @property
    def http(self) -> MachineHTTP: ...

    @property
    def name_server(self) -> tuple[str, int]:
        """Address and port of the only name server, for programs that ask by themselves."""

    async def report(self, state: str, message: str) -> None:
        """POST ``{"state", "message"}`` to the events address of the boot service; failures are only logged.

        ``state`` is ``running``, ``succeeded`` or ``failed``.
        """

    async def resolve(self, name: str) -> list[str]:
        """IPv4 addresses of ``name`` in the sandbox's DNS; empty when there are none or the server does not answer."""

    def console(self, line: str) -> None:
        """Append one line to the serial console, if the system has one."""


class System(Protocol):
    """An installed operating system at work."""

    async def run(self) -> None:
        """Run until cancelled (power off, reboot, removal)."""


SystemFactory = Callable[[Machine, dict[str, Any]], System]
"""Makes the system from the machine and the final merged Ignition config."""

__all__ = ["Drive", "DriveKind", "Hardware", "Machine", "MachineHTTP", "Machines", "System", "SystemFactory"]
