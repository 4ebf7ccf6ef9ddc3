# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch of machines with a kernel, which is one of them, and the interfaces of this computer by which it is their router."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sandbox.containers.command import run
from sandbox.kernels.image import Image
from sandbox.kernels.machine import Card, Machine

PORTS: Final = 2
"""Cables of a machine."""
VLAN_INTERFACE: Final = "vlan"
"""The router's interface in the VLAN."""


class Switch(Machine):
    """``macs``: of the cards of each machine. ``vlan``: the one with a port of the router. They have its files/usr/libexec/switch."""

    def __init__(self, folder: Path, image: Image, macs: list[tuple[str, ...]], vlan: int) -> None:
        self._macs = macs
        self._interfaces = [*map(router_interface, range(len(macs))), VLAN_INTERFACE]
        cards = []
        for number in range(len(macs)):
            names = [(port, cable_name(number, port)) for port in range(PORTS)]
            cards += [Card.cable(f"52:54:00:00:{number:02x}:{port:02x}", name, from_switch=True) for port, name in names]
            cards.append(Card.tap(f"52:54:00:01:{number:02x}:00", router_interface(number)))
        cards.append(Card.tap("52:54:00:02:00:00", VLAN_INTERFACE))
        environment = {"MACHINES": len(macs), "VLAN": vlan, "net.ifnames": 0}
        super().__init__("switch", folder, image, cards, process="/usr/libexec/switch", environment=environment, memory_mb=256)

    async def power_on(self) -> None:
        """Make the interfaces of the router, and start."""
        for name in self._interfaces:
            await run("ip", "tuntap", "add", name, "mode", "tap")
            await run("ip", "link", "set", name, "up")
        await super().power_on()

    async def lose_power(self) -> None:
        """End it, and remove the interfaces of the router."""
        was_on = self.is_on
        await super().lose_power()
        for name in self._interfaces if was_on else ():
            await run("ip", "link", "delete", name)

    def cards_of(self, number: int) -> list[Card]:
        """Return the cards of a machine, by its number."""
        return [Card.cable(mac, cable_name(number, port)) for port, mac in enumerate(self._macs[number])]

    def connect(self, machine: int, port: int, *, up: bool) -> None:
        """Plug in or pull out a cable at the end of the switch."""
        self.connect_card(machine * (PORTS + 1) + port, up=up)

    async def set_vlan(self, machine: int, vlan: int, *, layer3: bool) -> None:
        """Put the bond of a machine into a VLAN, tagged. ``layer3``: also into its own one, untagged, as in hybrid mode."""
        await self.run(f"bridge vlan add dev bond{machine} vid {vlan}")
        change, untagged = ("add", " pvid untagged") if layer3 else ("del", "")
        await self.run(f"bridge vlan {change} dev bond{machine} vid {machine + 1}{untagged}")


def router_interface(machine: int) -> str:
    """Return the router's interface for a machine."""
    return f"router{machine}"


def cable_name(machine: int, port: int) -> str:
    """Return the name of a cable's two sockets."""
    return f"cable{machine}.{port}"
