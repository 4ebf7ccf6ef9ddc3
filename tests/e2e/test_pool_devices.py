"""Pools of spot market devices and reserved hardware, and pool sizes as numbers. The tests build on each other, in this order."""

from __future__ import annotations

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
"""Seconds of the real clock between the notice of an eviction and the deletion; the vendor's are 120."""


def inventory(reserved: str) -> dict[str, Any]:
    """The pools beside those of the example, and settings for a fast sandbox."""
    spot = {"metal_plan": PLAN, "metal_spot_instance": True, "metal_spot_price_max": 0.5}
    return {
        "all": {"vars": {"openshift_wait_interval": 1, "cluster_stable_for": 5, "openshift_progress_interval": 2}},
        "workers": {
            "children": {
                "spot": {"hosts": {"spot-0": {}}, "vars": spot},
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
        settings = {"durations": {"spot_notice": NOTICE * SPEED}, "spot": {"metros": {"da": {PLAN: 0.2}}}}
        user.sandbox.call("PUT", "settings", json=settings)
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


def price(user: User, usd: float) -> None:
    user.sandbox.call("PUT", "settings", json={"spot": {"metros": {"da": {PLAN: usd}}}})


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
    assert user.nodes() == [*MASTERS, "reserved-0", "reserved-1", "spot-0", "worker-0", "worker-1"]
    spot = device(user, "spot-0")
    assert (spot["spot_instance"], spot["spot_price_max"], spot["plan"]["slug"]) == (True, 0.5, PLAN)
    # The named one is that of its host, and the other host has the next one.
    used = {name: device(user, name)["hardware_reservation"]["href"].rpartition("/")[2] for name in ("reserved-0", "reserved-1")}
    assert used == {"reserved-0": reservations[0], "reserved-1": reservations[1]}
    assert not device(user, "worker-0")["spot_instance"]
    assert device(user, "worker-0")["hardware_reservation"] is None
    assert run.changed
    user.play("scale.yml").changed_nothing()


def test_without_an_eviction_nothing_is_drained(user: User) -> None:
    run = user.play("playbooks/evictions.yml").ended_well()
    assert "No worker is deleted within 300 s." in run.output
    assert (run.changed, run.writes) == (0, [])


def test_scaling_uncordons_a_drained_worker_only_if_its_device_stays(user: User) -> None:
    def unschedulable() -> bool:
        return bool(user.kube(f"/api/v1/nodes/worker-1.{NAME}")["spec"].get("unschedulable"))

    path = f"devices/{device(user, 'worker-1')['id']}"
    # Within the window, and beyond the end of this test.
    window = ("-e", "__node_removal_eviction_window=7200", "-e", "__cluster_eviction_window=7200")
    user.ask("PUT", path, json={"termination_time": f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"})
    user.play("playbooks/evictions.yml", *window).ended_well()
    assert unschedulable()
    user.play("scale.yml", *window).changed_nothing()
    assert unschedulable()
    user.ask("PUT", path, json={"termination_time": None})
    user.play("scale.yml", *window).ended_well()
    assert not unschedulable()


def test_an_evicted_worker_is_drained_within_its_notice(user: User) -> None:
    run_pod(user, "slow", "spot-0", grace=360_000, stops_after="360000")
    run_pod(user, "other", "worker-0", grace=30, stops_after="0")
    before = device(user, "spot-0")
    price(user, 0.9)
    assert device(user, "spot-0")["termination_time"]
    status = user.play("status.yml").ended_well()
    assert f"the Metal API deletes its spot market device at {device(user, 'spot-0')['termination_time']}" in " ".join(
        status.output.split()
    )
    run = user.play("playbooks/evictions.yml").ended_well()
    assert f"spot-0.{NAME}: the Metal API deletes its spot market device at" in run.output
    assert f"Drained spot-0.{NAME}. Run scale.yml" in run.output
    assert run.writes == [], "only the cluster's API is written to"
    # The device still exists: its pod, which would have had ten minutes of the real clock, ended before the machine does.
    assert device(user, "spot-0")["id"] == before["id"]
    assert user.kube(f"/api/v1/nodes/spot-0.{NAME}")["spec"]["unschedulable"] is True
    assert [pod["metadata"]["name"] for pod in user.kube(PODS)["items"]] == ["other"]
    until(lambda: "spot-0" not in user.hostnames(), within=NOTICE + 60, what="the device of spot-0 is gone")


def test_scaling_waits_for_a_price_within_the_bid(user: User) -> None:
    user.play("scale.yml").refused("bid 0.5 is below the market price of 0.9")


def test_the_next_run_replaces_the_evicted_worker(user: User) -> None:
    price(user, 0.2)
    user.play("scale.yml", timeout=1800).ended_well()
    assert user.nodes() == [*MASTERS, "reserved-0", "reserved-1", "spot-0", "worker-0", "worker-1"]
    assert device(user, "spot-0")["termination_time"] is None
    assert not user.kube(f"/api/v1/nodes/spot-0.{NAME}")["spec"].get("unschedulable")


def test_a_size_as_a_number_is_the_same_as_another_host(user: User) -> None:
    grown = ("-e", json.dumps({"openshift_pool_sizes": {"spot": 2}}))
    user.play("scale.yml", *grown, timeout=1800).ended_well()
    assert device(user, "spot-1")["spot_price_max"] == 0.5
    assert "spot-1" in user.nodes()
    user.play("scale.yml", *grown).changed_nothing()
    # A worker that the number adds is one of the inventory.
    assert "Differences:" not in user.play("status.yml", *grown).ended_well().output
    # The inventory with one host more is the same cluster.
    (user.inventory / "04-more.yml").write_text(json.dumps({"spot": {"hosts": {"spot-1": {}}}}), encoding="utf-8")
    user.play("scale.yml").changed_nothing()
    user.play("scale.yml", "-e", json.dumps({"openshift_pool_sizes": {"spot": 1}}), timeout=1800).ended_well()
    assert "spot-1" not in user.hostnames()
    assert "spot-1" not in user.nodes()


def test_destroy_releases_the_reservations(user: User, reservations: list[str]) -> None:
    user.destroy().ended_well()
    assert user.devices() == []
    project = user.sandbox.environment["METAL_PROJECT_ID"]
    listed = user.ask("GET", f"projects/{project}/hardware-reservations")["hardware_reservations"]
    assert {each["id"]: each["device"] for each in listed} == dict.fromkeys(reservations)
