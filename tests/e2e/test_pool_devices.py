"""Pools of another plan and of reserved hardware, termination times, and sizes as numbers. The tests build on each other, in this order."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sandbox.openshift.workloads import STOPS_AFTER
from tests.e2e.harness import NAME, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

MASTERS = ["master-0", "master-1", "master-2"]
PLAN = "m3.small.x86"
PODS = "/api/v1/namespaces/default/pods"
SPEED = 600
NOTICE = 90
"""Seconds from the time at which a termination time is set until it."""


def inventory(reserved: str) -> dict[str, Any]:
    """The pools beside those of the example, and settings for a fast sandbox."""
    return {
        "all": {"vars": {"openshift_wait_interval": 1, "cluster_stable_for": 5, "openshift_progress_interval": 2}},
        "workers": {
            "children": {
                "batch": {"hosts": {"batch-0": {}}, "vars": {"metal_plan": PLAN}},
                "reserved": {
                    "hosts": {"reserved-0": {"metal_hardware_reservation_id": reserved}, "reserved-1": {}},
                    "vars": {"metal_hardware_reservation_id": "next-available"},
                },
            }
        },
    }


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("pools"), speed=SPEED)
    with user.at_work():
        yield user


@pytest.fixture(scope="module")
def reservations(user: User) -> list[str]:
    """Two reservations of the plan, and the inventory that names the first one."""
    ids: list[str] = user.sandbox.call("POST", "hardware_reservations", json={"count": 2, "plan": "c3.small.x86", "metro": "da"})["ids"]
    (user.inventory / "03-pools.yml").write_text(json.dumps(inventory(ids[0])), encoding="utf-8")
    return ids


def device(user: User, name: str) -> dict[str, Any]:
    (found,) = [each for each in user.devices() if each["hostname"] == f"{name}.{NAME}"]
    return found


def end(user: User, name: str, time: timedelta | None) -> None:
    """Set the termination time of a device to so long after now."""
    moment = None if time is None else f"{datetime.now(UTC) + time:%Y-%m-%dT%H:%M:%SZ}"
    user.ask("PUT", f"devices/{device(user, name)['id']}", json={"termination_time": moment})


def run_pod(user: User, name: str, worker: str, *, grace: int, stops_after: str) -> None:
    """Run a pod that ends so many seconds after it is asked to."""
    spec = {
        "nodeName": f"{worker}.{NAME}",
        "terminationGracePeriodSeconds": grace,
        "containers": [{"name": "x", "image": "x"}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    user.kube(PODS, "POST", {"metadata": {"name": name, "annotations": {STOPS_AFTER: stops_after}}, "spec": spec})
    until(lambda: user.kube(f"{PODS}/{name}")["status"].get("phase") == "Running", what=f"{name} runs")


def test_pools_get_their_devices(user: User, reservations: list[str]) -> None:
    run = user.play("install.yml", timeout=1800).ended_well()
    assert user.nodes() == ["batch-0", *MASTERS, "reserved-0", "reserved-1", "worker-0", "worker-1"]
    assert device(user, "batch-0")["plan"]["slug"] == PLAN
    # The named one is that of its host, and the other host has the next one.
    used = {name: device(user, name)["hardware_reservation"]["href"].rpartition("/")[2] for name in ("reserved-0", "reserved-1")}
    assert used == {"reserved-0": reservations[0], "reserved-1": reservations[1]}
    assert device(user, "worker-0")["hardware_reservation"] is None
    assert run.changed
    user.play("scale.yml").changed_nothing()


def test_scaling_uncordons_a_drained_worker_only_if_its_device_stays(user: User) -> None:
    def unschedulable() -> bool:
        return bool(user.kube(f"/api/v1/nodes/worker-1.{NAME}")["spec"].get("unschedulable"))

    # Within the window, and beyond the end of this test.
    window = ("-e", "__node_removal_eviction_window=7200", "-e", "__cluster_eviction_window=7200")
    end(user, "worker-1", timedelta(hours=1))
    user.play("playbooks/evictions.yml", *window).ended_well()
    assert unschedulable()
    user.play("scale.yml", *window).changed_nothing()
    assert unschedulable()
    end(user, "worker-1", None)
    user.play("scale.yml", *window).ended_well()
    assert not unschedulable()


def test_an_evicted_worker_is_drained_within_its_notice(user: User) -> None:
    run_pod(user, "slow", "batch-0", grace=360_000, stops_after="360000")
    run_pod(user, "other", "worker-0", grace=30, stops_after="0")
    before = device(user, "batch-0")
    end(user, "batch-0", timedelta(seconds=NOTICE))
    status = user.play("status.yml").ended_well()
    assert f"the Metal API deletes its device at {device(user, 'batch-0')['termination_time']}" in " ".join(status.output.split())
    run = user.play("playbooks/evictions.yml").ended_well()
    assert f"batch-0.{NAME}: the Metal API deletes its device at" in run.output
    assert f"Drained batch-0.{NAME}. Run scale.yml" in run.output
    assert run.writes == [], "only the cluster's API is written to"
    # The device still exists: its pod, which would have had ten minutes of the real clock, ended before the machine does.
    assert device(user, "batch-0")["id"] == before["id"]
    assert user.kube(f"/api/v1/nodes/batch-0.{NAME}")["spec"]["unschedulable"] is True
    assert [pod["metadata"]["name"] for pod in user.kube(PODS)["items"]] == ["other"]
    until(lambda: "batch-0" not in user.hostnames(), within=NOTICE + 60, what="the device of batch-0 is gone")


def test_the_next_run_replaces_the_evicted_worker(user: User) -> None:
    user.play("scale.yml", timeout=1800).ended_well()
    assert user.nodes() == ["batch-0", *MASTERS, "reserved-0", "reserved-1", "worker-0", "worker-1"]
    assert device(user, "batch-0")["termination_time"] is None
    assert not user.kube(f"/api/v1/nodes/batch-0.{NAME}")["spec"].get("unschedulable")


def test_a_size_as_a_number_is_the_same_as_another_host(user: User) -> None:
    grown = ("-e", json.dumps({"openshift_pool_sizes": {"batch": 2}}))
    user.play("scale.yml", *grown, timeout=1800).ended_well()
    assert device(user, "batch-1")["plan"]["slug"] == PLAN
    assert "batch-1" in user.nodes()
    user.play("scale.yml", *grown).changed_nothing()
    # A worker that the number adds is one of the inventory.
    assert "Differences:" not in user.play("status.yml", *grown).ended_well().output
    # The inventory with one host more is the same cluster.
    (user.inventory / "04-more.yml").write_text(json.dumps({"batch": {"hosts": {"batch-1": {}}}}), encoding="utf-8")
    user.play("scale.yml").changed_nothing()
    user.play("scale.yml", "-e", json.dumps({"openshift_pool_sizes": {"batch": 1}}), timeout=1800).ended_well()
    assert "batch-1" not in user.hostnames()
    assert "batch-1" not in user.nodes()


def test_destroy_releases_the_reservations(user: User, reservations: list[str]) -> None:
    user.destroy().ended_well()
    assert user.devices() == []
    project = user.sandbox.environment["METAL_PROJECT_ID"]
    listed = user.ask("GET", f"projects/{project}/hardware-reservations")["hardware_reservations"]
    assert {each["id"]: each["device"] for each in listed} == dict.fromkeys(reservations)
