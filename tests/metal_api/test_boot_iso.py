# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot ISO: its script, the same bytes each time, a medium for BIOS and UEFI, errors that name packages. The rack boots it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from metal_api import boot_iso
from metal_api.boot_iso import BootIsoError, reads_script, script, write_boot_iso, write_disk_loader
from tests.system_packages import BOOT_ISO

pytestmark = pytest.mark.debian(*BOOT_ISO)

BOOT_URL = "http://10.77.0.1:8090"


def test_script_asks_the_boot_service_for_the_machine() -> None:
    lines = script(BOOT_URL + "/").splitlines()
    assert lines[0] == "#!ipxe"
    assert f"chain --autofree {BOOT_URL}/auto.ipxe?mac=${{netX/mac:hexhyp}} ||" in lines
    # The console of a BMC has 80 columns, and a message over two lines is not found by grep.
    assert all(len(line) <= 80 + len("echo ") for line in lines if line.startswith("echo "))


def test_script_jumps_only_to_its_labels_and_stops_at_no_error() -> None:
    lines = script(BOOT_URL).splitlines()
    labels = {line[1:] for line in lines if line.startswith(":")}
    jumps = {words[position + 1] for words in (line.split() for line in lines) for position, word in enumerate(words) if word == "goto"}
    assert jumps == labels
    # A command that may fail ends the script unless something follows it.
    may_fail = [line for line in lines if line.split()[0] in {"ifconf", "chain", "imgfetch", "iseq", "sanboot"}]
    assert len(may_fail) == 6
    assert all(line.endswith("||") for line in may_fail)


@pytest.mark.parametrize(
    "boot_url",
    [
        "https://10.77.0.1",
        "ftp://10.77.0.1",
        "10.77.0.1:80",
        "http://",
        "http://a b",
        "http://a?b=c",
        "http://a#b",
        "http://${net0/x}",
        'http://a"b',
        "",
    ],
)
def test_url_that_ipxe_cannot_fetch_is_refused(tmp_path: Path, boot_url: str) -> None:
    with pytest.raises(BootIsoError, match="fetches over plain HTTP only"):
        write_boot_iso(tmp_path / "boot.iso", boot_url)
    assert not list(tmp_path.iterdir())


def test_missing_packages_are_named_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {str(tmp_path / "isolinux.bin"): "isolinux", str(tmp_path / "ipxe.lkrn"): "ipxe", "no-such-xorriso": "xorriso", "sh": "dash"}
    monkeypatch.setattr(boot_iso, "_PACKAGES", absent)
    with pytest.raises(BootIsoError, match=r"apt-get install --no-install-recommends ipxe isolinux xorriso$"):
        write_boot_iso(tmp_path / "boot.iso", BOOT_URL)
    assert not list(tmp_path.iterdir())


def test_ipxe_that_reads_a_script_is_recognized(tmp_path: Path) -> None:
    old, new = tmp_path / "old.efi", tmp_path / "new.efi"
    old.write_bytes(b"MZ autoexec.ipxe")
    new.write_bytes(b"MZ" + "file:/autoexec.ipxe".encode("utf-16-le"))
    assert (reads_script(old), reads_script(new)) == (False, True)


@pytest.mark.long
def test_same_url_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, other = tmp_path / "one.iso", tmp_path / "elsewhere" / "two.iso", tmp_path / "other.iso"
    write_boot_iso(one, BOOT_URL)
    write_disk_loader(tmp_path / "one.efi")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    before = os.umask(0o077)
    try:
        write_boot_iso(two, BOOT_URL)
        write_disk_loader(tmp_path / "elsewhere" / "two.efi")
    finally:
        os.umask(before)
    write_boot_iso(other, "http://10.77.0.2:8090")
    assert one.read_bytes() == two.read_bytes()
    assert (tmp_path / "one.efi").read_bytes() == (tmp_path / "elsewhere" / "two.efi").read_bytes()
    assert one.read_bytes() != other.read_bytes()
    assert one.stat().st_size < 4 << 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "one.efi", "one.iso", "other.iso"]


@pytest.mark.long
def test_iso_boots_by_bios_and_uefi(tmp_path: Path) -> None:
    iso = tmp_path / "boot.iso"
    write_boot_iso(iso, BOOT_URL)
    done = subprocess.run(["xorriso", "-indev", str(iso), "-report_el_torito", "plain"], check=True, capture_output=True, text=True)
    images = [line.split() for line in done.stdout.splitlines() if line.startswith("El Torito boot img")]
    assert [line[6] for line in images] == ["BIOS", "UEFI"]
    assert BOOT_URL.encode() in iso.read_bytes()


@pytest.mark.long
def test_new_ipxe_boots_alone_with_the_script_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ipxe, iso, image = tmp_path / "ipxe.efi", tmp_path / "boot.iso", tmp_path / "uefi.img"
    ipxe.write_bytes(b"MZ" + "autoexec.ipxe".encode("utf-16-le"))
    monkeypatch.setattr(boot_iso, "_UEFI_IPXE", ipxe)
    write_boot_iso(iso, BOOT_URL)
    subprocess.run(["xorriso", "-osirrox", "on", "-indev", str(iso), "-extract", "/uefi.img", str(image)], check=True, capture_output=True)

    def content(name: str) -> bytes:
        return subprocess.run(["mtype", "-i", str(image), f"::/{name}"], check=True, capture_output=True).stdout

    assert content("EFI/BOOT/BOOTX64.EFI") == ipxe.read_bytes()
    assert content("autoexec.ipxe").decode() == script(BOOT_URL)
