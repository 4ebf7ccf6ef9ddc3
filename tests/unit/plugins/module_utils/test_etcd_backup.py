"""A backup of etcd: where it is made, and how its end is read. With a cluster: tests/sandbox/openshift/test_etcd.py."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    ClusterConflictError,
    ClusterUnreachableError,
    CollectionError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.etcd.backup import Backup
from tests.unit.plugins.module_utils.test_etcd import Cluster, members, poll_once


class Machines(Cluster):
    """A cluster that runs the pod of a backup."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.created: dict[str, dict[str, Any]] = {}
        self.status: dict[str, Any] = {"phase": "Running"}
        self.conflict = False
        self.failing = 0
        """How many of the next writes have no answer, and no effect."""

    def etcd_pods(self) -> list[dict[str, Any]]:
        found = super().etcd_pods()
        for pod in found:
            pod["spec"]["containers"] = [{"name": "etcdctl", "image": f"image-of-{pod['spec']['nodeName']}"}]
        return found

    def create_etcd_pod(self, body: dict[str, Any]) -> None:
        assert not self.read_only
        self._fail()
        self.created[body["metadata"]["name"]] = body
        if self.conflict:
            raise ClusterConflictError("it exists", 409)

    def etcd_pod(self, name: str) -> dict[str, Any] | None:
        return {**self.created[name], "status": self.status} if name in self.created else None

    def delete_etcd_pod(self, name: str) -> None:
        self._fail()
        del self.created[name]

    def _fail(self) -> None:
        if self.failing:
            self.failing -= 1
            raise ClusterUnreachableError("no answer")


def start(cluster: Machines, *, not_on: str = "", force: bool = False) -> tuple[Backup, dict[str, Any]]:
    result: dict[str, Any] = {"changed": False}
    params = {"directory": "/backup", "not_on": list(not_on), "force": force}
    return Backup(cluster, params, result), result  # type: ignore[arg-type]  # what it uses of a client


def test_a_failed_script_is_an_error_and_its_pod_is_kept() -> None:
    cluster = Machines(members("abc"))
    cluster.status = {
        "phase": "Failed",
        "containerStatuses": [{"state": {"terminated": {"exitCode": 1, "message": "No space left on device"}}}],
    }
    backup, _result = start(cluster)
    with pytest.raises(CollectionError, match="No space left on device"):
        poll_once(backup.poll)
    assert cluster.created


@pytest.mark.parametrize("force", [False, True])
def test_a_refusal_during_a_rollout_names_the_option_to_force(*, force: bool) -> None:
    cluster = Machines(members("abc"))
    refusal = "Currently the kube-apiserver operator is in progressing state, please reconcile before attempting a backup"
    cluster.status = {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 1, "message": refusal}}}]}
    backup, _result = start(cluster, force=force)
    with pytest.raises(CollectionError, match="in progressing state") as problem:
        poll_once(backup.poll)
    assert ("openshift_etcd_backup_force=true" in problem.value.message) is not force
    pod = next(iter(cluster.created.values()))
    command = pod["spec"]["containers"][0]["command"]
    assert command == ["chroot", "/host", "/usr/local/bin/cluster-backup.sh", *(["--force"] if force else []), "/backup"]


def test_without_another_healthy_member_there_is_no_backup() -> None:
    backup, _result = start(Machines(members("b", sick="ac")), not_on="b")
    with pytest.raises(CollectionError, match="no control plane node besides b has a healthy member"):
        poll_once(backup.poll)


def test_check_mode_creates_no_pod() -> None:
    cluster = Machines(members("abc"), read_only=True)
    backup, result = start(cluster)
    assert backup.poll() == []
    assert (result["changed"], result["node"], cluster.created) == (True, "a", {})


def test_a_pod_whose_creation_was_not_answered_is_followed() -> None:
    cluster = Machines(members("abc"))
    cluster.conflict = True
    backup, _result = start(cluster)
    assert len(poll_once(backup.poll)) == 1


def test_a_deleted_pod_is_an_error() -> None:
    cluster = Machines(members("abc"))
    backup, _result = start(cluster)
    poll_once(backup.poll)
    cluster.created.clear()
    assert "returns no pod" in poll_once(backup.poll)[0]
    with pytest.raises(CollectionError, match="was deleted before it had ended"):
        poll_once(backup.poll)


def test_a_pod_that_was_not_created_is_created_by_the_next_poll() -> None:
    cluster = Machines(members("abc"))
    backup, result = start(cluster)
    cluster.failing = 1
    assert poll_once(backup.poll) == ["no answer"]
    (text,) = poll_once(backup.poll)
    [name] = list(cluster.created)
    assert text == f"the backup of etcd on a runs: pod openshift-etcd/{name} is Running"
    assert (result["changed"], result["node"]) == (True, "a")


@pytest.mark.parametrize("deleted", [False, True])
def test_a_backup_whose_pod_was_deleted_without_an_answer_is_complete(*, deleted: bool) -> None:
    cluster = Machines(members("abc"))
    backup, _result = start(cluster)
    assert "is Running" in poll_once(backup.poll)[0]
    cluster.status = {"phase": "Succeeded"}
    cluster.failing = 1
    assert poll_once(backup.poll) == ["no answer"]
    if deleted:
        cluster.created.clear()
    assert poll_once(backup.poll) == []
    assert cluster.created == {}


def test_a_machine_whose_pod_is_not_listed_is_waited_for() -> None:
    cluster = Machines(members("abc"))
    backup, _result = start(cluster, not_on="ab")
    cluster.pods = ["a", "b"]
    assert "no etcd pod is listed on c" in poll_once(backup.poll)[0]
