"""The rules that choose a disk, with the disks of QEMU: the live config of the role boot_files, and what kernel and udev report of them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.boot.files import boot_contents
from sandbox.kernels.image import ensure_image
from sandbox.kernels.machine import Machine

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not os.environ.get("SANDBOX_NAMESPACE"), reason="python -m tests.kernels runs these, as root"),
]

FILES = Path(__file__).resolve().parents[2] / "roles/boot_files/files"
RULE = "/etc/choose-disk.json"
SCSI = "virtio-scsi-pci,id=scsi{number},addr={address}"
BY_PATH = "/dev/disk/by-path/pci-0000:00:1{controller}.0-scsi-0:0:{target}:0"
DISKS = {
    # Name: size in GB, and QEMU's device. Each of the last two is a path to the same disk.
    "HDD": (8, "scsi-hd,bus=scsi0.0,scsi-id=1,serial=HDD,wwn=0x5000c500a1b2c3d4,rotation_rate=7200,vendor=SEAGATE,product=ST8000NM"),
    "SSD": (4, "scsi-hd,bus=scsi0.0,scsi-id=2,serial=SSD,wwn=0x5002538e41000001,rotation_rate=1,vendor=ATA,product=MZ7LH480HAHQ"),
    "FLOPPY": (1, "scsi-hd,bus=scsi0.0,scsi-id=3,serial=FLOPPY,removable=on,rotation_rate=1"),
    "NVME": (5, "nvme,serial=NVME"),
    "PATH": (6, "scsi-hd,bus=scsi0.0,scsi-id=4,serial=PATH,wwn=0x5001405123456789,rotation_rate=1,share-rw=on"),
}
SECOND_PATH = "scsi-hd,bus=scsi1.0,scsi-id=1,serial=PATH,wwn=0x5001405123456789,rotation_rate=1,share-rw=on"
RULES: list[tuple[str, dict[str, Any], str | None]] = [
    # The disk of the machine's own system is the smallest.
    ("smallest", {"minSizeGigabytes": 3}, "SSD"),
    ("largest", {}, "HDD"),
    ("smallest hdd", {}, "HDD"),
    ("largest ssd", {}, "PATH"),
    ("largest nvme", {}, "NVME"),
    ("smallest", {"rotational": True}, "HDD"),
    ("smallest", {"serialNumber": "SSD"}, "SSD"),
    ("smallest", {"serialNumber": "FLOPPY"}, None),
    ("smallest", {"wwn": "0x5000C500A1B2C3D4"}, "HDD"),
    ("smallest", {"wwnWithExtension": "0x5002538e41000001"}, "SSD"),
    ("smallest", {"wwn": "0x5001405123456789"}, "PATH"),
    ("smallest", {"vendor": "SEAGATE", "model": "ST8000"}, "HDD"),
    ("smallest", {"deviceName": BY_PATH.format(controller=0, target=2)}, "SSD"),
    (BY_PATH.format(controller=0, target=1), {}, "HDD"),
    (BY_PATH.format(controller=1, target=1), {}, "PATH"),
    ("/dev/disk/by-id/wwn-0x5001405123456789", {}, "PATH"),
    ("/dev/disk/by-path/pci-0000:00:1f.0-scsi-0:0:0:0", {}, None),
]


def live_config(device: str, hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the live config of machines with this rule."""
    programs = [{"name": "choose-disk", "script": (FILES / "choose-disk.sh").read_text(encoding="utf-8"), "unit": "[Unit]\n"}]
    profile = {"boot_profile": "x", "architecture": "x86_64", "consoles": [], "install_device": device, "root_device_hints": hints}
    contents = boot_contents([profile], {}, {}, programs, {"ignition_platform": "metal", "metadata_url": ""})
    config: dict[str, Any] = json.loads(contents["x-live.ign"])
    return config


async def test_a_rule_chooses_the_disk_of_the_kernel(tmp_path: Path) -> None:
    options = [word for number in (0, 1) for word in ("-device", SCSI.format(number=number, address=hex(0x10 + number)))]
    for name, (size, device) in DISKS.items():
        file = tmp_path / f"{name}.raw"
        file.touch()
        os.truncate(file, size * 10**9)
        for number, path in enumerate([device, SECOND_PATH] if name == "PATH" else [device]):
            drive = f"{name.lower()}{number}"
            options += ["-drive", f"if=none,id={drive},file={file},format=raw,file.locking=off", "-device", f"{path},drive={drive}"]
    machine = Machine("disks", tmp_path, ensure_image(Console()), config=live_config("smallest", {}), disks=options)
    await machine.power_on()
    try:
        chosen = {}
        for device, hints, _expected in RULES:
            rule = next(file for file in live_config(device, hints)["storage"]["files"] if file["path"] == RULE)
            content = rule["contents"]["source"].partition("base64,")[2]
            code, output = await machine.try_to(f"base64 -d <<< {content} > {RULE}; CHOOSE_DISK_WAIT=0 choose-disk")
            path = output.rpartition("installing to ")[2] if code == 0 else ""
            serial_of = f"lsblk --nodeps --noheadings --output SERIAL {path}"
            chosen[device, str(hints)] = await machine.run(serial_of) if path else output
        expected = {(device, str(hints)): serial for device, hints, serial in RULES if serial}
        assert {key: chosen[key] for key in expected} == expected
        for device, hints, serial in RULES:
            assert serial or "no disk fits" in chosen[device, str(hints)]
    finally:
        await machine.lose_power()
