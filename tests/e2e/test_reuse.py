"""The bootstrap device is reinstalled as a worker: one device less is ordered, and nothing of the bootstrap remains.

The tests build on each other's world, in this order.
"""

import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.harness import NAME, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

BECOMES = ("-e", "openshift_bootstrap_becomes=worker-1")
MACHINES = ["master-0", "master-1", "master-2", "worker-0", "worker-1"]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("reuse"), speed=600)
    with user.at_work():
        yield user


def named(user: User, name: str) -> dict[str, Any]:
    (found,) = [device for device in user.devices() if device["hostname"] == f"{name}.{NAME}"]
    return found


def asked(user: User, path: str) -> int:
    """How many POSTs of the Metal API to such a path were accepted."""
    journal = user.sandbox.call("GET", "journal", params={"service": "metal", "method": "POST", "path": path})["journal"]
    return sum(entry["status"] in (201, 202) for entry in journal)


def answers(address: str, port: int, source: str = "127.0.0.1") -> bool:
    try:
        socket.create_connection((address, port), timeout=1, source_address=(source, 0)).close()
    except OSError:
        return False
    return True


def power_cut(user: User, when: Callable[[], bool]) -> None:
    """End all that the user has on this computer as soon as that is so."""
    until(when, within=600, what="the moment of the power cut")
    while left := user.processes():
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cut_off(user: User) -> dict[str, Any]:
    """The machine after an install that was cut off when it had become a worker by name, and nobody had asked to install it anew yet."""
    run = user.play("install.yml", *BECOMES, "--check").ended_well()
    assert f"worker-0.{NAME}: would be created" in run.output
    assert f"worker-1.{NAME}: would be created" not in run.output
    # The request hangs until its caller is gone, and then it is lost.
    user.sandbox.call("POST", "faults", json={"method": "POST", "path": "/actions$", "times": 1, "delay": 20, "cut": "before"})
    cutting = threading.Thread(target=power_cut, args=(user, lambda: f"worker-1.{NAME}" in {each["hostname"] for each in user.devices()}))
    cutting.start()
    killed = user.play("install.yml", *BECOMES)
    cutting.join()
    assert killed.code != 0
    return named(user, "worker-1")


def test_an_interrupted_reuse_leaves_one_complete_machine(user: User, cut_off: dict[str, Any]) -> None:
    assert user.hostnames() == ["master-0", "master-1", "master-2", "worker-1"]
    assert cut_off["state"] == "active"
    marks = [tag for tag in cut_off["tags"] if not tag.startswith("ansible-operation-requested=reinstall:bootstrap-becomes-worker:")]
    infra_id = json.loads((user.cluster / "ignition" / "metadata.json").read_text(encoding="utf-8"))["infraID"]
    assert sorted(marks) == [f"openshift-cluster={NAME}", f"openshift-infra-id={infra_id}", "openshift-role=worker"]
    assert len(cut_off["tags"]) == 4
    assert asked(user, "/actions$") == 0
    assert not (user.cluster / "publish" / "secret" / "bootstrap.ign").exists()


def test_the_next_run_reinstalls_the_bootstrap_device_as_a_worker(user: User, cut_off: dict[str, Any]) -> None:
    user.play("install.yml", *BECOMES, timeout=1200).ended_well()
    assert user.hostnames() == MACHINES
    assert user.nodes() == MACHINES
    worker = named(user, "worker-1")
    assert worker["id"] == cut_off["id"]
    assert worker["ip_addresses"] == cut_off["ip_addresses"]
    assert asked(user, "/devices$") == len(MACHINES)
    assert asked(user, "/actions$") == 1


def test_the_reused_device_keeps_nothing_of_the_bootstrap(user: User, cut_off: dict[str, Any]) -> None:
    address = next(entry["address"] for entry in cut_off["ip_addresses"] if entry["public"] and entry["address_family"] == 4)
    assert not answers(address, 6443)
    assert not answers(address, 22623)
    assert answers(address, 10250, source=address), "the kubelet of a worker"
    assert not answers(address, 10250), "the firewall of the nodes"
    disks = (user.sandbox.directory / "machines" / cut_off["id"] / "disks").glob("*.json")
    content = "".join(path.read_text(encoding="utf-8") for path in disks)
    assert "worker" in content
    assert "/opt/openshift" not in content, "its disks are wiped: bootstrap.ign had all keys of the cluster"
    names = user.names_in_zone()
    assert names[f"worker-1.{NAME}. A"] == [address]
    assert f"bootstrap-0.{NAME}. A" not in names
    assert address not in names[f"api.{NAME}. A"]


def test_another_run_changes_nothing_and_destroy_deletes_the_device(user: User, cut_off: dict[str, Any]) -> None:
    for arguments in (BECOMES, ()):
        user.play("install.yml", *arguments).changed_nothing()
    user.leaves_nothing()
