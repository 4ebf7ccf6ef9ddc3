# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot ISO: one generic iPXE medium for all machines, BIOS and UEFI, which asks the boot service what to boot.

It is made of Debian's packages, without a compiler. BIOS: ISOLINUX loads iPXE with :func:`script` as its initrd. UEFI: an iPXE of 2021 or
later reads the script from ``autoexec.ipxe`` beside it. The older one of Debian 12 reads no script from a medium and boots what DHCP
names: there the DHCP server has to give iPXE clients (user class ``iPXE``) the file name ``<boot_url>/boot.ipxe``, where the boot service
has the same script, and GRUB starts iPXE, again if it ends.

The local disk of a machine with UEFI is booted by a GRUB from the boot service (:func:`write_disk_loader`) and not by the end of iPXE: an
iPXE of 2019 that uses the firmware's network driver hangs when it ends (tried with OVMF and its VirtioNetDxe).
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

ISO: Final = "ipxe.iso"
DISK_LOADER: Final = "disk.efi"
"""Names of the files in the folder of a boot service, and in its URLs."""

_BIOS_LOADER: Final = Path("/usr/lib/ISOLINUX/isolinux.bin")
_BIOS_MBR: Final = Path("/usr/lib/ISOLINUX/isohdpfx.bin")
_BIOS_MODULE: Final = Path("/usr/lib/syslinux/modules/bios/ldlinux.c32")
_BIOS_IPXE: Final = Path("/usr/lib/ipxe/ipxe.lkrn")
_UEFI_IPXE: Final = Path("/usr/lib/ipxe/ipxe.efi")
_GRUB_MODULES: Final = Path("/usr/lib/grub/x86_64-efi")

_PACKAGES: Final[Mapping[str, str]] = {
    str(_BIOS_LOADER): "isolinux",
    str(_BIOS_MBR): "isolinux",
    str(_BIOS_MODULE): "syslinux-common",
    str(_BIOS_IPXE): "ipxe",
    str(_UEFI_IPXE): "ipxe",
    str(_GRUB_MODULES / "modinfo.sh"): "grub-efi-amd64-bin",
    "grub-mkimage": "grub-common",
    "mkfs.fat": "dosfstools",
    "mcopy": "mtools",
    "xorriso": "xorriso",
}
"""Files and programs, and the Debian packages that have them."""

_SEARCHED: Final = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
_TIME: Final = 1577836800
"""The time of all files of the ISO (2020-01-01), in seconds: the same input makes the same bytes."""

_ENVIRONMENT: Final[Mapping[str, str]] = {"SOURCE_DATE_EPOCH": str(_TIME), "TZ": "UTC", "LC_ALL": "C", "MTOOLSRC": "/dev/null"}
_IN_GRUB: Final = (
    "normal",
    "boot",
    "chain",
    "echo",
    "fat",
    "iso9660",
    "minicmd",
    "memdisk",
    "part_gpt",
    "part_msdos",
    "search",
    "sleep",
    "tar",
    "test",
    "true",
)
_ROOM: Final = 64
"""KiB that the file system of the UEFI part needs beside its files."""

_ISOLINUX: Final = "SERIAL 0 115200\nDEFAULT ipxe\nLABEL ipxe\n KERNEL ipxe.krn\n INITRD boot.ipxe\n"

_GRUB_START: Final = "search --no-floppy --file --set=root /ipxe.efi\nset prefix=($root)/\n"
"""What GRUB runs first. On a CD it sees the ISO's files and not those of the image it was started from, on a USB stick the reverse."""

_MARK: Final = "metal-boot-iso"
"""A file by which GRUB knows the file system it was started from, where the ISO is presented as a USB stick."""

_GRUB: Final = """\
while true; do
    chainloader /ipxe.efi
    boot
    echo "Boot ISO: iPXE got no boot script. This version needs the DHCP file name"
    echo "BOOT_URL/boot.ipxe"
    echo "Next try in 10 seconds."
    sleep 10
done
"""
"""What the GRUB of the ISO runs."""

_GRUB_OF_DISK: Final = f"""\
while true; do
    for disk in hd0 hd1 hd2 hd3 hd4 hd5 hd6 hd7; do
        for part in "" ,gpt1 ,gpt2 ,gpt3 ,gpt4 ,msdos1 ,msdos2; do
            if [ -f "($disk$part)/EFI/BOOT/BOOTX64.EFI" -a ! -f "($disk$part)/{_MARK}" ]; then
                # The loader gets the root device as its own, wherever its file is.
                set root="$disk$part"
                chainloader /EFI/BOOT/BOOTX64.EFI
                boot
            fi
        done
    done
    echo "Boot ISO: no local disk has EFI/BOOT/BOOTX64.EFI. Next try in 10 seconds."
    sleep 10
done
"""
"""What the GRUB runs that boots the local disk. To the firmware it could only return a success, for which UEFI shows its menu instead of
going on in the boot order."""

_SCRIPT: Final = """\
#!ipxe
:network
echo Boot ISO: requesting an address by DHCP
ifconf --configurator dhcp && goto service ||
echo Boot ISO: no address by DHCP. Next try in 10 seconds.
sleep 10
goto network
:service
echo Boot ISO: {boot_url} for ${{netX/mac}} at ${{netX/ip}}
chain --autofree {boot_url}/auto.ipxe?mac=${{netX/mac:hexhyp}} ||
imgfetch --name answer {boot_url}/boot.ipxe && goto disk ||
echo Boot ISO: the boot service does not answer. Next try in 10 seconds.
sleep 10
goto network
:disk
imgfree answer
echo Boot ISO: no boot script for this machine, booting the local disk
iseq ${{platform}} efi && goto uefi ||
sanboot --no-describe --drive 0x80 ||
goto again
:uefi
chain --autofree {boot_url}/{loader} ||
:again
echo Boot ISO: the local disk does not boot. Next try in 10 seconds.
sleep 10
goto network
"""


class BootIsoError(Exception):
    """The boot ISO cannot be made; the message names what is missing, or the program that failed."""


def script(boot_url: str) -> str:
    """Return the iPXE script that asks the boot service at ``boot_url``, which is to be served as ``<boot_url>/boot.ipxe`` too.

    The machine waits for DHCP and for the boot service as long as it takes. If ``/auto.ipxe`` is refused (404) or its script ends, while
    ``/boot.ipxe`` is answered, the local disk is booted, in UEFI by what is served as ``<boot_url>/disk.efi``.

    Raises :class:`BootIsoError` for a URL that iPXE cannot fetch.
    """
    parts = urlsplit(boot_url)
    if (
        parts.scheme != "http"
        or not parts.hostname
        or parts.query
        or parts.fragment
        or not boot_url.isascii()
        or any(c in boot_url for c in " $\"'\\")
    ):
        raise BootIsoError(f"boot URL {boot_url!r}: Debian's iPXE fetches over plain HTTP only. Use http://ADDRESS:PORT.")
    return _SCRIPT.format(boot_url=boot_url.rstrip("/"), loader=DISK_LOADER)


def write_media(folder: Path, boot_url: str) -> None:
    """Write the boot ISO and the loader of local disks, which the boot service at ``boot_url`` serves. Raises :class:`BootIsoError`."""
    write_boot_iso(folder / ISO, boot_url)
    write_disk_loader(folder / DISK_LOADER)


def write_disk_loader(path: Path) -> None:
    """Write the program for UEFI that boots the local disk (300 kB): a GRUB without any other file. Raises :class:`BootIsoError`."""
    check_packages()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="disk-loader-", dir=path.parent) as temporary:
        start, memdisk, made = (Path(temporary) / name for name in ("start.cfg", "memdisk.tar", "disk.efi"))
        start.write_text("set prefix=(memdisk)/\n", encoding="ascii")
        entry = tarfile.TarInfo("grub.cfg")
        entry.size, entry.mtime = len(_GRUB_OF_DISK), _TIME
        with tarfile.open(memdisk, "w") as archive:
            archive.addfile(entry, io.BytesIO(_GRUB_OF_DISK.encode("ascii")))
        _make_grub(made, start, "-m", str(memdisk))
        made.replace(path)


def write_boot_iso(path: Path, boot_url: str) -> None:
    """Write the boot ISO for the boot service at ``boot_url`` (about 3 MB, under a second). The same arguments give the same bytes.

    The file appears at ``path`` in one step. Raises :class:`BootIsoError`.
    """
    text = script(boot_url)
    check_packages()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="boot-iso-", dir=path.parent) as temporary:
        folder = Path(temporary)
        content = folder / "content"
        content.mkdir()
        shutil.copyfile(_BIOS_LOADER, content / "isolinux.bin")
        shutil.copyfile(_BIOS_MODULE, content / "ldlinux.c32")
        # ISOLINUX decides by the extension what kind of program a file is: .lkrn is unknown.
        shutil.copyfile(_BIOS_IPXE, content / "ipxe.krn")
        (content / "isolinux.cfg").write_text(_ISOLINUX, encoding="ascii")
        (content / "boot.ipxe").write_text(text, encoding="ascii")
        _write_uefi(folder, content, boot_url.rstrip("/"))
        for file in (*content.iterdir(), content):
            os.utime(file, (_TIME, _TIME))
        made = folder / "boot.iso"
        _run(
            "xorriso",
            *("-as", "mkisofs", "-quiet", "-o", str(made), "-V", "METAL_BOOT"),  # codespell:ignore quiet
            # -r and not -R: modes and owners that do not depend on the user who makes the ISO.
            *("-J", "-r"),
            *("-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"),
            *("-eltorito-alt-boot", "-e", "uefi.img", "-no-emul-boot"),
            # A BMC may present the same image as a USB stick.
            *("-isohybrid-mbr", str(_BIOS_MBR), "-isohybrid-gpt-basdat"),
            str(content),
        )
        made.replace(path)


def reads_script(ipxe: Path) -> bool:
    """Return whether an iPXE for UEFI reads ``autoexec.ipxe`` from the medium it was started from."""
    return "autoexec.ipxe".encode("utf-16-le") in ipxe.read_bytes()


def _write_uefi(folder: Path, content: Path, boot_url: str) -> None:
    """Write what UEFI boots: a file system with iPXE and its script, or with GRUB, which finds iPXE among the files of the ISO."""
    files = folder / "uefi"
    (files / "EFI" / "BOOT").mkdir(parents=True)
    loader = files / "EFI" / "BOOT" / "BOOTX64.EFI"
    if reads_script(_UEFI_IPXE):
        shutil.copyfile(_UEFI_IPXE, loader)
        (files / "autoexec.ipxe").write_text(script(boot_url), encoding="ascii")
    else:
        shutil.copyfile(_UEFI_IPXE, content / "ipxe.efi")
        (content / "grub.cfg").write_text(_GRUB.replace("BOOT_URL", boot_url), encoding="ascii")
        start = folder / "start.cfg"
        start.write_text(_GRUB_START, encoding="ascii")
        _make_grub(loader, start)
    (files / _MARK).touch()
    # A folder gets its time when something is put into it: the inner ones first.
    for file in sorted(files.rglob("*"), reverse=True):
        os.utime(file, (_TIME, _TIME))
    size = sum(file.stat().st_size for file in files.rglob("*") if file.is_file()) // 1024 + _ROOM
    _run("mkfs.fat", "-C", "--invariant", "-i", "4d455441", "-n", "METAL_BOOT", str(content / "uefi.img"), str(size))
    _run("mcopy", "-s", "-m", "-i", str(content / "uefi.img"), *(str(file) for file in sorted(files.iterdir())), "::")


def _make_grub(path: Path, start: Path, *options: str) -> None:
    """Write a GRUB for UEFI. ``start``: the commands that it runs first."""
    _run("grub-mkimage", "-O", "x86_64-efi", "-d", str(_GRUB_MODULES), "-c", str(start), "-p", "/", "-o", str(path), *options, *_IN_GRUB)


def check_packages() -> None:
    """Raise :class:`BootIsoError` with all Debian packages that the ISO is made of and that are missing."""
    missing = {
        package: name
        for name, package in _PACKAGES.items()
        if (not Path(name).exists() if name.startswith("/") else shutil.which(name, path=_SEARCHED) is None)
    }
    if missing:
        raise BootIsoError(
            f"Cannot make the boot ISO: {', '.join(sorted(missing.values()))} not found. "
            f"Install the packages: apt-get install --no-install-recommends {' '.join(sorted(missing))}"
        )


def _run(program: str, *arguments: str) -> None:
    command: Sequence[str] = [shutil.which(program, path=_SEARCHED) or program, *arguments]
    done = subprocess.run(
        command, env={**os.environ, **_ENVIRONMENT}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BootIsoError(f"Cannot make the boot ISO: {' '.join(command)} ended with code {done.returncode}: {done.stderr.strip()[-500:]}")
