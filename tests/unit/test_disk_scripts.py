"""The live system's scripts choose-disk and wipe-disks, as they are, on pretended hardware: a tree of /sys that the real lsblk reads."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.metadata_service import MetadataService

pytestmark = pytest.mark.debian("jq", "curl")
SCRIPTS = Path(__file__).resolve().parents[2] / "roles" / "boot_files" / "files"
SSD = 480


def link(path: Path, to: Path) -> None:
    """As the kernel links: relative."""
    path.symlink_to(os.path.relpath(to, path.parent))


@dataclass
class Machine:
    """Hardware below ``root``. What changes something real is a stand-in that writes down how it was called."""

    root: Path
    metadata: MetadataService
    hosts: int = 0
    numbers: int = 0

    def __post_init__(self) -> None:
        for folder in ("sys/block", "sys/dev/block", "sys/class/block", "proc/self", "dev/disk/by-id", "etc/coreos/installer.d", "bin"):
            (self.root / folder).mkdir(parents=True)
        for name in ("proc/mounts", "proc/swaps", "proc/self/mountinfo", "calls", "dev/console"):
            (self.root / name).touch()
        self._program("lsblk", f'exec /usr/bin/lsblk --sysroot {self.root} "$@"')
        for name in ("udevadm", "wipefs", "sgdisk", "mdadm", "vgchange"):
            self._program(name, f'echo "{name} $*" >>{self.root}/calls')

    def _program(self, name: str, text: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def disk(self, name: str, size_gb: int = SSD, **facts: Any) -> None:
        """A disk on a bus, as the kernel shows it in /sys and udev in its database.

        ``bus`` ata, nvme, usb or virtual; ``rotational``, ``removable``, ``readonly``; ``vendor``, ``model``, ``serial``, ``wwn``.
        """
        bus = facts.get("bus", "nvme" if name.startswith("nvme") else "ata")
        number = self.hosts
        self.hosts += 1
        hctl = f"{number}:0:0:0"
        place = {
            "ata": f"pci0000:00/0000:00:17.0/ata{number}/host{number}/target{number}:0:0/{hctl}",
            "usb": f"pci0000:00/0000:00:14.0/usb1/1-{number}/1-{number}:1.0/host{number}/target{number}:0:0/{hctl}",
            "nvme": f"pci0000:00/0000:0{number}:00.0/nvme/nvme{number}",
            "virtual": "virtual",
        }[bus]
        base = self._block(name, size_gb, f"sys/devices/{place}/block/{name}", facts)
        if bus != "virtual":
            device = self.root / "sys" / "devices" / place
            (base / "device").symlink_to(f"../../../{device.name}")
            (device / "type").write_text("0\n", encoding="ascii")
            (device / "vendor").write_text(f"{facts.get('vendor', 'ATA'):8}\n", encoding="ascii")
            subsystem = self.root / "sys" / "bus" / ("nvme" if bus == "nvme" else "scsi")
            (subsystem / "devices").mkdir(parents=True, exist_ok=True)
            link(device / "subsystem", subsystem)
            link(subsystem / "devices" / device.name, device)
        properties = {"ID_MODEL": facts.get("model"), "ID_SERIAL_SHORT": facts.get("serial"), "ID_WWN": facts.get("wwn")}
        written = "".join(f"{key}={value}\n" for key, value in properties.items() if value is not None)
        (self.root / "dev" / name).write_text(written, encoding="utf-8")

    def partition(self, disk: str, name: str) -> None:
        base = (self.root / "sys/block" / disk).resolve()
        self._block(name, 1, f"{base.relative_to(self.root.resolve())}/{name}", {})
        (self.root / "sys/block" / name).unlink()
        (base / name / "partition").write_text("1\n", encoding="ascii")
        (self.root / "dev" / name).touch()

    def multipath(self, name: str, *disks: str) -> None:
        base = self._block("dm-0", SSD, "sys/devices/virtual/block/dm-0", {})
        (base / "dm").mkdir()
        (base / "dm" / "name").write_text(f"{name}\n", encoding="ascii")
        (base / "dm" / "uuid").write_text("mpath-3600\n", encoding="ascii")
        (self.root / "dev" / "dm-0").touch()
        (self.root / "dev" / "mapper").mkdir()
        (self.root / "dev" / "mapper" / name).symlink_to("../dm-0")
        for disk in disks:
            there = (self.root / "sys/block" / disk).resolve()
            link(base / "slaves" / disk, there)
            link(there / "holders" / "dm-0", base)

    def _block(self, name: str, size_gb: int, path: str, facts: Mapping[str, Any]) -> Path:
        base = self.root / path
        self.numbers += 1
        number = f"8:{self.numbers}"
        for folder in ("queue", "slaves", "holders"):
            (base / folder).mkdir(parents=True)
        for file, content in {
            "dev": number,
            "size": size_gb * 1000**3 // 512,
            "removable": int(facts.get("removable", False)),
            "ro": int(facts.get("readonly", False)),
            "queue/rotational": int(facts.get("rotational", False)),
        }.items():
            (base / file).write_text(f"{content}\n", encoding="ascii")
        link(base / "subsystem", self.root / "sys/class/block")
        link(self.root / "sys/block" / name, base)
        link(self.root / "sys/dev/block" / number, base)
        return base

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(SCRIPTS / script)],
            env={
                **os.environ,
                "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                "CHOOSE_DISK_ROOT": str(self.root),
                "CHOOSE_DISK_WAIT": "0",
            },
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def rule(self, device: str, hints: Mapping[str, Any]) -> None:
        """The rule of the live config."""
        rule = {"device": device, "hints": hints, "metadata": f"{self.metadata.url}/metadata"}
        (self.root / "etc/choose-disk.json").write_text(json.dumps(rule), encoding="utf-8")

    def choose(self, device: str = "smallest", **hints: Any) -> str | None:
        """What is installed to, or None: then it was told on the console and as an event."""
        config = self.root / "etc/coreos/installer.d/20-disk.yaml"
        config.unlink(missing_ok=True)
        (self.root / "dev/console").write_text("", encoding="utf-8")
        self.rule(device, hints)
        done = self.run("choose-disk.sh")
        console = (self.root / "dev/console").read_text(encoding="utf-8")
        if done.returncode == 0:
            path = config.read_text(encoding="utf-8").removeprefix("dest-device: ").strip()
            assert console == f"choose-disk: installing to {path}\n" == done.stdout
            return path
        assert done.returncode == 1, done.stderr
        assert not config.exists()
        ((state, message),) = ((event["state"], event["message"]) for event in self.metadata.events)
        assert (state, message.removeprefix("[choose-disk] ")) == ("failed", console.removeprefix("choose-disk: ").strip())
        return None

    @property
    def told(self) -> str:
        return str(self.metadata.events[0]["message"])

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def machine(tmp_path: Path, metadata_service: MetadataService) -> Machine:
    return Machine(tmp_path / "machine", metadata_service)


@pytest.fixture
def mixed(machine: Machine) -> Machine:
    """Two of each kind, and what no rule takes."""
    machine.disk("sda", 8000, rotational=True, vendor="SEAGATE", model="ST8000NM", serial="HDD1", wwn="0x5000c500a1")
    machine.disk("sdb", 8000, rotational=True, vendor="SEAGATE", model="ST8000NM", serial="HDD2", wwn="0x5000c500a2")
    machine.disk("sdc", 480, model="MZ7LH480HAHQ", serial="SSD1", wwn="0x5002538e41")
    machine.disk("sdd", 960, model="MZ7LH960HAJR", serial="SSD2", wwn="0x5002538e42")
    machine.disk("nvme0n1", 3800, model="PM9A3 3.8T", serial="NVME1", wwn="eui.0025385a")
    machine.disk("nvme1n1", 1900, model="PM9A3 1.9T", serial="NVME2", wwn="eui.0025385b")
    machine.disk("sde", 16, bus="usb", removable=True, vendor="AMI", model="Virtual Floppy", serial="V1")
    machine.disk("sdf", 16, bus="usb", vendor="AMI", model="Virtual HDisk", serial="V2")
    machine.disk("sdg", 0, model="Empty", serial="E1")
    machine.disk("sdh", 100, readonly=True, model="Locked", serial="R1")
    machine.disk("zram0", 8, bus="virtual")
    (machine.root / "dev/disk/by-id/wwn-0x5002538e42").symlink_to("../../sdd")
    (machine.root / "dev/disk/by-id/usb-AMI_Virtual_HDisk").symlink_to("../../sdf")
    return machine


RULES: list[tuple[str, dict[str, Any], str | None]] = [
    ("smallest", {}, "sdc"),
    ("largest", {}, "sda"),
    ("smallest nvme", {}, "nvme1n1"),
    ("smallest hdd", {}, "sda"),
    # A path is what the user said, whatever it leads to.
    ("/dev/sdb", {}, "sdb"),
    ("/dev/disk/by-id/usb-AMI_Virtual_HDisk", {}, "sdf"),
    ("/dev/sdz", {}, None),
    ("smallest", {"deviceName": "/dev/nvme0n1"}, "nvme0n1"),
    ("smallest", {"deviceName": "/dev/sdz"}, None),
    ("smallest", {"hctl": "1:0:0:0"}, "sdb"),
    ("smallest", {"model": "PM9A3"}, "nvme1n1"),
    ("smallest", {"vendor": "ATA", "minSizeGigabytes": 481}, "sdd"),
    ("smallest", {"serialNumber": "HDD2"}, "sdb"),
    # Several have to hold together.
    ("smallest", {"rotational": True, "model": "PM9A3"}, None),
    ("smallest ssd", {"rotational": False, "minSizeGigabytes": 500, "model": "MZ7LH"}, "sdd"),
    # What no rule takes.
    ("smallest", {"serialNumber": "V1"}, None),
    ("smallest", {"serialNumber": "V2"}, None),
    ("smallest", {"serialNumber": "E1"}, None),
    ("smallest", {"serialNumber": "R1"}, None),
    ("smallest", {"deviceName": "/dev/zram0"}, None),
]


@pytest.mark.parametrize(("device", "hints", "expected"), RULES, ids=lambda value: json.dumps(value) if isinstance(value, dict) else None)
def test_a_rule_chooses_one_disk_or_none(mixed: Machine, device: str, hints: dict[str, Any], expected: str | None) -> None:
    assert mixed.choose(device, **hints) == (expected and f"/dev/{expected}")


PERC = "0x64cd98f04fde100024684cf3034da5c2"


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"wwn": "0x64cd98f04fde1000"}, "/dev/sda"),
        ({"wwn": PERC}, "/dev/sda"),
        ({"wwnWithExtension": PERC}, "/dev/sda"),
        ({"wwnVendorExtension": "0x24684cf3034da5c2"}, "/dev/sda"),
        ({"wwnWithExtension": "0x64cd98f04fde1000"}, None),
        ({"wwnVendorExtension": "0x24684cf3034da5c3"}, None),
        # Without an extension both are the same.
        ({"wwn": "0x5002538e41000000"}, "/dev/sdb"),
        ({"wwn": "0x5002538e"}, None),
    ],
    ids=str,
)
def test_a_wwn_may_have_a_vendor_extension(machine: Machine, hints: dict[str, Any], expected: str | None) -> None:
    machine.disk("sda", 3000, rotational=True, vendor="DELL", model="PERC H740P Mini", serial="00a1", wwn=PERC)
    machine.disk("sdb", 480, serial="SSD1", wwn="0x5002538e41000000")
    assert machine.choose(**hints) == expected
    if expected is None:
        assert f"serial 00a1, WWN {PERC})" in machine.told


def test_where_no_disk_fits_it_is_told_what_there_is(mixed: Machine) -> None:
    assert mixed.choose("smallest nvme", minSizeGigabytes=9000) is None
    assert 'no disk fits {"device":"smallest nvme","hints":{"minSizeGigabytes":9000}}, nothing is installed' in mixed.told
    assert "/dev/nvme0n1 (3800 GB nvme, model PM9A3 3.8T, serial NVME1, WWN eui.0025385a)" in mixed.told
    assert "/dev/sdf (16 GB ssd, model Virtual HDisk, serial V2, not for a rule)" in mixed.told


def test_nobody_to_tell_is_no_reason_to_install(machine: Machine) -> None:
    rule = {"device": "smallest", "hints": {}, "metadata": "http://127.0.0.1:9/metadata"}
    (machine.root / "etc/choose-disk.json").write_text(json.dumps(rule), encoding="utf-8")
    assert machine.run("choose-disk.sh").returncode == 1
    assert "no disk fits" in (machine.root / "dev/console").read_text(encoding="utf-8")


@pytest.fixture(params=["cannot be opened", "cannot be written"])
def broken_console(machine: Machine, request: pytest.FixtureRequest) -> Machine:
    """A kernel console whose UART does not exist."""
    console = machine.root / "dev/console"
    console.unlink()
    if request.param == "cannot be opened":
        console.mkdir()
    else:
        console.symlink_to("/dev/full")
    return machine


def test_a_console_that_cannot_be_written_changes_nothing(broken_console: Machine) -> None:
    broken_console.rule("smallest", {})
    assert broken_console.run("choose-disk.sh").returncode == 1
    assert broken_console.told.endswith("there are: no disk at all")
    broken_console.disk("sda")
    assert broken_console.run("choose-disk.sh").returncode == 0
    assert (broken_console.root / "etc/coreos/installer.d/20-disk.yaml").read_text(encoding="utf-8") == "dest-device: /dev/sda\n"
    assert len(broken_console.metadata.events) == 1


def test_of_disks_of_one_size_the_first_in_the_kernel_s_order(machine: Machine) -> None:
    for name in ("sdaa", "sdb", "sdc", "nvme0n1"):
        machine.disk(name)
    assert machine.choose() == "/dev/sdb"
    assert machine.choose("largest") == "/dev/sdb"


def test_several_paths_to_one_disk_are_one_disk(machine: Machine) -> None:
    for name in ("sda", "sdb"):
        machine.disk(name, serial="LUN0")
    machine.multipath("mpatha", "sda", "sdb")
    assert machine.choose() == "/dev/mapper/mpatha"
    for name in ("/dev/sdb", "/dev/dm-0", "/dev/mapper/mpatha"):
        assert machine.choose(name) == "/dev/mapper/mpatha"


def test_the_texts_of_an_older_lsblk_are_understood(machine: Machine) -> None:
    known = {"type": "disk", "size": "480000000000", "rm": "0", "ro": "0", "rota": "0", "subsystems": "block:scsi:pci", "tran": "sata"}
    listed = [{"name": "/dev/sda", "kname": "/dev/sda", **known, "rm": "1"}, {"name": "/dev/sdb", "kname": "/dev/sdb", **known}]
    (machine.root / "listed.json").write_text(json.dumps({"blockdevices": listed}), encoding="utf-8")
    (machine.root / "bin" / "lsblk").write_text(f"#!/bin/sh\ncat {machine.root}/listed.json\n", encoding="utf-8")
    assert machine.choose() == "/dev/sdb"


def test_wiping_takes_what_a_rule_may_take_and_partitions_before_their_disk(mixed: Machine) -> None:
    mixed.partition("sdc", "sdc1")
    mixed.partition("sdc", "sdc2")
    done = mixed.run("wipe-disks.sh")
    assert done.returncode == 0, done.stderr
    calls = mixed.calls()
    disks = [call.split()[-1] for call in calls if call.startswith("sgdisk")]
    assert disks == [f"/dev/{name}" for name in ("sda", "sdb", "sdc", "sdd", "nvme0n1", "nvme1n1")]
    marks = [call.split()[-1] for call in calls if call.startswith("wipefs")]
    assert set(marks) == {*disks, "/dev/sdc1", "/dev/sdc2"}
    assert marks.index("/dev/sdc") > max(marks.index("/dev/sdc1"), marks.index("/dev/sdc2"))
    assert calls[0].startswith("mdadm --stop")
