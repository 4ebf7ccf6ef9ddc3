"""Which control plane machine can be replaced, and what its replacement changes. With real APIs: tests/sandbox/openshift/test_etcd.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterUnreachableError, CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.pod_exec import Execution
from ansible_collections.equinix_metal.openshift.plugins.module_utils.etcd.members import (
    GUARD_OFF,
    REPLACING,
    Member,
    MemberRemoval,
    Operator,
    Replacement,
    membership_problems,
    poll_members,
    read_members,
    read_operator,
    record_replacement,
    removal_blockers,
)

IDLE = Operator(version="1", guarded=True, replacing=Replacement(), problem="")


def members(healthy: str, sick: str = "", learners: str = "") -> list[Member]:
    """Members of names of one letter."""
    found = [(name, False, True) for name in healthy] + [(name, False, False) for name in sick] + [(name, True, False) for name in learners]
    return [Member(f"{ord(name):x}", name, learner, is_healthy) for name, learner, is_healthy in found]


@pytest.mark.parametrize(
    ("given", "node", "blocked"),
    [
        (members("abc"), "b", ""),
        (members("ac", sick="b"), "b", ""),
        (members("ac"), "b", ""),
        (members("abcde"), "b", ""),
        (members("abcd"), "b", ""),
        (members("ab", sick="c"), "b", "lose its quorum: 1 of 3"),
        (members("a", sick="bc"), "b", "lose its quorum: 1 of 3"),
        (members("ab"), "b", "lose its quorum: 1 of 2"),
        (members("b"), "b", "the only etcd member"),
        (members("abcd", sick="e"), "b", "The etcd members of e are not healthy"),
        (members("abc", learners="d"), "b", ""),
    ],
)
def test_a_machine_is_replaced_only_while_the_others_are_a_healthy_majority(given: list[Member], node: str, blocked: str) -> None:
    blockers = removal_blockers(given, IDLE, [], node)
    if blocked:
        assert any(blocked in each for each in blockers), blockers
    else:
        assert blockers == []


def test_one_machine_is_replaced_at_a_time() -> None:
    other = Operator(version="1", guarded=False, replacing=Replacement("c", "device", "1"), problem="")
    (blocker,) = removal_blockers(members("abc"), other, [], "b")
    assert "replace.yml -e openshift_replace=c" in blocker
    assert removal_blockers(members("ab"), other, [], "c") == []


def test_the_other_nodes_have_to_be_ready() -> None:
    (blocker,) = removal_blockers(members("abc"), IDLE, ["b", "c"], "b")
    assert "c are not Ready" in blocker


@pytest.mark.parametrize(
    ("given", "problem", "expected"),
    [
        (members("abc"), "", []),
        (members("ab"), "", ["etcd has no member of c"]),
        (members("ab", learners="c"), "", ["etcd has no member of c"]),
        (members("ab", sick="c"), "", ["the etcd member of c is not healthy"]),
        (members("abcd"), "", ["etcd has a member of d, which is to be removed"]),
        (members("abc"), "rolling out", ["the etcd operator reports: rolling out"]),
    ],
)
def test_exactly_the_desired_nodes_have_healthy_members(given: list[Member], problem: str, expected: list[str]) -> None:
    assert membership_problems(given, Operator("1", guarded=True, replacing=Replacement(), problem=problem), "abc") == expected


class Cluster:
    """etcd pods that run etcdctl, and the resources that a replacement changes."""

    def __init__(
        self, given: Sequence[Member], *, pods: Sequence[str] = "abc", nodes: Sequence[str] = "abc", read_only: bool = False
    ) -> None:
        self.read_only = read_only
        self.members = list(given)
        self.pods = list(pods)
        self.names = list(nodes)
        self.secrets = [f"{kind}-{name}" for kind in ("etcd-peer", "etcd-serving", "etcd-serving-metrics") for name in "abc"]
        self.object: dict[str, Any] = {"metadata": {"resourceVersion": "7"}, "spec": {}}
        self.commands: list[tuple[str, list[str]]] = []
        self.refuse = ""
        self.lost: list[str] = []

    def add_origin(self, error: CollectionError) -> CollectionError:
        error.add_origin("GET /api/v1/namespaces/openshift-etcd/pods")
        return error

    def etcd(self) -> dict[str, Any] | None:
        return self.object

    def change_etcd(self, version: str, patch: dict[str, Any]) -> None:
        assert not self.read_only
        assert version == "7"
        annotations = patch["metadata"]["annotations"]
        self.object = {"metadata": {"resourceVersion": "7", "annotations": annotations}, "spec": patch["spec"]}

    def etcd_pods(self) -> list[dict[str, Any]]:
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {"labels": {"app": "etcd"}}
        guards = [{"metadata": {"name": "etcd-guard-a", "labels": {"app": "guard"}}, "spec": {"nodeName": "a"}, "status": ready}]
        down = [{"metadata": {"name": "etcd-down", **metadata}, "spec": {"nodeName": "down"}, "status": {"conditions": []}}]
        pods = [{"metadata": {"name": f"etcd-{name}", **metadata}, "spec": {"nodeName": name}, "status": ready} for name in self.pods]
        return [*guards, *down, *pods]

    def execute(self, namespace: str, pod: str, container: str, command: list[str], *, changes: bool = False) -> Execution:
        assert (namespace, container) == ("openshift-etcd", "etcdctl")
        assert not (changes and self.read_only)
        self.commands.append((pod, command))
        if pod in self.lost:
            raise ClusterUnreachableError(f"{pod} does not answer")
        if command[1:3] == ["member", "remove"]:
            if self.refuse:
                return Execution(1, "", f"Error: {self.refuse}\n")
            self.members = [each for each in self.members if each.id != command[3]]
            return Execution(0, "removed\n", "")
        if command[1:3] == ["endpoint", "health"]:
            answers = [{"endpoint": f"https://{each.name}:2379", "health": each.healthy} for each in self.members if not each.learner]
            return Execution(int(not all(each["health"] for each in answers)), json.dumps(answers), "Error: unhealthy cluster\n")
        listed = [
            {"ID": int(each.id, 16), "isLearner": True}
            if each.learner
            else {"ID": int(each.id, 16), "name": each.name, "clientURLs": [f"https://{each.name}:2379"]}
            for each in self.members
        ]
        return Execution(0, json.dumps({"members": listed}), "")

    def node(self, name: str) -> dict[str, Any] | None:
        return {"metadata": {"name": name}} if name in self.names else None

    def nodes(self) -> list[dict[str, Any]]:
        return [{"metadata": {"name": name, "labels": {"node-role.kubernetes.io/master": ""}}} for name in self.names]

    def etcd_secret(self, name: str) -> dict[str, Any] | None:
        return {"metadata": {"name": name}} if name in self.secrets else None

    def delete_etcd_secret(self, name: str) -> None:
        assert not self.read_only
        self.secrets.remove(name)


def poll_once(poll: Callable[[], list[str]]) -> list[str]:
    """Poll as a wait does: an API that does not answer is waited for."""
    try:
        return poll()
    except ClusterUnreachableError as problem:
        return [problem.message]


def removal(cluster: Cluster, node: str = "b", member: str | None = None) -> dict[str, Any]:
    result: dict[str, Any] = {}
    MemberRemoval(cluster, {"node": node, "id": member}, result).poll()  # type: ignore[arg-type]  # what it uses of a client
    return result


def record(cluster: Cluster, state: str, node: str = "b", device: str = "device") -> dict[str, Any]:
    result: dict[str, Any] = {"changed": False}
    record_replacement(cluster, {"node": node, "device": device, "state": state}, result)  # type: ignore[arg-type]  # same
    return result


def test_members_are_asked_for_elsewhere_than_on_the_node_to_remove() -> None:
    cluster = Cluster(members("abc"))
    assert read_members(cluster, avoid="a") == members("abc")  # type: ignore[arg-type]  # what it uses of a client
    assert {pod for pod, _command in cluster.commands} == {"etcd-b"}


def test_a_pod_that_does_not_answer_is_passed_over() -> None:
    cluster = Cluster(members("ac", sick="b"))
    cluster.lost = ["etcd-a", "etcd-b"]
    assert [each.healthy for each in read_members(cluster)] == [True, False, True]  # type: ignore[arg-type]  # what it uses of a client
    cluster.lost.append("etcd-c")
    with pytest.raises(ClusterUnreachableError, match="etcd-c does not answer"):
        read_members(cluster)  # type: ignore[arg-type]  # what it uses of a client


def test_without_a_ready_pod_there_is_a_reason() -> None:
    with pytest.raises(ClusterUnreachableError, match="no pod with the label app=etcd"):
        read_members(Cluster(members("abc"), pods=""))  # type: ignore[arg-type]  # what it uses of a client


def test_the_new_member_of_a_node_and_its_secrets_are_kept() -> None:
    """A continued run, after the new machine has joined: neither the member nor the secrets are the old ones."""
    cluster = Cluster(members("abc"))
    before = list(cluster.secrets)
    assert not removal(cluster, member="99")["changed"]
    assert not removal(cluster, member="")["changed"]
    assert cluster.secrets == before


def test_a_member_is_not_removed_from_a_minority() -> None:
    with pytest.raises(CollectionError, match="no quorum"):
        removal(Cluster(members("a", sick="bc")))
    with pytest.raises(CollectionError, match="it is that of c"):
        removal(Cluster(members("abc")), member=members("c")[0].id)


def test_a_refusal_of_etcd_is_an_error_with_its_text() -> None:
    cluster = Cluster(members("abc"))
    cluster.refuse = "etcdserver: unhealthy cluster"
    result: dict[str, Any] = {}
    with pytest.raises(CollectionError, match="etcdserver: unhealthy cluster"):
        MemberRemoval(cluster, {"node": "b", "id": None}, result).poll()  # type: ignore[arg-type]  # same
    assert (result["changed"], result["removed"]) == (False, "")


def test_a_removal_and_its_secrets_are_one_result_also_after_lost_answers() -> None:
    class LosesAnswers(Cluster):
        """Removes the member, and returns no answer."""

        def execute(self, *arguments: Any, changes: bool = False) -> Execution:
            done = super().execute(*arguments, changes=changes)
            if changes:
                raise ClusterUnreachableError("no answer")
            return done

    cluster, result = LosesAnswers(members("abc"), nodes="ac"), dict[str, Any]()
    member = MemberRemoval(cluster, {"node": "b", "id": None}, result)  # type: ignore[arg-type]  # same
    assert poll_once(member.poll) == ["no answer"]
    assert not result["changed"]
    assert poll_once(member.poll) == []
    assert (result["removed"], len(result["deleted_secrets"])) == (members("b")[0].id, 3)


def test_a_member_that_is_gone_meanwhile_is_removed() -> None:
    """An earlier removal without an answer may take effect after the members were read again."""
    cluster = Cluster(members("abc"), nodes="ac")
    cluster.refuse = "etcdserver: member not found"
    assert removal(cluster)["removed"] == members("b")[0].id
    assert not any(name.endswith("-b") for name in cluster.secrets)


def test_the_guard_is_on_after_a_failure_and_the_record_stays() -> None:
    cluster = Cluster(members("abc"))
    begun = record(cluster, "started")
    suspended = record(cluster, "suspended")
    assert (suspended["changed"], suspended["quorum_guard"], suspended["replacing"]) == (True, True, begun["replacing"])
    assert cluster.object["spec"]["unsupportedConfigOverrides"] == {GUARD_OFF: None}
    assert not record(cluster, "suspended")["changed"]
    with pytest.raises(CollectionError, match="openshift_replace=b"):
        record(cluster, "started", node="c")
    finished = record(cluster, "finished")
    assert (finished["changed"], finished["replacing"]) == (True, None)
    assert cluster.object["metadata"]["annotations"] == {REPLACING: None}
    assert not record(cluster, "finished")["changed"]


def test_a_malformed_record_is_none() -> None:
    for text in ("not JSON", "[]", '{"node": 3}'):
        assert read_operator({"metadata": {"annotations": {REPLACING: text}}}).replacing == Replacement()


def test_the_operator_s_problems_are_read() -> None:
    conditions = [
        {"type": "EtcdMembersAvailable", "status": "True", "message": "3 members are available"},
        {"type": "EtcdMembersDegraded", "status": "True", "message": "2 of 3 members are available"},
    ]
    assert read_operator({"status": {"conditions": conditions}}).problem == "2 of 3 members are available"


def test_nothing_is_decided_without_what_it_depends_on() -> None:
    def blockers(cluster: Cluster) -> str:
        (text,) = poll_once(lambda: poll_members(cluster, {"members": [], "removal_of": "b"}, {}))  # type: ignore[arg-type]  # same
        return text

    assert "lists no control plane node" in blockers(Cluster(members("abc"), nodes=""))
    without_record = Cluster(members("abc"))
    without_record.etcd = lambda: None  # type: ignore[method-assign]  # as one of a cluster that has no such resource
    assert "no resource etcd/cluster" in blockers(without_record)


def test_an_empty_list_of_members_deletes_no_secrets() -> None:
    cluster = Cluster([], nodes="ac")
    before = list(cluster.secrets)
    with pytest.raises(ClusterUnreachableError, match="etcdctl lists none"):
        removal(cluster)
    assert cluster.secrets == before
