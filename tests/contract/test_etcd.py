"""The modules of etcd: commands in its pods, what etcd refuses, and backups that do not end well."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.openshift import backup, etcdctl
from sandbox.openshift.etcd import MembershipError
from sandbox.openshift.etcdctl import Completed
from tests.cluster.control_plane import NODES
from tests.contract.environment import run
from tests.contract.etcd import ETCDS, LOST, MASTERS, NAMESPACE, UP, backups_left, lay_etcd, members_left, replacement_recorded
from tests.contract.subjects import CLUSTER_REQUESTS, Testbed


def options(testbed: Testbed, *addresses: str, **more: Any) -> dict[str, Any]:
    reach = {"kubeconfig": str(testbed.cluster.kubeconfig), "api_addresses": [*addresses], "wait_timeout": 30, "wait_interval": 0.1}
    return {**reach, **more}


def test_a_removal_without_an_answer_is_not_sent_to_another_address(testbed: Testbed) -> None:
    """Its effect is unknown: etcd would refuse the second, which would be an error though the member is removed."""
    lay_etcd(testbed)
    front = testbed.cluster_front
    front.forget()
    front.meet({**CLUSTER_REQUESTS["remove"], "cut": "after", "times": 1})
    try:
        result = run("etcd_member", options(testbed, front.address, front.address, node=LOST[0]), testbed.environment)
    finally:
        front.well()
    assert not result.get("failed"), result
    assert (result["changed"], len(list(testbed.machines.etcd))) == (True, 4)
    assert len([each for each in front.journal() if "command=remove" in each["path"]]) == 1


class Modules:
    """Three control plane machines, two lost ones, and the modules of etcd."""

    def __init__(self, testbed: Testbed) -> None:
        lay_etcd(testbed)
        self.testbed = testbed
        self.etcd = testbed.machines.etcd

    def run(self, module: str, **given: Any) -> dict[str, Any]:
        address = self.testbed.cluster_front.address
        return run(module, options(self.testbed, address, **{"wait": False, **given}), self.testbed.environment)

    def id_of(self, node: str) -> str:
        return next(member.hex_id for member in self.etcd if member.name == node)


@pytest.fixture
def modules(testbed: Testbed) -> Iterator[Modules]:
    yield Modules(testbed)
    testbed.cluster_front.well()


def test_a_pod_that_does_not_answer_is_passed_over(modules: Modules) -> None:
    front = modules.testbed.cluster_front
    front.meet({"method": "GET", "path": f"/etcd-{UP[0]}/exec", "cut": "before"})
    assert [each["name"] for each in modules.run("etcd_info")["members"] if each["healthy"]] == [*UP]
    front.meet({"method": "GET", "path": "/exec", "cut": "before"})
    assert "Cannot run etcdctl member list" in modules.run("etcd_info")["msg"]
    for name in UP:
        modules.testbed.cluster.end_pod(f"etcd-{name}", NAMESPACE)
    assert "no pod with the label app=etcd" in modules.run("etcd_info")["msg"]


@pytest.mark.parametrize("member", ["99", ""])
def test_the_new_member_of_a_node_and_its_secrets_are_kept(modules: Modules, member: str) -> None:
    """A continued run, after the new machine has joined: neither the member nor the secrets are the old ones."""
    modules.testbed.cluster_front.forget()
    assert not modules.run("etcd_member", node=UP[0], id=member)["changed"]
    assert members_left(modules.testbed) == {"members": [*MASTERS], "secrets": [*MASTERS]}
    asked = [each["path"] for each in modules.testbed.cluster_front.journal() if "/exec" in each["path"]]
    assert asked
    assert not any(f"/etcd-{UP[0]}/" in path for path in asked), "others are asked for the members"


def test_a_member_of_another_node_is_not_removed(modules: Modules) -> None:
    assert f"it is that of {UP[0]}" in modules.run("etcd_member", node=LOST[0], id=modules.id_of(UP[0]))["msg"]
    assert "no quorum" in modules.run("etcd_member", node=UP[0])["msg"]
    assert members_left(modules.testbed)["members"] == [*MASTERS]


@pytest.mark.parametrize(("answer", "removed"), [("unhealthy cluster", False), ("member not found", True)])
def test_a_refusal_of_etcd_is_an_error_unless_the_member_is_gone_meanwhile(
    modules: Modules, answer: str, removed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier removal without an answer may take effect after the members were read again."""

    def refuse(*_arguments: Any) -> None:
        raise MembershipError(f"etcdserver: {answer}")

    monkeypatch.setattr(modules.etcd, "remove", refuse)
    result = modules.run("etcd_member", node=LOST[0])
    assert result["changed"] is removed
    assert result["removed"] == (modules.id_of(LOST[0]) if removed else "")
    assert (LOST[0] not in members_left(modules.testbed)["secrets"]) is removed
    assert removed or f"etcdserver: {answer}" in result["msg"]


def test_an_empty_list_of_members_deletes_no_secrets(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcdctl, "run", lambda *_arguments: Completed(0, '{"members": []}'))
    assert "etcdctl lists none" in modules.run("etcd_member", node=LOST[0])["msg"]
    assert members_left(modules.testbed)["secrets"] == [*MASTERS]


def test_nothing_is_decided_without_what_it_depends_on(modules: Modules) -> None:
    cluster = modules.testbed.cluster
    for name in UP:
        node = cluster.call("GET", f"{NODES}/{name}").json()
        del node["metadata"]["labels"]["node-role.kubernetes.io/master"]
        cluster.call("PUT", f"{NODES}/{name}", node).raise_for_status()
    assert "lists no control plane node" in modules.run("etcd_info", removal_of=LOST[0])["msg"]
    cluster.call("DELETE", f"{ETCDS}/cluster").raise_for_status()
    assert "no resource etcd/cluster" in modules.run("etcd_info", removal_of=LOST[0])["msg"]


def test_the_guard_is_on_after_a_failure_and_the_record_stays(modules: Modules) -> None:
    recorded = {"node": LOST[0], "device": "old", "member": LOST[0]}
    for state, found in (
        ("started", {"replacing": recorded, "quorum_guard": False}),
        ("suspended", {"replacing": recorded, "quorum_guard": True}),
        ("finished", {"replacing": None, "quorum_guard": True}),
    ):
        assert [modules.run("etcd_replacement", node=LOST[0], device="old", state=state)["changed"] for _twice in range(2)] == [True, False]
        assert replacement_recorded(modules.testbed) == found
        if state == "suspended":
            other = modules.run("etcd_replacement", node=LOST[1], device="other")
            assert f"openshift_replace={LOST[0]}" in other["msg"]


@pytest.mark.parametrize("force", [False, True])
def test_a_failed_script_is_an_error_that_names_the_option_to_force(modules: Modules, force: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def refuse(pod: dict[str, Any], *_arguments: Any, **_named: Any) -> None:
        commands.append(pod["spec"]["containers"][0]["command"])
        raise backup.BackupError("Currently the kube-apiserver operator is in progressing state")

    monkeypatch.setattr(backup, "run", refuse)
    result = modules.run("etcd_backup", directory="/backup", force=force, wait=True)
    assert "in progressing state" in result["msg"]
    assert ("openshift_etcd_backup_force=true" in result["msg"]) is not force
    assert commands == [["chroot", "/host", "/usr/local/bin/cluster-backup.sh", *(["--force"] if force else []), "/backup"]]
    assert backups_left(modules.testbed) == {"backups": 0, "pods": 1}, "its pod has the log"
