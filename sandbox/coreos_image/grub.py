# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boot loader and partition table of the installed disk: GRUB without grub-install, which would require loop devices.

On BIOS machines the first sector (``boot.img``) loads the first sector of ``core.img`` (GRUB's diskboot), which loads the rest by a list of
blocks. ``grub-install`` writes both positions into the images; here the BIOS boot partition has a fixed position.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SECTOR: Final = 512
MIB: Final = 1 << 20
FIRST_SECTOR: Final = 2048
"""Where the BIOS boot partition begins."""

BOOT_CODE_BYTES: Final = 440
"""Bytes of the first sector that are code; disk signature and partition table follow."""

_DRIVE_CHECK: Final = 0x66
_KERNEL_SECTOR: Final = 0x5C
_BLOCK_LIST: Final = SECTOR - 12
_LOAD_SEGMENT: Final = 0x820

BIOS_BOOT, EFI_SYSTEM, LINUX = "EF02", "EF00", "8300"
"""Types of partitions, as sgdisk abbreviates them."""


class BootLoaderError(Exception):
    """An image of GRUB does not have the expected form."""


@dataclass(frozen=True)
class Partition:
    """A partition: position and size are in sectors of 512 bytes; ``guid`` is fixed, so that builds are reproducible."""

    label: str
    kind: str
    first: int
    sectors: int
    guid: str


def partitions(boot_bytes: int, efi_bytes: int, root_bytes: int) -> list[Partition]:
    """Return the four partitions of a disk, without gaps, in the order of CoreOS disks. Each size has to be whole MiB."""
    sizes = [
        ("BIOS-BOOT", BIOS_BOOT, MIB),
        ("EFI-SYSTEM", EFI_SYSTEM, efi_bytes),
        ("boot", LINUX, boot_bytes),
        ("root", LINUX, root_bytes),
    ]
    made, first = [], FIRST_SECTOR
    for number, (label, kind, size) in enumerate(sizes, 1):
        if size <= 0 or size % MIB:
            raise BootLoaderError(f"Partition {label} of {size} bytes is not a positive number of MiB")
        made.append(Partition(label, kind, first, size // SECTOR, f"00000000-0000-4000-a000-{number:012d}"))
        first += size // SECTOR
    return made


def disk_bytes(table: Sequence[Partition]) -> int:
    """Return the size of a disk with these partitions and the second partition table, in whole MiB."""
    last = table[-1]
    return (last.first + last.sectors) * SECTOR + MIB


def sgdisk_arguments(table: Iterable[Partition]) -> list[str]:
    """Return the arguments of sgdisk that create the partitions on an empty disk."""
    arguments = ["--clear", "--set-alignment=1", "--disk-guid=00000000-0000-4000-a000-000000000000"]
    for number, partition in enumerate(table, 1):
        arguments += [
            f"--new={number}:{partition.first}:{partition.first + partition.sectors - 1}",
            f"--typecode={number}:{partition.kind}",
            f"--change-name={number}:{partition.label}",
            f"--partition-guid={number}:{partition.guid}",
        ]
    return arguments


def boot_code(boot_img: bytes, core_sector: int) -> bytes:
    """Return the code of the disk's first sector, which loads the sector ``core_sector``. Raises :class:`BootLoaderError`."""
    if len(boot_img) != SECTOR or boot_img[510:] != b"\x55\xaa":
        raise BootLoaderError(f"GRUB's boot.img has {len(boot_img)} bytes or no boot signature; expected {SECTOR} bytes")
    code = bytearray(boot_img)
    struct.pack_into("<Q", code, _KERNEL_SECTOR, core_sector)
    # Some firmware passes a wrong drive number; on hard disks grub-install removes the jump that trusts it.
    code[_DRIVE_CHECK : _DRIVE_CHECK + 2] = b"\x90\x90"
    return bytes(code[:BOOT_CODE_BYTES])


def core_image(core_img: bytes, core_sector: int) -> bytes:
    """Return ``core.img`` that loads its own rest from the sectors after ``core_sector``. Raises :class:`BootLoaderError`."""
    if not SECTOR < len(core_img) <= MIB:
        raise BootLoaderError(f"GRUB's core.img has {len(core_img)} bytes; the BIOS boot partition has {MIB}")
    sectors = -(-len(core_img) // SECTOR)
    image = bytearray(core_img.ljust(sectors * SECTOR, b"\0"))
    struct.pack_into("<QHH", image, _BLOCK_LIST, core_sector + 1, sectors - 1, _LOAD_SEGMENT)
    return bytes(image)


def dependencies(moddep: str, module: str) -> set[str]:
    """Return all modules that a GRUB module requires, by the content of ``moddep.lst``. Raises :class:`BootLoaderError` without it."""
    direct: Mapping[str, list[str]] = {
        name.strip(): required.split() for name, colon, required in (line.partition(":") for line in moddep.splitlines()) if colon
    }
    if module not in direct:
        raise BootLoaderError(f"GRUB has no module {module}")
    modules: set[str] = set()
    pending = list(direct[module])
    while pending:
        name = pending.pop()
        if name not in modules:
            modules.add(name)
            pending += direct.get(name, [])
    return modules


def bls_entry(title: str, version: str, options: Sequence[str]) -> str:
    """Return the entry of the Boot Loader Specification that coreos-installer edits and grub.cfg runs as a script.

    GRUB would take special characters of the shell in it as such. Raises :class:`BootLoaderError` for a text with one.
    """
    lines = [
        f"title {title}",
        f"version {version}",
        f"options {' '.join(options)}",
        f"linux /vmlinuz-{version}",
        f"initrd /initramfs-{version}.img",
    ]
    if special := sorted({character for line in lines for character in line if character in "$;&|<>{}\"'\\#\n"}):
        raise BootLoaderError(f"The boot entry has characters that GRUB does not take as text: {' '.join(special)}")
    return "\n".join(lines) + "\n"
