"""Concurrent runs: one writes, the others wait or name the lock holder, and nothing is ordered twice."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call, run
from tests.contract.scenario import TAGS, WAIT, machine
from tests.eventually import until

NAMES = [f"worker-{number}.contract.metal.test" for number in range(1, 6)]
SET = {"ownership_tags": TAGS, "machines": [machine(number) for number in range(1, 6)], **WAIT}
GONE = {"ownership_tags": TAGS, "all_owned": True, "state": "absent", "cluster_lock": "none", **WAIT}
SCOPE = "contract.metal.test"
WRITES = "POST|PUT|PATCH|DELETE"
ORDERS = "/projects/[^/]+/devices$"


class Service:
    """The sandbox as these tests use it."""

    def __init__(self, sandbox: RunningSandbox, environment: Mapping[str, str]) -> None:
        self.sandbox = sandbox
        self.environment = environment
        self.project = sandbox.environment["METAL_PROJECT_ID"]

    def run(self, module: str, options: Mapping[str, Any]) -> dict[str, Any]:
        return run(module, options, self.environment)

    def at_once(self, *calls: tuple[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(lambda each: self.run(*each), calls))

    def slow(self, seconds: float, method: str = WRITES, path: str = "/metal/v1/(?!capacity)") -> None:
        """Every such write has its effect so many seconds after it arrived."""
        self.sandbox.call("POST", "faults", json={"method": method, "path": f"{path}", "delay": seconds})

    @property
    def devices(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.sandbox.inventory()["devices"]
        return [device for device in found if set(TAGS) <= set(device["tags"]) and device["state"] != "deprovisioning"]

    @property
    def locks(self) -> list[dict[str, Any]]:
        return [each for each in self.sandbox.inventory()["virtual_networks"] if "openshift-role=lock" in each["tags"]]

    def lock_of_another_computer(self, *, expires_in: float, lifetime: float = 300) -> str:
        """Create a lock object as a run of another computer does, and return its id."""
        renewed = datetime.fromtimestamp(time.time() + expires_in - lifetime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        fields = {
            "run": "0-elsewhere",
            "holder": "alice@bastion",
            "operation": "install.yml",
            "process": "00000000-0000-4000-8000-000000000000/4026531836/4711/42",
            "since": renewed,
            "renewed": renewed,
            "lifetime": f"{lifetime:g}",
        }
        tags = [f"openshift-cluster={SCOPE}", "openshift-role=lock", f"openshift-lock-of={SCOPE}"]
        tags += [f"openshift-lock-{name}={value}" for name, value in fields.items()]
        made = call(self.sandbox, "POST", f"projects/{self.project}/virtual-networks", {"metro": "da", "tags": tags})
        return str(made["id"])

    def renew(self, lock: str) -> None:
        path = f"virtual-networks/{lock}"
        tags = [tag for tag in call(self.sandbox, "GET", path)["tags"] if not tag.startswith("openshift-lock-renewed=")]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        call(self.sandbox, "PUT", path, {"tags": [*tags, f"openshift-lock-renewed={now}"]})


@pytest.fixture
def service(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[Service]:
    found = Service(sandbox, sandbox_environment)
    quota = sandbox.call("GET", "settings")["quotas"]["virtual_networks"]
    yield found
    sandbox.call("DELETE", "faults")
    sandbox.call("PUT", "settings", json={"quotas": {"virtual_networks": quota}})
    gone = found.run("metal_device_set", GONE)
    for lock in found.locks:
        call(sandbox, "DELETE", f"virtual-networks/{lock['id']}")
    assert not gone.get("failed"), gone


def test_three_concurrent_sets_of_the_same_names_create_one_set(service: Service) -> None:
    service.slow(2)
    results = service.at_once(*[("metal_device_set", {**SET, "wait_timeout": 240})] * 3)
    assert [result.get("msg") for result in results] == [None] * 3
    assert Counter(device["hostname"] for device in service.devices) == dict.fromkeys(NAMES, 1)
    assert Counter(result["changed"] for result in results) == {True: 1, False: 2}, "who ordered says so, and nobody else"
    ids = {device["id"] for device in service.devices}
    assert all({device["id"] for device in result["devices"]} == ids for result in results)
    orders = [each for each in service.sandbox.journal() if each["method"] == "POST" and each["path"].endswith("/devices")]
    assert len(orders) == 5
    assert service.locks == []


def test_without_wait_concurrent_runs_name_the_lock_holder(service: Service) -> None:
    service.slow(1)
    results = service.at_once(*[("metal_device_set", {**SET, "wait": False})] * 3)
    assert Counter(device["hostname"] for device in service.devices) == dict.fromkeys(NAMES, 1)
    messages = [result["msg"] for result in results if result.get("failed")]
    # One may have come so late that the first was done.
    assert len(messages) <= 2
    assert all(f"Another run writes to {SCOPE}: metal_device_set of " in text and "openshift_unlock=" in text for text in messages), (
        messages
    )
    assert sum(bool(result["changed"]) for result in results) == 1
    assert service.locks == []


def test_a_set_without_changes_takes_no_lock(service: Service) -> None:
    assert service.run("metal_device_set", SET)["changed"]
    service.sandbox.forget()
    assert not service.run("metal_device_set", SET)["changed"]
    assert {each["method"] for each in service.sandbox.journal()} == {"GET"}
    assert not any("virtual-networks" in each["path"] for each in service.sandbox.journal())


def test_concurrent_runs_create_one_device_of_a_name(service: Service) -> None:
    """No lock is taken here: the run that ordered the younger of the two deletes it."""
    service.slow(2, "POST", ORDERS)
    options = {**machine(1), "ownership_tags": TAGS, **WAIT}
    results = service.at_once(*[("metal_device", options)] * 2)
    assert [result.get("msg") for result in results] == [None] * 2
    (left,) = service.devices
    assert {result["device"]["id"] for result in results} == {left["id"]}
    assert [len(result.get("duplicates", [])) for result in sorted(results, key=lambda result: "duplicates" in result)] == [0, 1]


def test_a_device_ordered_by_another_run_during_a_429_pause_is_not_ordered_again(service: Service) -> None:
    service.sandbox.call(
        "POST", "faults", json={"method": "POST", "path": ORDERS, "status": 429, "headers": {"Retry-After": "3"}, "times": 1}
    )
    options = {**machine(1), "ownership_tags": TAGS, **WAIT}
    with ThreadPoolExecutor(2) as pool:
        paused = pool.submit(service.run, "metal_device", options)
        while not any(each["status"] == 429 for each in service.sandbox.journal()):
            time.sleep(0.05)
        ordered = service.run("metal_device", options)
        late = paused.result()
    assert ordered["changed"]
    assert not late["changed"]
    assert late["device"]["id"] == ordered["device"]["id"]
    assert len(service.devices) == 1


def test_a_run_waits_for_another_computers_lock_until_it_expires(service: Service) -> None:
    lock = service.lock_of_another_computer(expires_in=6)
    began = time.monotonic()
    result = service.run("metal_device_set", {**SET, "wait_timeout": 120})
    assert result["changed"], result
    assert time.monotonic() - began > 4
    assert lock not in [each["id"] for each in service.locks]


def test_a_run_waits_until_another_computers_lock_is_not_renewed(service: Service) -> None:
    free = {"name": SCOPE, "state": "free", "wait_interval": 0.2, "wait_timeout": 60}
    lock = service.lock_of_another_computer(expires_in=250)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.run, "metal_cluster_lock", free)
        while not any("/virtual-networks" in each["path"] and each["method"] == "GET" for each in service.sandbox.journal()):
            time.sleep(0.05)
        service.renew(lock)
        refused = waiting.result()
    assert "Another run writes to contract.metal.test: install.yml of alice@bastion, process 4711 since " in refused["msg"]
    assert f"ansible-playbook playbooks/unlock.yml -e openshift_unlock={lock}" in refused["msg"]
    assert refused["failure"]["lock"]["id"] == lock

    broken = service.run("metal_cluster_lock", {"name": SCOPE, "state": "released", "unlock": lock, **WAIT, "metal_api_timeout": 1})
    assert broken["changed"]
    assert broken["broken_lock"]["holder"] == "alice@bastion"
    assert service.locks == []
    assert not service.run("metal_cluster_lock", free)["changed"]
    again = service.run("metal_cluster_lock", {"name": SCOPE, "state": "released", "unlock": lock, **WAIT})
    assert not again["changed"]


def test_only_the_named_lock_is_broken(service: Service) -> None:
    lock = service.lock_of_another_computer(expires_in=250)
    refused = service.run("metal_cluster_lock", {"name": SCOPE, "state": "released", "unlock": "not-this-one", **WAIT})
    assert "there is no such lock. There is install.yml of alice@bastion" in refused["msg"]
    assert [each["id"] for each in service.locks] == [lock]


def test_check_mode_reports_a_lock_and_takes_none(service: Service) -> None:
    lock = service.lock_of_another_computer(expires_in=250)
    service.sandbox.forget()
    checked = service.run("metal_cluster_lock", {"name": SCOPE, "state": "free", "_ansible_check_mode": True})
    assert not checked["changed"]
    assert "Another run may be writing to contract.metal.test: install.yml of alice@bastion" in str(checked["warnings"])
    held = service.run("metal_cluster_lock", {"name": SCOPE, "state": "held", "_ansible_check_mode": True})
    assert "Another run writes to contract.metal.test" in held["msg"]
    assert [each["id"] for each in service.locks] == [lock]
    assert {each["method"] for each in service.sandbox.journal()} == {"GET"}


def test_a_quota_without_room_for_a_lock_fails_and_lock_false_goes_on(service: Service) -> None:
    service.sandbox.call("PUT", "settings", json={"quotas": {"virtual_networks": 0}})
    refused = service.run("metal_device_set", SET)
    assert "Cannot create the cluster lock of contract.metal.test: the API returned 422" in refused["msg"]
    assert "openshift_lock=false" in refused["msg"]
    assert "\n" not in refused["msg"]
    assert service.devices == []
    assert service.run("metal_device_set", {**SET, "cluster_lock": "none"})["changed"]
    assert len(service.devices) == 5


@pytest.mark.parametrize("writes", [False, True], ids=["before its first write", "while it writes"])
def test_the_lock_of_a_killed_module_is_taken_over_after_its_requests_ended(service: Service, writes: bool, tmp_path: Any) -> None:
    """A task of its own that is killed with ``kill -9`` while the service works on its orders: 2 s later they are carried out."""
    service.slow(2, "POST", ORDERS if writes else "/virtual-networks$")
    options = {**SET, "metal_api_timeout": 4}
    kill_a_set(service, options, tmp_path)
    result = service.run("metal_device_set", {**options, "wait_timeout": 120})
    assert not result.get("failed"), result
    assert Counter(device["hostname"] for device in service.devices) == dict.fromkeys(NAMES, 1)
    orders = [each for each in service.sandbox.journal() if each["method"] == "POST" and each["path"].endswith("/devices")]
    assert Counter(each["status"] for each in orders)[201] == 5
    assert service.locks == []


def test_a_set_without_changes_deletes_the_lock_of_a_killed_set(service: Service, tmp_path: Any) -> None:
    """What the killed one has ordered is carried out, so the next one writes nothing, and takes no lock of its own."""
    service.slow(2, "POST", ORDERS)
    options = {**SET, "machines": [machine(1)], "metal_api_timeout": 4}
    kill_a_set(service, options, tmp_path)
    until(lambda: service.devices)
    assert len(service.locks) == 1
    service.sandbox.forget()
    result = service.run("metal_device_set", {**options, "wait_timeout": 120})
    assert (result.get("msg"), result["changed"]) == (None, False)
    assert service.locks == []
    assert [each["method"] for each in service.sandbox.journal() if each["method"] != "GET"] == ["DELETE"]


def kill_a_set(service: Service, options: Mapping[str, Any], tmp_path: Any) -> None:
    """Start a set in a process of its own, and kill it when the service works on a request that is slow."""
    manner = f"Manner({str(tmp_path / 'said')!r}, dict(os.environ), False, None)"
    program = f"from tests.contract.programs import *; play_module({manner}, 'metal_device_set', {options!r})"
    (tmp_path / "said").touch()
    child = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, **service.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    try:
        fault = service.sandbox.call("GET", "faults")["faults"][0]["id"]
        until(lambda: next(each["hits"] for each in service.sandbox.call("GET", "faults")["faults"] if each["id"] == fault))
    finally:
        child.kill()
        child.wait()
