"""A device with an operating system of the service: cloud-init applies its userdata at the first boot, and no later one."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.containers.machines import MARKS, Machine
from tests.e2e.harness import NAME, User, until
from tests.ssh_keys import make_ssh_key

pytestmark = MARKS

SECRET = {"path": "/etc/secret", "permissions": "0600", "content": "of root alone\n"}
BOOTS: dict[str, Any] = {
    "packages": ["nftables"],
    "write_files": [SECRET],
    "runcmd": ["echo ran >> /root/runs", ["nft", "add", "table", "own"]],
}
WITHOUT: dict[str, Any] = {"packages": ["nosuch"], "runcmd": ["exit 3"]}
"""A package that the tree does not have, and a command that fails."""


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("cloud-init"), speed=600, machines="container")
    key = make_ssh_key(user.folder / "key").with_suffix(".pub").read_text(encoding="ascii").strip()
    with user.at_work():
        user.ask("POST", "ssh-keys", json={"label": "user", "key": key})
        for name, system, config in (("good", "debian_12", BOOTS), ("bad", "ubuntu_24_04", WITHOUT)):
            order = {"plan": "c3.small.x86", "metro": "da", "operating_system": system, "hostname": f"{name}.{NAME}"}
            text = f"#cloud-config\n{json.dumps(config)}"
            user.ask("POST", f"projects/{user.sandbox.environment['METAL_PROJECT_ID']}/devices", json=order | {"userdata": text})
        until(lambda: all(device["state"] == "active" for device in user.devices()), what="both devices are active")
        yield user


def ssh(user: User, machine: Machine, *command: str) -> str:
    options = [
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "LogLevel=ERROR",
        "-i",
        str(user.folder / "key"),
    ]
    return subprocess.run(["ssh", *options, f"root@{machine.address}", *command], capture_output=True, text=True, check=True).stdout


def status(machine: Machine) -> dict[str, Any]:
    """Return what cloud-init reports, once it has ended."""
    shown: dict[str, Any] = json.loads(machine.inside("/usr/bin/cloud-init", "status", "--wait", "--format=json").stdout.lstrip("."))
    return shown


def test_userdata_is_applied_once(user: User) -> None:
    machine = Machine(user, "good")
    assert status(machine)["status"] == "done"
    assert ssh(user, machine, "hostname; cat /root/runs; stat --format=%a /etc/secret; nft list tables") == (
        "good\nran\n600\ntable ip own\n"
    )
    assert "phone-home.service" in machine.started()
    assert "Cloud-init v." in machine.console()
    for boots, switch in ((2, ("reboot",)), (3, ("power_off", "power_on"))):
        for action in switch:
            user.switch(action, "good")
        until(lambda: machine.console().count("Reached target cloud-init.target") == boots, what="the system has booted")  # noqa: B023
        assert status(machine)["status"] == "done"
        assert ssh(user, machine, "cat /root/runs; cat /etc/secret") == "ran\nof root alone\n"
    assert len(re.findall("Finished phone-home", "\n".join(machine.journal()))) == 1


def test_what_fails_is_reported(user: User) -> None:
    machine = Machine(user, "bad")
    assert status(machine)["status"] == "error"
    assert "Unable to locate package nosuch" in machine.console()
    until(lambda: "Failed to run module scripts-user" in machine.console(), what="the failure of runcmd")


def test_a_reinstalled_device_boots_for_the_first_time(user: User) -> None:
    machine = Machine(user, "good")
    user.ask("POST", f"devices/{machine.id}/actions", json={"type": "reinstall"})
    until(lambda: user.ask("GET", f"devices/{machine.id}")["state"] == "active" and machine.disk.exists(), what="it is installed again")
    assert status(machine)["status"] == "done"
    assert ssh(user, machine, "cat /root/runs") == "ran\n"


def test_a_deleted_device_leaves_nothing(user: User) -> None:
    for name in ("good", "bad"):
        user.ask("DELETE", f"devices/{Machine(user, name).id}")
    until(user.sandbox.inventory_is_empty, what="no device is left")
    assert subprocess.run(["ip", "-oneline", "link", "show", "type", "veth"], capture_output=True, text=True, check=True).stdout == ""
