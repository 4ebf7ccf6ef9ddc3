"""Machines boot the boot ISO from virtual media: they wait for DHCP and boot service, run the script they get, or boot the local disk."""

import base64
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from metal_api.boot_iso import script, write_boot_iso, write_disk_loader
from metal_api.network.dnsmasq import IPXE, UEFI_FILE, boot_lines
from sandbox.rack.model import Firmware, RackConfig, RackMachine
from sandbox.rack.rack import Rack, ensure_emulator
from tests.eventually import until
from tests.sandbox.rack.boot_programs import write_disk
from tests.sandbox.rack.network import BOOT_URL, BRIDGE, COMMON_DHCP, Network, network

pytestmark = pytest.mark.long

_AUTHORIZATION = "Basic " + base64.b64encode(b"admin:secret").decode()
_SCRIPT = f"#!ipxe\necho SCRIPT OF THE BOOT SERVICE\nimgfetch {BOOT_URL}/reached?platform=${{platform}} ||\nsleep 1000\n"
_MACHINES: dict[Firmware, RackMachine] = {
    "bios": RackMachine("one", "5f6e9a00-0000-4000-8000-000000000021", ("52:54:00:77:00:21",), memory_mb=512),
    "uefi": RackMachine("two", "5f6e9a00-0000-4000-8000-000000000022", ("52:54:00:77:00:22",), memory_mb=512, firmware="uefi"),
}

_UNCABLED = RackMachine("three", "5f6e9a00-0000-4000-8000-000000000023", ("52:54:00:77:00:23",), memory_mb=512, cabled=False)


class _Site:
    """A rack in a network with a boot service."""

    def __init__(self, net: Network, rack: Rack) -> None:
        self.net, self.rack = net, rack

    def ask(self, machine: RackMachine, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.net.ask(method, f"{self.rack.url}{machine.system}{path}", _AUTHORIZATION, body)

    def boot_iso(self, machine: RackMachine) -> None:
        """Boot the machine once from the boot ISO."""
        self.ask(machine, "POST", "/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", {"Image": f"{BOOT_URL}/boot.iso"})
        boot = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
        self.ask(machine, "PATCH", "", {"Boot": boot})
        self.ask(machine, "POST", "/Actions/ComputerSystem.Reset", {"ResetType": "On"})

    def console(self, machine: RackMachine) -> str:
        file = self.rack.console(machine.name)
        return file.read_text(errors="replace") if file.exists() else ""


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[_Site]:
    python = ensure_emulator()
    with network(tmp_path) as net:
        write_boot_iso(net.www / "boot.iso", BOOT_URL)
        write_disk_loader(net.www / "disk.efi")
        (net.www / "boot.ipxe").write_text(script(BOOT_URL))
        config = RackConfig(tmp_path / "rack", (*_MACHINES.values(), _UNCABLED), "127.0.0.1", 8000, "admin", "secret", bridge=BRIDGE)
        rack = Rack(config, python, inside=net.inside)
        await rack.start()
        try:
            yield _Site(net, rack)
        finally:
            await rack.stop()


def _write_uefi_disk(disk: Path) -> None:
    """Make a disk from which UEFI boots a GRUB that writes a line and powers off."""
    disk.parent.mkdir(parents=True, exist_ok=True)
    start, loader, raw = disk.with_name("start.cfg"), disk.with_name("grub.efi"), disk.with_suffix(".raw")
    start.write_text("echo BOOTED DISK\nhalt\n")
    # It finds this file on the disk alone, thus only if it knows where it was loaded from.
    options = ["-O", "x86_64-efi", "-d", "/usr/lib/grub/x86_64-efi", "-p", "/system", "-o", str(loader)]
    subprocess.run(["grub-mkimage", *options, "echo", "fat", "halt", "normal"], check=True)
    subprocess.run(["/usr/sbin/mkfs.fat", "-C", raw, "4096"], check=True, capture_output=True)
    subprocess.run(["mmd", "-i", raw, "::/EFI", "::/EFI/BOOT", "::/system"], check=True)
    subprocess.run(["mcopy", "-i", raw, start, "::/system/grub.cfg"], check=True)
    subprocess.run(["mcopy", "-i", raw, loader, "::/EFI/BOOT/BOOTX64.EFI"], check=True)
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, disk], check=True)


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
async def test_machine_waits_for_the_boot_service_and_runs_its_script(site: _Site, firmware: Firmware) -> None:
    machine = _MACHINES[firmware]
    (site.net.www / "auto.ipxe").write_text(_SCRIPT)
    first = site.net.www / "boot.ipxe"
    first.write_text(first.read_text().replace("#!ipxe\n", "#!ipxe\nsleep 20\n", 1))
    # As a BMC does: the medium is fetched before the machine is powered on.
    with site.net.serving():
        site.boot_iso(machine)
        if firmware == "uefi":
            # The iPXE of 2019 has no script before that of DHCP: it ends without an answer, and hangs then.
            until(lambda: "/boot.ipxe 200" in site.net.requests(), "the machine has a script", within=300)
    until(lambda: "Next try in 10 seconds" in site.console(machine), "the machine tries again", within=300)
    reached = f"/reached?platform={'efi' if firmware == 'uefi' else 'pcbios'} 404"
    with site.net.serving():
        until(lambda: reached in site.net.requests(), "the script has run", within=300)
    mac = machine.macs[0].replace(":", "-")
    assert f"/auto.ipxe?mac={mac} 200" in site.net.requests()
    assert "SCRIPT OF THE BOOT SERVICE" in site.console(machine)


async def test_machine_without_a_network_waits_for_dhcp(site: _Site) -> None:
    with site.net.serving():
        site.boot_iso(_UNCABLED)
        # At the second time it has gone on after the first.
        until(
            lambda: site.console(_UNCABLED).count("no address by DHCP. Next try in 10 seconds") == 2, "the machine tries again", within=300
        )
        assert site.net.requests() == ["/boot.iso 200"]
    assert site.ask(_UNCABLED, "GET", "")["PowerState"] == "On"


async def test_uefi_boots_by_http_where_there_is_no_tftp(tmp_path: Path) -> None:
    """With the lines of the product's DHCP: firmware gets iPXE by HTTP, and iPXE the script of the boot service."""
    machine = _MACHINES["uefi"]
    with network(tmp_path, "\n".join([COMMON_DHCP, *boot_lines(BOOT_URL), ""])) as net:
        (net.www / "ipxe").mkdir()
        shutil.copyfile(IPXE / UEFI_FILE, net.www / "ipxe" / UEFI_FILE)
        (net.www / "boot.ipxe").write_text(script(BOOT_URL))
        (net.www / "auto.ipxe").write_text(_SCRIPT)
        config = RackConfig(tmp_path / "rack", (machine,), "127.0.0.1", 8000, "admin", "secret", bridge=BRIDGE)
        rack = Rack(config, ensure_emulator(), inside=net.inside)
        await rack.start()
        try:
            site = _Site(net, rack)
            with net.serving():
                site.ask(machine, "PATCH", "", {"Boot": {"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once"}})
                site.ask(machine, "POST", "/Actions/ComputerSystem.Reset", {"ResetType": "On"})
                until(lambda: "/reached?platform=efi 404" in net.requests(), "the script has run", within=300)
        finally:
            await rack.stop()
        paths = [each.partition("?")[0] for each in net.requests()]
        assert [f"/ipxe/{UEFI_FILE}", "/boot.ipxe", "/auto.ipxe", "/reached"] == list(dict.fromkeys(each.split()[0] for each in paths))


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
async def test_machine_without_a_script_boots_its_local_disk(site: _Site, firmware: Firmware) -> None:
    machine = _MACHINES[firmware]
    disk = site.rack.config.folder / machine.name / "disk.qcow2"
    if firmware == "bios":
        write_disk(disk, "BOOTED DISK", "off")
    else:
        _write_uefi_disk(disk)
    with site.net.serving():
        site.boot_iso(machine)
        until(lambda: "BOOTED DISK" in site.console(machine), "the local disk is booted", within=300)
    assert f"/auto.ipxe?mac={machine.macs[0].replace(':', '-')} 404" in site.net.requests()
    assert "no boot script for this machine, booting the local disk" in site.console(machine)
    # The system powers itself off, which the BMC reports.
    until(lambda: site.ask(machine, "GET", "")["PowerState"] == "Off", "the machine is off", within=300)
