"""Two runs of the playbooks at the same moment: one writes, the other says so; and whose cluster it is when its name is in use."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.chaos import DEVICES
from tests.e2e.harness import NAME, Moment, Run, User, until
from tests.e2e.kills import CONTEXTS, MOMENTS, Kill, make_small, tried

pytestmark = pytest.mark.e2e

LATENCY = 5.0
"""Seconds that the service takes for each write."""
ELSEWHERE = "00000000-0000-4000-8000-000000000000/4026531836/4711/42"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A cluster of two machines, of which nothing is ever installed."""
    user = User(tmp_path_factory.mktemp("lock") / "one", speed=600)
    user.folder.mkdir()
    with user.at_work():
        make_small(user, timeout=20)
        yield user
        end(user)


@pytest.fixture(scope="module")
def other(user: User) -> Iterator[User]:
    other = user.beside(user.folder.with_name("two"))
    yield other
    end(other)


def end(user: User) -> None:
    """What serves boot files goes on after a kill."""
    for number in user.processes():
        os.kill(number, signal.SIGKILL)


def locks(user: User) -> list[dict[str, Any]]:
    return [each for each in user.sandbox.inventory()["virtual_networks"] if "openshift-role=lock" in each["tags"]]


def test_two_concurrent_checkouts_order_each_device_once(user: User, other: User) -> None:
    user.sandbox.call("POST", "faults", json={"method": "POST|PUT|DELETE", "path": "/metal/v1/(?!capacity)", "delay": LATENCY})
    runs: dict[str, Run] = {}

    def install(name: str, who: User) -> None:
        runs[name] = who.play("install.yml", kill=Moment("dns"), timeout=1200)

    threads = [threading.Thread(target=install, args=each) for each in (("one", user), ("two", other))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    user.sandbox.call("DELETE", "faults")
    assert Counter(device["hostname"] for device in user.devices()) == {f"bootstrap-0.{NAME}": 1, f"master-0.{NAME}": 1}
    orders = user.sandbox.call("GET", "journal", params={"service": "metal", "method": "POST", "path": "/devices$"})["journal"]
    assert len(orders) == 2
    (loser,) = [run for run in runs.values() if not run.cut]
    assert loser.code != 0
    # Late, it finds the devices of the other install: before anything else, or once it has the lock of the run that was killed.
    result = (f"Another run writes to {NAME}: install.yml of ", "existing cluster objects", "it has another owner and stays unchanged")
    assert any(text in loser.flat for text in result), loser.tail


@pytest.mark.long
def test_a_cluster_name_in_use_is_refused_and_nothing_is_ordered(user: User, other: User) -> None:
    owner, guest = (user, other) if (user.cluster / "project").exists() and _owns(user) else (other, user)
    run = guest.play("install.yml", "-e", "openshift_machine_network=vlan")
    assert run.code != 0
    assert run.changes == []
    assert f"{NAME} exists and " in run.flat
    assert f"(infra id {_infra(owner)}, created 20" in run.flat
    assert "or restore the folder of that install (openshift_directory)" in run.flat
    assert "openshift_destroy_without_state" not in run.flat, "it may be a cluster that runs"

    guest.destroy().refused("Nothing was deleted")

    again = owner.play("install.yml", kill=Moment("dns"))
    assert again.cut, again.tail
    assert len(owner.devices()) == 2


def _infra(user: User) -> str:
    return str(json.loads((user.cluster / "ignition" / "metadata.json").read_text(encoding="utf-8"))["infraID"])


def _owns(user: User) -> bool:
    tags = {tag for device in user.devices() for tag in device["tags"]}
    return (user.cluster / "ignition" / "metadata.json").exists() and f"openshift-infra-id={_infra(user)}" in tags


@pytest.mark.long
def test_destroy_and_install_refuse_to_run_during_an_install(user: User, other: User) -> None:
    gone = (user if _owns(user) else other).destroy().ended_well()
    assert user.sandbox.inventory_is_empty(), gone.tail
    user.sandbox.call("POST", "faults", json={"method": "POST", "path": DEVICES, "delay": LATENCY})
    runs: list[Run] = []
    thread = threading.Thread(target=lambda: runs.append(user.play("install.yml", kill=Moment("dns"), timeout=1200)))
    thread.start()
    until(lambda: locks(user), within=300, what="the install has taken the lock")
    (lock,) = locks(user)
    # Nothing of the install exists yet: destroy would find nothing, say that nothing is billed, and end well.
    assert user.devices() == []
    assert not user.cluster.exists()
    since = time.time()
    refused = other.destroy()
    said = refused.flat
    assert refused.code != 0
    assert f"Another run writes to {NAME}: install.yml of " in said
    assert f"openshift_unlock={lock['id']}" in said
    writes = [each for each in user.sandbox.journal(earliest=since) if each["method"] == "DELETE"]
    assert writes == []
    user.sandbox.call("DELETE", "faults")
    thread.join()
    assert runs[0].cut, runs[0].tail
    assert len(user.devices()) == 2

    user.leaves_nothing()


@pytest.mark.long
def test_unlock_breaks_the_lock_of_a_lost_run(user: User) -> None:
    tags = [f"openshift-cluster={NAME}", "openshift-role=lock", f"openshift-lock-of={NAME}", "openshift-lock-run=zz"]
    tags += ["openshift-lock-operation=install.yml", "openshift-lock-holder=alice@bastion", f"openshift-lock-process={ELSEWHERE}"]
    made = user.ask("POST", f"projects/{user.sandbox.environment['METAL_PROJECT_ID']}/virtual-networks", json={"metro": "da", "tags": tags})
    refused = user.play("destroy.yml", "-e", f"openshift_destroy_confirm={NAME} openshift_time_scale=0.003")
    assert refused.code != 0
    assert "install.yml of alice@bastion, process 4711" in refused.flat
    assert locks(user)

    nameless = user.play("playbooks/unlock.yml")
    assert "Run with -e openshift_unlock=<id>" in nameless.flat
    run = user.play("playbooks/unlock.yml", "-e", f"openshift_unlock={made['id']}").ended_well()
    assert f"Broke the lock {made['id']} of {NAME}, held by install.yml of alice@bastion since " in run.flat
    assert locks(user) == []
    user.destroy().ended_well()


def test_a_run_killed_while_it_writes_can_be_repeated_at_once(tmp_path: Path) -> None:
    """One moment, in which a device is ordered; the other contexts and moments are in `make nightly`."""
    kill = Kill.drawn(7, CONTEXTS.index("create"))
    assert kill.context == "create"
    assert tried(tmp_path / "user", [kill]) == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, MOMENTS, 10))
def test_a_run_killed_at_thirty_moments_can_be_repeated(first: int, tmp_path: Path) -> None:
    kills = [Kill.drawn(7, number) for number in range(first, first + 10)]
    assert tried(tmp_path / "user", kills) == []
