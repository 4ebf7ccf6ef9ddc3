"""Replacement of control plane machines: a healthy one, a lost one, and an interrupted run.

In one cluster, in this order: each test goes on from where the one before left it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.harness import NAME, Moment, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SPEED = 1200
MASTERS = [f"master-{number}" for number in range(3)]
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
RECORD = "equinix-metal.openshift/replacing"
GUARD_OFF = "useUnsupportedUnsafeNonHANonProductionUnstableEtcd"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("control-plane"), speed=SPEED)
    with user.at_work():
        user.play("install.yml", timeout=2400).ended_well()
        yield user
        user.leaves_nothing(timeout=1800)


def replace(user: User, name: str, *arguments: str, **more: Any) -> Any:
    return user.play("replace.yml", "-e", f"openshift_replace={name}", *arguments, timeout=2400, **more)


def ids(user: User) -> dict[str, str]:
    """Return the id of the device of each master, by short name."""
    return {name: device["id"] for device in user.devices() if (name := device["hostname"].removesuffix(f".{NAME}")) in MASTERS}


def guard_and_record(user: User) -> tuple[bool, Any]:
    """Return whether the quorum guard is on, and the replacement that is recorded."""
    operator = user.kube(ETCD)
    overrides = (operator["spec"].get("unsupportedConfigOverrides") or {}).get(GUARD_OFF)
    recorded = (operator["metadata"].get("annotations") or {}).get(RECORD)
    return overrides is not True, json.loads(recorded) if recorded else None


def condition(user: User, kind: str) -> tuple[str, str]:
    found = next(each for each in user.kube(ETCD)["status"]["conditions"] if each["type"] == kind)
    return found["status"], found.get("message", "")


def other_than_the_kubeconfig_names(user: User) -> str:
    """Return a master that is not the one whose address the tests ask."""
    asked = yaml.safe_load((user.cluster / "kubeconfig").read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    return next(name for name in MASTERS if f"//{address_of(user, name)}:" not in asked)


def address_of(user: User, name: str) -> str:
    device = next(each for each in user.devices() if each["hostname"] == f"{name}.{NAME}")
    return str(next(each["address"] for each in device["ip_addresses"] if each["public"] and each["address_family"] == 4))


def assert_complete(user: User, before: dict[str, str], *replaced: str) -> None:
    """The named masters have other devices, everything else is as it was, and the cluster is whole."""
    after = ids(user)
    assert {name for name in MASTERS if after[name] != before[name]} == set(replaced)
    assert set(MASTERS) <= set(user.nodes())
    assert guard_and_record(user) == (True, None)
    assert condition(user, "EtcdMembersAvailable") == ("True", "3 members are available")
    addresses = {name: address_of(user, name) for name in MASTERS}
    records = user.names_in_zone()
    masters = sorted(addresses.values())
    assert records[f"api.{NAME}. A"] == records[f"api-int.{NAME}. A"] == masters
    for name in MASTERS:
        assert records[f"{name}.{NAME}. A"] == [addresses[name]]


def test_a_healthy_machine_is_replaced_and_in_check_mode_nothing_is_changed(user: User) -> None:
    before = ids(user)
    run = replace(user, "master-1", "--check", "--diff").ended_well()
    assert f"Would replace master-1.{NAME}" in run.output
    assert run.writes == []
    assert_complete(user, before)
    replace(user, "master-1").ended_well()
    assert_complete(user, before, "master-1")
    # Nothing is left to do for the playbooks that compare the inventory with what exists.
    user.play("scale.yml").changed_nothing()


def test_an_interrupted_replacement_is_completed(user: User) -> None:
    """Killed when the member is removed and before another device is ordered: the guard is off then, and the record is there."""
    before = ids(user)
    cut = replace(user, "master-2", kill=Moment("provision"))
    assert cut.cut
    guard, record = guard_and_record(user)
    assert not guard
    assert record["node"] == f"master-2.{NAME}"
    assert record["device"] == before["master-2"]
    refused = replace(user, "master-0")
    assert refused.code != 0
    assert "replace.yml -e openshift_replace=master-2" in refused.output
    run = replace(user, "master-2").ended_well()
    assert "Continuing to replace" in run.output
    assert_complete(user, before, "master-2")


def test_a_run_that_fails_switches_the_guard_on(user: User) -> None:
    """No server is left for the new device. The next run, with one, orders it."""
    before, lost = ids(user), other_than_the_kubeconfig_names(user)
    user.ask("DELETE", f"devices/{before[lost]}")
    until(lambda: condition(user, "EtcdMembersDegraded")[0] == "True", what="the member of the lost machine is reported")
    fault = {"method": "POST", "path": "/devices(/batch)?$", "status": 422, "body": {"errors": ["The plan is not available"]}}
    user.sandbox.call("POST", "faults", json=fault)
    failed = replace(user, lost)
    user.sandbox.call("DELETE", "faults")
    assert failed.code != 0
    guard, record = guard_and_record(user)
    assert guard
    assert record["node"] == f"{lost}.{NAME}"
    assert record["device"] == ""
    replace(user, lost).ended_well()
    assert_complete(user, before, lost)
