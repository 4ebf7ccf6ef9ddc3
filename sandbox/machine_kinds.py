# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``--machines`` chooses: which machines of a sandbox are more than simulated. Needs the standard library alone, for ``--help``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sandbox.rack.model import MOST_MACHINES, Firmware

HELP = (
    "simulated; container: the installed system of a machine is a systemd container, which needs root, container:worker,ubuntu_24_04 that "
    "of these machine config pools and operating systems alone; or qemu: also a server with real firmware, of plan qemu.small.x86 in metro "
    "da, qemu:bios,uefi has two, with this firmware (default: %(default)s)"
)


@dataclass(frozen=True)
class MachineKinds:
    """``firmware``: that of each server with QEMU beside the others.

    ``containers``: installed systems of nodes of these machine config pools, and of devices with these operating systems, are containers,
    empty: all. None: none.
    """

    firmware: tuple[Firmware, ...] = ()
    containers: frozenset[str] | None = None

    @classmethod
    def parse(cls, text: str) -> MachineKinds:
        """Read ``simulated``, ``container``, ``container:worker,...``, ``qemu`` (one server with BIOS) or ``qemu:bios,uefi,...``.

        Raises ValueError.
        """
        kind, colon, words = text.partition(":")
        if text == "simulated":
            return cls()
        if kind == "container":
            names = frozenset(words.split(",") if colon else ())
            if "" in names:
                raise ValueError(
                    f"{text!r} has an empty name among its machine config pools and operating systems, as in container:worker,ubuntu_24_04"
                )
            return cls(containers=names)
        firmware: list[Firmware] = []
        for word in words.split(",") if colon else ["bios"]:
            if kind != "qemu" or word not in {"bios", "uefi"}:
                raise ValueError(f"{text!r} is neither simulated, container nor qemu, nor a list of firmware such as qemu:bios,uefi")
            firmware.append("uefi" if word == "uefi" else "bios")
        if len(firmware) > MOST_MACHINES:
            raise ValueError(f"{text!r} has {len(firmware)} machines, more than {MOST_MACHINES}")
        return cls(tuple(firmware))

    def has_container(self, name: str) -> bool:
        """Whether nodes of a machine config pool, or devices with an operating system (``ubuntu_24_04``), are containers."""
        return self.containers is not None and (not self.containers or name in self.containers)

    @property
    def name(self) -> str:
        """The first word of the text that :meth:`parse` reads."""
        return "qemu" if self.firmware else "simulated" if self.containers is None else "container"

    @property
    def in_namespace(self) -> bool:
        """Whether machines have network cards, for which the sandbox is in a network namespace (`sandbox.namespace`)."""
        return self.containers is not None or bool(self.firmware)


SIMULATED: Final = MachineKinds()
