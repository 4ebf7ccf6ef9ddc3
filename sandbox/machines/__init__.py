# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated machines: the interface between a machine and the operating system that is installed on it.

An installed machine runs a :class:`System`, which a :data:`SystemFactory` creates from the final Ignition config.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

from metal_api.core.machines import Hardware
from sandbox.clock import Clock
from sandbox.machines.network import BoundHTTP
from sandbox.metal.attachment import Attachment


class Userland(Protocol):
    """An installed system that runs: its units, its network and its firewall are not simulated."""

    @property
    def root(self) -> Path:
        """Where its file system is, while the machine has power."""

    async def run(self) -> NoReturn:
        """Boot it, and run it until cancelled, a loss of power."""


class Machine(Protocol):
    """A system's interface to the machine it runs on."""

    @property
    def hardware(self) -> Hardware: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def directory(self) -> Path:
        """Persistent for the life of the installed disk; survives ``kill -9`` of the sandbox, gone at remove."""

    @property
    def http(self) -> BoundHTTP: ...

    async def announce(self, address: str, metadata_url: str, is_healthy: Callable[[], Awaitable[bool]]) -> None:
        """Announce an elastic address by BGP while the machine is healthy, until cancelled (`sandbox.machines.elastic`)."""

    def add_address(self, address: str, own_address: str) -> None:
        """Configure an address in the subnet of its own address, and answer ARP for it in place of any other machine."""

    def remove_address(self, address: str) -> None:
        """Remove that address."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the IPv4 addresses that the machine has configured: that of DHCP or the one in place of it, and the private one."""

    @property
    def address(self) -> str:
        """The address that the machine sends from and serves clients at: that of DHCP, unless it has configured another one."""

    def configure_private(self, address: str) -> None:
        """Configure the private address. Without one the machine reaches no private address of others. Gone at the next boot."""

    def configure(self, address: str, is_connected: Callable[[], bool]) -> None:
        """Use another address than that of DHCP, and no private one, until the next boot.

        Requests fail while ``is_connected`` returns False.
        """

    def is_connected(self) -> bool:
        """Whether packets to and from the address of the machine arrive, now."""

    def attachment(self) -> Attachment:
        """Return where the ports of the machine are, now."""

    async def listen(self, address: str, port: int) -> socket.socket:
        """Return a socket that listens at an address of the machine. Raises ``OSError`` when the port is taken or may not be bound."""

    @property
    def userland(self) -> Userland | None:
        """What runs the installed system; None where it is simulated."""

    async def report(self, state: str, message: str) -> None:
        """POST ``{"state", "message"}`` to the events address of the boot service; failures are only logged.

        ``state`` is ``running``, ``succeeded`` or ``failed``.
        """

    async def resolve(self, name: str) -> list[str]:
        """IPv4 addresses of ``name`` in the sandbox's DNS; empty when there are none or the server does not answer."""

    def console(self, line: str) -> None:
        """Append one line to the serial console, if the system has one."""


class System(Protocol):
    """A running installed operating system."""

    async def run(self) -> None:
        """Run until cancelled (power off, reboot, removal)."""


SystemFactory = Callable[[Machine, dict[str, Any]], System]
"""Creates the system of a machine from its merged Ignition config."""
