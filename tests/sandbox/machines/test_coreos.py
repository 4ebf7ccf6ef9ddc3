"""Kernel arguments, installer files and what a live config prepares, each by itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from metal_api.core.machines import Drive
from sandbox.clock import Clock
from sandbox.machines.coreos import Arguments, InstallError, NoDisk, Plan, plan_of, preparation_of
from sandbox.machines.host import Host, Site

from .conftest import hardware

DIRECTORY = "/etc/coreos/installer.d/"


def a_host(tmp_path: Path, **changed: Any) -> Host:
    nobody = "http://127.0.0.1:1"
    return Host(hardware(**changed), tmp_path, Site(Clock(), nobody, nobody, ("127.0.0.1", 1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("console=ttyS1 coreos.inst.image_url=http://x", None),
        ("coreos.inst.install_dev=/dev/sda", Plan(device="/dev/sda")),
        ("coreos.inst.install_dev=/dev/sda coreos.inst.platform_id=packet", Plan(device="/dev/sda", platform="packet")),
        (
            "coreos.inst.install_dev=/dev/sda coreos.inst.ignition_url=http://x/y?a=b",
            Plan(device="/dev/sda", ignition_url="http://x/y?a=b"),
        ),
    ],
)
def test_kernel_arguments(text: str, expected: Plan | None) -> None:
    assert plan_of(Arguments(text), {}) == expected


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
    ({"device": "/dev/sdb"}, "/dev/sdb"),
    ({"hints": {"minSizeGigabytes": 500, "rotational": False}}, "/dev/nvme1n1"),
    ({"hints": {"hctl": "1:0:0:0"}}, "/dev/sdb"),
    ({"hints": {"deviceName": "/dev/disk/by-path/pci-0000:00:17.0-ata-3"}}, "/dev/sdc"),
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
