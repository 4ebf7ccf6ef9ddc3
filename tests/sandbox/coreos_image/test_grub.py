# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boot loader and partition table of the installed disk, without GRUB."""

from __future__ import annotations

import itertools
import struct

import pytest

from sandbox.coreos_image import grub

BOOT_SIGNATURE = b"\x55\xaa"


def boot_img() -> bytes:
    return b"\xeb\x63" + b"\xaa" * 508 + BOOT_SIGNATURE


def test_partitions_follow_each_other_and_have_fixed_ids() -> None:
    table = grub.partitions(160 * grub.MIB, 8 * grub.MIB, 600 * grub.MIB)
    assert [each.label for each in table] == ["BIOS-BOOT", "EFI-SYSTEM", "boot", "root"]
    assert [each.kind for each in table] == ["EF02", "EF00", "8300", "8300"]
    assert table[0].first == 2048
    for one, other in itertools.pairwise(table):
        assert one.first + one.sectors == other.first
    assert len({each.guid for each in table}) == 4
    # The root file system is last: coreos-growfs grows it to the end of the disk.
    assert grub.disk_bytes(table) == (1 + 1 + 8 + 160 + 600 + 1) * grub.MIB


@pytest.mark.parametrize("size", [0, -grub.MIB, grub.MIB + 512])
def test_a_partition_is_whole_mebibytes(size: int) -> None:
    with pytest.raises(grub.BootLoaderError, match=f"Partition root of {size} bytes"):
        grub.partitions(grub.MIB, grub.MIB, size)


def test_sgdisk_creates_what_the_table_says() -> None:
    table = grub.partitions(grub.MIB, grub.MIB, grub.MIB)
    arguments = grub.sgdisk_arguments(table)
    assert "--new=1:2048:4095" in arguments
    assert "--new=4:8192:10239" in arguments
    assert arguments.index("--clear") < arguments.index("--new=1:2048:4095")
    assert "--change-name=3:boot" in arguments


def test_the_first_sector_loads_the_bios_boot_partition() -> None:
    code = grub.boot_code(boot_img(), 2048)
    assert len(code) == 440, "the disk signature and the protective partition table stay"
    assert struct.unpack_from("<Q", code, 0x5C) == (2048,)
    assert code[0x66:0x68] == b"\x90\x90"
    assert code[:2] == b"\xeb\x63"


@pytest.mark.parametrize("content", [b"", b"\0" * 512, boot_img() + b"\0"])
def test_a_foreign_boot_img_is_refused(content: bytes) -> None:
    with pytest.raises(grub.BootLoaderError, match=r"boot\.img"):
        grub.boot_code(content, 2048)


def test_core_img_loads_its_own_rest() -> None:
    content = bytes(range(256)) * 4 + b"end"
    core = grub.core_image(content, 2048)
    assert len(core) == 3 * 512, "whole sectors"
    # Sector after the first one, two more sectors, loaded at 0x8200.
    assert struct.unpack_from("<QHH", core, 512 - 12) == (2049, 2, 0x820)
    assert core[512 : len(content)] == content[512:]


@pytest.mark.parametrize("size", [512, grub.MIB + 1])
def test_core_img_fits_the_bios_boot_partition(size: int) -> None:
    with pytest.raises(grub.BootLoaderError, match=rf"core\.img has {size} bytes"):
        grub.core_image(b"\0" * size, 2048)


def test_dependencies_of_a_module_are_complete() -> None:
    listed = "linux: boot relocator video\nrelocator: mmap\nvideo:\nmmap: boot\nboot:\nother: linux\n"
    assert grub.dependencies(listed, "linux") == {"boot", "relocator", "video", "mmap"}
    with pytest.raises(grub.BootLoaderError, match="no module linux16"):
        grub.dependencies(listed, "linux16")


def test_the_boot_entry_has_the_keys_of_the_specification() -> None:
    entry = grub.bls_entry("Sandbox CoreOS 6.1", "6.1.0", ["root=LABEL=root", "rw", "ignition.platform.id=metal"])
    keys = dict(line.split(" ", 1) for line in entry.splitlines())
    assert keys["options"] == "root=LABEL=root rw ignition.platform.id=metal"
    assert keys["linux"] == "/vmlinuz-6.1.0"
    assert keys["initrd"] == "/initramfs-6.1.0.img"
    assert entry.endswith("\n")


@pytest.mark.parametrize("option", ["a=$b", "a;b", 'a="b"', "a|b", "a=b#", "a\\b"])
def test_a_boot_entry_that_grub_would_interpret_is_refused(option: str) -> None:
    with pytest.raises(grub.BootLoaderError, match="characters that GRUB does not take as text"):
        grub.bls_entry("t", "1", [option])
