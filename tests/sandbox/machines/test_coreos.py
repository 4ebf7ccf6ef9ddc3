# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel arguments, installer files and what a live config prepares, each by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metal_api.core.machines import Drive
from sandbox.clock import Clock
from sandbox.machines import disks
from sandbox.machines.coreos import Arguments, Artefact, InstallError, NoDisk, Plan, is_kernel, plan_of, preparation_of
from sandbox.machines.host import Host

from .conftest import hardware

DIRECTORY = "/etc/coreos/installer.d/"


def a_host(tmp_path: Path, **changed: Any) -> Host:
    return Host(
        hardware(**changed),
        tmp_path,
        Clock(),
        boot_url="http://127.0.0.1:1",
        metadata_url="http://127.0.0.1:1",
        dns_server=("127.0.0.1", 1),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("console=ttyS1 coreos.inst.image_url=http://x", None),
        ("coreos.inst=yes", None),
        ("coreos.inst.install_dev=/dev/sda", Plan(device="/dev/sda")),
        ("coreos.inst.install_dev=/dev/sda coreos.inst.install_dev=/dev/sdb", Plan(device="/dev/sdb")),
        ("coreos.inst.install_dev=/dev/sda coreos.inst.platform_id=packet", Plan(device="/dev/sda", platform="packet")),
        ("coreos.inst.install_dev=/dev/sda coreos.inst.ignition_url=skip", Plan(device="/dev/sda")),
        (
            "coreos.inst.install_dev=/dev/sda coreos.inst.ignition_url=http://x/y?a=b",
            Plan(device="/dev/sda", ignition_url="http://x/y?a=b"),
        ),
        ("coreos.inst.install_dev=/dev/sda coreos.inst.persistent-kargs=console=ttyS1", Plan(device="/dev/sda")),
    ],
)
def test_kernel_arguments(text: str, expected: Plan | None) -> None:
    assert plan_of(Arguments(text), {}) == expected


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("coreos.inst.persistent-kargs=console=ttyS1", "assisted installer"),
        ("coreos.inst.append=x", "does not exist"),
        ("coreos.inst.ignition_hash=sha512-0", "ignition-hash"),
        ("coreos.inst=yes", "old installer"),
        ("coreos.inst.ignition_url=skip", "ignored"),
        ("coreos.inst.instal_dev=/dev/sda", "not one of coreos-installer's"),
        ("ignition.config.url=http://x ignition.firstboot", "does nothing without"),
    ],
)
def test_what_does_nothing_is_named(text: str, remark: str) -> None:
    assert any(remark in said for said in Arguments(text).remarks())


def test_good_arguments_need_no_remark() -> None:
    live = "ignition.firstboot ignition.platform.id=metal ignition.config.url=http://x"
    assert Arguments(f"{live} coreos.inst.install_dev=/dev/sda coreos.inst.insecure ip=dhcp").remarks() == []


def test_files_are_read_in_order_and_arguments_win() -> None:
    files = {
        DIRECTORY + "20.yaml": b"dest-device: /dev/sdb\nappend-karg: [two]\nconsole: ['ttyS1,115200n8']\n",
        DIRECTORY + "10.yaml": b"dest-device: /dev/sda\nplatform: packet\nappend-karg: [one]\n",
        "/etc/other.yaml": b"dest-device: /dev/sdz",
    }
    plan = plan_of(Arguments(""), files)
    assert plan == Plan(device="/dev/sdb", platform="packet", consoles=["ttyS1,115200n8"], kargs=["one", "two"])
    plan = plan_of(Arguments("coreos.inst.install_dev=/dev/sdc coreos.inst.platform_id=metal"), files)
    assert plan is not None
    assert (plan.device, plan.platform) == ("/dev/sdc", "metal")


@pytest.mark.parametrize("content", [b"dest_device: /dev/sda", b"- a", b"a: [", b"\xff"])
def test_files_that_are_refused(content: bytes) -> None:
    with pytest.raises(InstallError):
        plan_of(Arguments(""), {DIRECTORY + "x.yaml": content})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/dev/sda", "/dev/sda"),
        ("sda", "/dev/sda"),
        ("/dev/sdc", None),
        ("", None),
        ("/dev/disk/by-path/pci-0000:00:17.0-ata-2", "/dev/sdb"),
        ("/dev/disk/by-id/ata-SANDBOX_SSD_480_d00", "/dev/sda"),
    ],
)
def test_devices(tmp_path: Path, name: str, expected: str | None) -> None:
    assert disks.resolve(a_host(tmp_path), name) == expected


def unit(contents: str, *, enabled: bool = True) -> dict[str, Any]:
    return {
        "systemd": {
            "units": [{"name": "u.service", "enabled": enabled, "contents": "[Unit]\nBefore=coreos-installer.service\n" + contents}]
        }
    }


def test_scripts_are_read_not_run(tmp_path: Path) -> None:
    drives = (Drive("/dev/sda", 960), Drive("/dev/nvme0n1", 240, "NVMe"), Drive("/dev/sdb", 480))
    host = a_host(tmp_path, drives=drives)
    everywhere = {"/usr/local/bin/prepare": b"for d in /sys/block/*; do sgdisk --zap-all /dev/${d##*/}; done\n"}
    found = preparation_of(unit("[Service]\nExecStart=/usr/local/bin/prepare\n"), everywhere, host)
    assert found.wiped == ["/dev/sda", "/dev/nvme0n1", "/dev/sdb"]
    found = preparation_of(unit("[Service]\nExecStart=/usr/sbin/wipefs -a /dev/sdb\n"), {}, host)
    assert found.wiped == ["/dev/sdb"]
    chooses = b'echo "dest-device: $smallest" > /etc/coreos/installer.d/50-disk.yaml\n'
    found = preparation_of(unit("[Service]\nExecStart=/choose\n"), {"/choose": chooses}, host)
    assert (found.wiped, found.chosen) == ([], "/dev/nvme0n1")
    found = preparation_of(unit("[Service]\nExecStart=/choose\n", enabled=False), {"/choose": chooses}, host)
    assert (found.chosen, "not enabled" in found.remarks[0]) == ("", True)
    found = preparation_of({"storage": {"disks": [{"device": "/dev/sdb", "wipeTable": True}]}}, {}, host)
    assert found.wiped == ["/dev/sdb"]


RULES: list[tuple[dict[str, Any], str | None]] = [
    ({"device": "smallest"}, "/dev/sdc"),
    ({"device": "largest"}, "/dev/sda"),
    ({"device": "smallest nvme"}, "/dev/nvme1n1"),
    ({"device": "largest hdd"}, "/dev/sda"),
    ({"device": "smallest hdd", "hints": {"rotational": False}}, None),
    ({"device": "/dev/sdb"}, "/dev/sdb"),
    ({"device": "/dev/sdz"}, None),
    ({"hints": {"minSizeGigabytes": 500, "rotational": False}}, "/dev/nvme1n1"),
    ({"hints": {"vendor": "ATA", "model": "HDD"}}, "/dev/sda"),
    ({"hints": {"hctl": "1:0:0:0"}}, "/dev/sdb"),
    ({"hints": {"serialNumber": "d03"}}, "/dev/nvme0n1"),
    ({"hints": {"deviceName": "/dev/disk/by-path/pci-0000:00:17.0-ata-3"}}, "/dev/sdc"),
    ({"hints": {"wwn": "0x0"}}, None),
    ({"hints": {"minSizeGigabytes": 9000}}, None),
]


@pytest.mark.parametrize(("rule", "expected"), RULES, ids=str)
def test_a_rule_in_a_file_that_the_script_names_is_followed(tmp_path: Path, rule: dict[str, Any], expected: str | None) -> None:
    drives = (
        Drive("/dev/sda", 8000, "HDD"),
        Drive("/dev/sdb", 8000, "HDD"),
        Drive("/dev/sdc", 480),
        Drive("/dev/nvme0n1", 3800, "NVMe"),
        Drive("/dev/nvme1n1", 1900, "NVMe"),
    )
    host = a_host(tmp_path, drives=drives)
    files = {
        "/choose": b'rule=/etc/rule.json; echo "dest-device: $found" > /etc/coreos/installer.d/50-disk.yaml\n',
        "/etc/rule.json": json.dumps(rule).encode(),
    }
    config = unit("[Service]\nExecStart=/choose\n")
    if expected is None:
        with pytest.raises(NoDisk, match=r"no disk fits .*there are: /dev/sda \(8000 GB hdd, model SANDBOX_HDD_8000"):
            preparation_of(config, files, host)
    else:
        assert preparation_of(config, files, host).chosen == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"sandbox-rhcos kernel 9.6 x86_64\n...", Artefact("kernel", "9.6", "x86_64")),
        (b"sandbox-rhcos rootfs 9.6 aarch64\r\n", Artefact("rootfs", "9.6", "aarch64")),
        (b"sandbox-rhcos kernel 9.6 x86_64", Artefact("kernel", "9.6", "x86_64")),
        (b"sandbox-rhcos kernel 9.6 riscv\n", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_artefacts_say_what_they_are(data: bytes, expected: Artefact | None) -> None:
    assert Artefact.of(data) == expected
    assert is_kernel(data) is (expected is not None and expected.kind == "kernel")


def test_a_damaged_state_of_power_is_kept(tmp_path: Path) -> None:
    host = a_host(tmp_path)
    host.set_mode("rescue")
    host.at("live", boot={"a": 1})
    again = a_host(tmp_path)
    assert again.state == {"mode": "rescue", "stage": "live", "boot": {"a": 1}}
    assert (tmp_path / "machine.json").stat().st_mode & 0o077 == 0
