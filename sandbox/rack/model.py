# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rack consists of, and the file in which the emulator gets it."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

Firmware = Literal["bios", "uefi"]
MOST_MACHINES: Final = 16

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MAC: Final = re.compile(r"[0-9a-f][02468ace](:[0-9a-f]{2}){5}")


class RackError(Exception):
    """The description of the rack is invalid, or an action failed; the message has the machine and the reason."""


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

    def check(self) -> None:
        """Raise :class:`RackError` for values with which the machine could not be emulated."""
        if not _NAME.fullmatch(self.name):
            raise RackError(f"machine {self.name!r}: the name must be a DNS label in lower case")
        try:
            canonical = str(uuid.UUID(self.uuid))
        except ValueError:
            canonical = ""
        if canonical != self.uuid:
            raise RackError(f"machine {self.name}: {self.uuid!r} is not a UUID in lower case")
        if not self.macs or not all(_MAC.fullmatch(mac) for mac in self.macs):
            raise RackError(f"machine {self.name}: macs must be unicast addresses as 52:54:00:00:00:01, at least one")
        if self.memory_mb < 256 or self.cores < 1 or self.disk_gb < 1:
            raise RackError(f"machine {self.name}: at least 256 MB of memory, 1 core and 1 GB of disk are needed")
        if self.firmware not in ("bios", "uefi"):
            raise RackError(f"machine {self.name}: firmware must be bios or uefi, not {self.firmware!r}")


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

    def check(self) -> None:
        """Raise :class:`RackError` if a machine is malformed or two share a name, a UUID or a MAC."""
        for machine in self.machines:
            machine.check()
        _check_distinct("name", [machine.name for machine in self.machines])
        _check_distinct("uuid", [machine.uuid for machine in self.machines])
        _check_distinct("mac", [mac for machine in self.machines for mac in machine.macs])
        if not self.user or ":" in self.user or not self.password or len(self.password.encode()) > 72:
            raise RackError("user and password of the BMCs must not be empty, no colon in the user, 72 bytes in the password at most")

    def save(self, path: Path) -> None:
        """Write the file of ``--config``, which its owner alone may read: it contains the password."""
        path.touch(mode=0o600)
        path.write_text(json.dumps({**asdict(self), "folder": str(self.folder)}, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RackConfig:
        """Read the file of ``--config``. Raises :class:`RackError`."""
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            machines = tuple(RackMachine(**{**entry, "macs": tuple(entry["macs"])}) for entry in content.pop("machines"))
            config = cls(folder=Path(content.pop("folder")), machines=machines, **content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RackError(f"cannot read the rack in {path}: {error}") from None
        config.check()
        return config


def _check_distinct(label: str, values: Sequence[str]) -> None:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise RackError(f"two machines with the same {label}: {', '.join(twice)}")
