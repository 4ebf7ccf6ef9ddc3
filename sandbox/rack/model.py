# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rack consists of, and the file in which the emulator gets it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

Firmware = Literal["bios", "uefi"]
MOST_MACHINES: Final = 16


class RackError(Exception):
    """An action failed; the message has the machine and the reason."""


@dataclass(frozen=True)
class RackMachine:
    """One machine. ``uuid``: of the system, lower case. ``macs``: of its network interfaces, the first one boots.

    ``firmware``: the boot mode it is delivered with; Redfish may change it. ``cabled``: False leaves its interfaces without a network.
    """

    name: str
    uuid: str
    macs: tuple[str, ...]
    memory_mb: int = 2048
    cores: int = 1
    disk_gb: int = 10
    firmware: Firmware = "bios"
    cabled: bool = True

    @property
    def system(self) -> str:
        """Path of the system in the Redfish API."""
        return f"/redfish/v1/Systems/{self.uuid}"


@dataclass(frozen=True)
class RackConfig:
    """A rack. ``folder``: for disks, consoles and state. ``bridge``: the network of all cabled machines, None for no network.

    ``host`` and ``port``: where the Redfish API listens, for all machines. ``user`` and ``password``: of its HTTP basic authentication.
    """

    folder: Path
    machines: tuple[RackMachine, ...]
    host: str
    port: int
    user: str
    password: str
    bridge: str | None = None

    def save(self, path: Path) -> None:
        """Write the file of ``--config``, which its owner alone may read: it contains the password."""
        path.touch(mode=0o600)
        path.write_text(json.dumps({**asdict(self), "folder": str(self.folder)}, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RackConfig:
        """Read what :meth:`save` wrote."""
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        machines = tuple(RackMachine(**{**entry, "macs": tuple(entry["macs"])}) for entry in content.pop("machines"))
        return cls(folder=Path(content.pop("folder")), machines=machines, **content)
