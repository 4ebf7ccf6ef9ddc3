# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine's disks with the attributes of its kernel, and the choice of a disk by the rule of a live config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from metal_api.core.machines import Drive
from sandbox.machines.host import Host


class NoDiskError(Exception):
    """No disk of the machine fits a rule; the message lists the disks."""


@dataclass(frozen=True)
class Disk:
    """A drive's attributes as lsblk and udev report them."""

    drive: Drive
    kind: str
    """``nvme``, ``ssd`` or ``hdd``."""
    model: str
    vendor: str
    serial: str
    wwn: str
    hctl: str
    links: frozenset[str]
    """Its paths: the device node and what udev links to it."""

    def __str__(self) -> str:
        return f"{self.drive.name} ({self.drive.size_gb} GB {self.kind}, model {self.model}, serial {self.serial}, WWN {self.wwn})"

    def fits(self, hints: Mapping[str, Any]) -> bool:
        """Return whether the disk fits OpenShift's ``rootDeviceHints``: a part of model and vendor, a minimum size, the rest exactly."""
        requested = {name: value for name, value in hints.items() if value is not None}
        return all(
            (
                requested.get("deviceName", self.drive.name) in self.links,
                requested.get("hctl", self.hctl) == self.hctl,
                requested.get("model", "") in self.model,
                requested.get("vendor", "") in self.vendor,
                requested.get("serialNumber", self.serial) == self.serial,
                requested.get("minSizeGigabytes", 0) <= self.drive.size_gb,
                requested.get("wwn", self.wwn) == self.wwn,
                requested.get("wwnWithExtension", self.wwn) == self.wwn,
                # No disk here has one.
                "wwnVendorExtension" not in requested,
                requested.get("rotational", self.kind == "hdd") == (self.kind == "hdd"),
            )
        )


def disks_of(host: Host) -> list[Disk]:
    """All drives, in the firmware's order."""
    return [_disk(host, number, drive) for number, drive in enumerate(host.hardware.drives)]


def _disk(host: Host, number: int, drive: Drive) -> Disk:
    kind, bus = drive.kind.lower(), "nvme" if drive.kind == "NVMe" else "ata"
    model, serial = f"SANDBOX_{drive.kind}_{drive.size_gb}", f"{host.hardware.device_id[:8]}{number}"
    wwn = f"{'eui.' if bus == 'nvme' else '0x'}5a{serial.encode().hex()[:14]}"
    disk = Disk(
        drive=drive,
        kind=kind,
        model=model,
        vendor="" if bus == "nvme" else "ATA",
        serial=serial,
        wwn=wwn,
        hctl="" if bus == "nvme" else f"{number}:0:0:0",
        links=frozenset(),
    )
    paths = (
        f"by-id/{bus}-{model}_{serial}",
        f"by-id/{'nvme-' if bus == 'nvme' else 'wwn-'}{wwn}",
        f"by-path/pci-0000:00:17.0-{bus}-{number + 1}",
    )
    return replace(disk, links=frozenset({drive.name, *(f"/dev/disk/{path}" for path in paths)}))


def resolve(host: Host, path: str) -> str | None:
    """The drive a path means: itself, or a by-id or by-path link; a bare name is deprecated and still works."""
    return next((disk.drive.name for disk in disks_of(host) if path in disk.links or f"/dev/{path}" == disk.drive.name), None)


def choose(host: Host, rule: Mapping[str, Any]) -> str:
    """The drive that a rule means: ``device``, a path, or ``smallest`` or ``largest`` with a type if need be; and ``hints``.

    Raises :class:`NoDiskError`.
    """
    device = str(rule.get("device") or "smallest")
    order, _space, kind = device.partition(" ")
    if device.startswith("/"):
        matching = [disk for disk in disks_of(host) if device in disk.links]
    else:
        matching = [disk for disk in disks_of(host) if disk.fits(rule.get("hints") or {}) and kind in {"", disk.kind}]
    if not matching:
        listed = ", ".join(map(str, disks_of(host))) or "no disk at all"
        raise NoDiskError(f"no disk fits {device} with hints {rule.get('hints') or {}}, nothing is installed; there are: {listed}")
    sign = -1 if order == "largest" else 1
    return min(matching, key=lambda disk: (sign * disk.drive.size_gb, len(disk.drive.name), disk.drive.name)).drive.name
