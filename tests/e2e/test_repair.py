"""Machines that are replaced: unhealthy ones by rule, a pool in turn; a cluster that is switched off and on; a worker that comes late. A
healthy one on request: test_install.py.

The tests build on each other's world, in this order.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE, PROVIDER
from sandbox.testing.observer import REQUESTS
from tests.e2e.harness import NAME, QUICK, Moment, Run, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SPEED = 600
MASTERS = ["master-0", "master-1", "master-2"]
WORKERS = ["worker-0", "worker-1", "worker-2"]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("repair"), speed=SPEED)
    with user.at_work():
        (user.inventory / "03-choices.yml").write_text(QUICK, encoding="utf-8")
        # A failed device stays in its project for longer than a test takes.
        user.sandbox.call("PUT", "settings", json={"durations": {"failed_visible": 360000}})
        user.edit_workers(len(WORKERS) - 1)
        user.play("install.yml", timeout=1800).ended_well()
        yield user


def ids(user: User) -> dict[str, str]:
    """Ids of the devices by short name."""
    return {device["hostname"].removesuffix(f".{NAME}"): str(device["id"]) for device in user.devices()}


def replace(user: User, *choices: str, check: bool = False, **arguments: Any) -> Run:
    given = [word for choice in choices for word in ("-e", choice)]
    return user.play("replace.yml", *given, *(["--check"] if check else []), timeout=1800, **arguments)


def changed_ids(before: dict[str, str], after: dict[str, str]) -> list[str]:
    assert before.keys() == after.keys()
    return sorted(name for name in before if before[name] != after[name])


def status(user: User, fail_on: str) -> tuple[int, list[str]]:
    """Run status.yml, which changes nothing; return its exit code and the machines with findings."""
    report = user.folder / "status.json"
    run = user.play("status.yml", "-e", f"openshift_status_file={report}", "-e", json.dumps({"openshift_status_fail_on": [fail_on]}))
    assert run.writes == []
    found = json.loads(report.read_text(encoding="utf-8"))["findings"]
    return run.code, sorted({finding["subject"].removesuffix(f".{NAME}") for finding in found if finding["group"] != "csrs"})


@pytest.mark.parametrize("playbook", ["scale.yml", "install.yml", "replace.yml"])
def test_a_renamed_device_is_refused_before_anything_is_ordered(user: User, playbook: str) -> None:
    """Host names are labels: the id of a device is its identity."""
    device = ids(user)["worker-1"]
    node = user.kube(f"/api/v1/nodes/worker-1.{NAME}")
    assert (node["metadata"]["annotations"][DEVICE], node["spec"]["providerID"]) == (device, f"{PROVIDER}{device}")
    user.ask("PUT", f"devices/{device}", json={"hostname": f"gpu-box-7.{NAME}"})
    try:
        chosen = "openshift_replace=worker-0" if playbook == "replace.yml" else "openshift_least_workers=1"
        run = user.play(playbook, "-e", chosen, timeout=1200)
        assert run.code not in {0, -9}, run.tail
        assert f"device {device} of node worker-1.{NAME} is named gpu-box-7.{NAME} at the Metal API" in run.flat
        assert [request for request in run.writes if "/devices" in request["path"]] == []
        assert ids(user)["gpu-box-7"] == device
        assert user.nodes() == [*MASTERS, *WORKERS]
    finally:
        user.ask("PUT", f"devices/{device}", json={"hostname": f"worker-1.{NAME}"})


def test_a_failed_device_is_reported_and_replaced(user: User) -> None:
    assert status(user, "any") == (0, [])
    before = ids(user)
    user.sandbox.call("POST", "faults", json={"hostname": f"worker-2.{NAME}", "times": 1, "body": "Memory test failed"})
    user.ask("POST", f"devices/{before['worker-2']}/actions", json={"type": "reinstall", "operating_system": "custom_ipxe"})
    until(lambda: user.ask("GET", f"devices/{before['worker-2']}")["state"] == "failed", what="worker-2 is failed")
    code, machines = status(user, "differences")
    assert (code, "worker-2" in machines) == (2, True)
    reported = user.play("scale.yml")
    assert reported.code != 0
    assert f"device_failed: worker-2.{NAME}: its device {before['worker-2']} is in the state failed. Replace it: " in reported.flat
    assert "ansible-playbook replace.yml -e openshift_replace=worker-2" in reported.flat
    assert changed_ids(before, ids(user)) == []

    run = user.play("scale.yml", "-e", "openshift_replace_not_ready_after=3600", "-e", "node_removal_unreachable_grace=1", timeout=1800)
    run.ended_well()
    assert changed_ids(before, ids(user)) == ["worker-2"]
    assert user.nodes() == [*MASTERS, *WORKERS]


def test_a_worker_whose_node_is_not_ready_is_replaced_after_the_time(user: User) -> None:
    """In the rescue system the device runs, and its kubelet does not."""
    before = ids(user)
    user.ask("POST", f"devices/{before['worker-0']}/actions", json={"type": "rescue"})
    until(lambda: user.nodes("Unknown") == ["worker-0"], within=240, what="worker-0 is unreachable")
    run = user.play("scale.yml", "-e", "openshift_replace_not_ready_after=1", "-e", "node_removal_unreachable_grace=1", timeout=1800)
    run.ended_well()
    assert f"node_not_ready: worker-0.{NAME}: its Node is not Ready (Ready=Unknown:" in run.flat
    assert changed_ids(before, ids(user)) == ["worker-0"]
    assert user.nodes() == [*MASTERS, *WORKERS]


@pytest.mark.parametrize("completed_by", ["replace.yml", "scale.yml"])
def test_an_interrupted_replacement_is_completed(user: User, completed_by: str) -> None:
    """The old device is deleted, and the new one is ordered or not."""
    before = ids(user)
    killed = replace(user, "openshift_replace=worker-1", kill=Moment("boot_files"))
    assert killed.cut
    until(lambda: not user.processes(), within=300, what="the modules of the killed run have ended")
    again = ["-e", "openshift_replace=worker-1"] if completed_by == "replace.yml" else []
    user.play(completed_by, *again, timeout=1800).ended_well()
    assert changed_ids(before, ids(user)) == ["worker-1"]
    assert user.nodes() == [*MASTERS, *WORKERS]


def test_a_pool_is_replaced_one_worker_after_the_other(user: User) -> None:
    before = ids(user)
    limit = max(device["created_at"] for device in user.devices())
    first = replace(user, "openshift_replace_pool=worker", "openshift_least_workers=2").ended_well()
    assert changed_ids(before, ids(user)) == WORKERS
    orders = [request for request in first.requests if request["method"] == "POST" and request["path"].endswith("/devices")]
    deletions = [request for request in first.requests if request["method"] == "DELETE" and "/devices/" in request["path"]]
    assert len(orders) == len(deletions) == len(WORKERS)
    times = sorted([(request["time"], "order") for request in orders] + [(request["time"], "delete") for request in deletions])
    assert [what for _time, what in times] == ["delete", "order"] * len(WORKERS)
    # All of them are newer than the newest device before the roll-out.
    after = ids(user)
    later = "openshift_replace_older_than=" + str(limit).replace("Z", "+00:00")
    again = replace(user, "openshift_replace_pool=worker", later).ended_well()
    assert changed_ids(after, ids(user)) == []
    assert again.writes == []


def test_a_cluster_is_stopped_and_started(user: User, tmp_path: Path) -> None:
    user.play("playbooks/stop.yml").refused("was installed", "To switch it off now, run with -e openshift_stop_min_age=0")
    user.play("playbooks/stop.yml", "-e", "openshift_stop_min_age=0").ended_well()
    assert {device["state"] for device in user.devices()} == {"inactive"}
    user.play("playbooks/stop.yml").changed_nothing()

    # Weeks pass: the certificates of all nodes expire. It is started by somebody else, in an empty folder.
    assert len(user.sandbox.call("POST", "days", json={"days": 40})["certificates"]) >= 2 * len([*MASTERS, *WORKERS])
    folder = tmp_path / "other"
    folder.mkdir()
    other = user.beside(folder)
    text = (user.cluster / "kubeconfig").read_text(encoding="utf-8")
    (folder / "given.json").write_text(json.dumps({"openshift_kubeconfig": text}), encoding="utf-8")
    check = other.play("playbooks/start.yml", "--check", "-e", "@given.json").ended_well()
    assert check.writes == []
    other.play("playbooks/start.yml", "-e", "@given.json", timeout=1800).ended_well()
    assert {device["state"] for device in user.devices()} == {"active"}
    assert user.nodes() == [*MASTERS, *WORKERS]
    assert not any(node["spec"].get("unschedulable") for node in user.kube("/api/v1/nodes")["items"])


def test_orphans_are_deleted_after_a_confirmation(user: User) -> None:
    tags = {"tags": ["openshift-cluster=old.metal.test", "openshift-role=worker"]}
    user.sandbox.call("POST", "devices", json={"count": 2, "hostname": "old", **tags})
    chosen = ("-e", "openshift_orphans_delete=old.metal.test")
    user.play("playbooks/orphans.yml", *chosen).refused("less than openshift_orphans_min_age (86400 s) ago")
    now = (*chosen, "-e", "openshift_orphans_min_age=0")
    user.play("playbooks/orphans.yml", *now).refused("run with -e openshift_orphans_confirm=old.metal.test")
    user.play("playbooks/orphans.yml", "-e", f"openshift_orphans_delete={NAME}").refused("Use destroy.yml")
    check = user.play("playbooks/orphans.yml", *now, "--check").ended_well()
    assert check.writes == []
    user.play("playbooks/orphans.yml", *now, "-e", "openshift_orphans_confirm=old.metal.test").ended_well()
    assert [name for name in ids(user) if name.startswith("old")] == []
    assert user.nodes() == [*MASTERS, *WORKERS]


def test_a_late_worker_needs_a_confirmation(user: User) -> None:
    """No approver ran when it filed its CSR, which is too old by now for a first CSR."""
    user.edit_workers(3)
    # At full speed the worker asks within a second of its installation, and no window is too short for it.
    user.sandbox.call("PUT", "settings", json={"speed": 120})
    user.play("scale.yml", kill=Moment("csr_approval"))
    until(lambda: any(not each.get("status", {}).get("conditions") for each in user.kube(REQUESTS)["items"]), what="worker-3 asks")
    user.sandbox.call("PUT", "settings", json={"speed": SPEED})
    late = user.play("playbooks/approve.yml", "-e", "openshift_join_window=1", "-e", "openshift_join_timeout=30")
    assert late.code != 0
    assert "the window is 1 s" in late.flat
    assert "worker-3" not in user.nodes()
    user.play("playbooks/approve.yml", "-e", "openshift_join_window=0", timeout=1200).ended_well()
    assert "worker-3" in user.nodes()
    # approve.yml leaves the boot server of the killed run to the next one.
    user.leaves_nothing()
