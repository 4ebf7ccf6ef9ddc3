"""One round of approving, with a cluster that answers by a script: what is sent, in which order, and what is reported."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    ClusterConflictError,
    ClusterError,
    ClusterRefusedError,
    ClusterUnreachableError,
    CollectionError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining import approval as joining_file
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.approval import Joining
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import assess
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.watch import Backoff

from . import csr_cases as cases
from .csr_cases import OTHER, WORKER, client, key, made
from .test_csr import NOW, node, rules

FORBIDDEN = ClusterRefusedError("Cannot decide on it: 403", 403)
LOST = ClusterUnreachableError("Cannot decide on it: no answer")


class Cluster:
    """A cluster's API: requests and Nodes as they are, and what becomes of an answer by the name of its request."""

    read_only = False

    def __init__(self, *requests: dict[str, Any], nodes: tuple[dict[str, Any], ...] = ()) -> None:
        self.requests = {obj["metadata"]["name"]: obj for obj in requests}
        self.there = {obj["metadata"]["name"]: obj for obj in nodes}
        self.failing: dict[str, ClusterError] = {}
        self.unreadable: dict[str, ClusterError] = {}
        self.answers: list[str] = []
        self.kept: dict[str, str] = {}

    def certificate_requests(self) -> Iterator[tuple[list[dict[str, Any]], str]]:
        yield list(self.requests.values()), "100"

    def certificate_request(self, name: str) -> dict[str, Any] | None:
        return self.requests.get(name)

    def nodes(self) -> Iterator[dict[str, Any]]:
        yield from self.there.values()

    def node(self, name: str) -> dict[str, Any] | None:
        if name in self.unreadable:
            raise self.unreadable[name]
        return self.there.get(name)

    def now(self) -> datetime:
        return NOW

    def answer(self, _kind: str, name: str, **_named: Any) -> None:
        self.answers.append(name)
        if name in self.failing:
            raise self.failing[name]

    def change_node(self, name: str, uid: str, patch: dict[str, Any]) -> None:
        assert not self.read_only
        self.answers.append(f"label {name}")
        if name in self.failing:
            raise self.failing[name]
        metadata = self.there[name]["metadata"]
        assert uid == metadata["uid"]
        metadata["labels"] = {**metadata.get("labels", {}), **patch["metadata"]["labels"]}

    def history(self, name: str) -> dict[str, str]:
        return dict(self.kept)

    def keep_history(self, name: str, texts: dict[str, str]) -> None:
        self.kept |= texts


def joining(cluster: Cluster, history: str = "", **changes: Any) -> Joining:
    return Joining(cluster, rules(**changes), node_interval=0.0, history=history)  # type: ignore[arg-type]


def two() -> Cluster:
    return Cluster(client(name="bad"), client(made(f"system:node:{OTHER}"), name="good"))


@pytest.mark.parametrize("problem", [FORBIDDEN, LOST, ClusterRefusedError("500", 500), ClusterConflictError("409", 409)])
def test_a_failure_is_reported_for_its_csr(problem: ClusterError) -> None:
    cluster = two()
    cluster.failing["bad"] = problem
    found = joining(cluster)
    texts = found.poll()
    assert any(text.startswith(f"{WORKER}: it has not joined, bad stays pending: could not approve bad") for text in texts), texts
    assert (found.result()["approved"], found.result()["changed"]) == (["good"], True)
    assert next(notice.text for notice in found.notices() if notice.level == "warning").startswith(f"could not approve bad of {WORKER}")
    once = joining(cluster)
    with pytest.raises(CollectionError, match="could not approve bad"):
        once.poll(patient=False)
    assert once.result()["approved"] == ["good"]


@pytest.mark.parametrize("problem", [LOST, ClusterRefusedError("503", 503)])
def test_a_node_that_cannot_be_read_delays_its_own_csr_alone(problem: ClusterError) -> None:
    cluster = two()
    cluster.unreadable[WORKER] = problem
    found = joining(cluster)
    texts = found.poll()
    assert any(text.startswith(f"{WORKER}: it has not joined, bad stays pending: could not approve bad") for text in texts), texts
    result = found.result()
    assert result["approved"] == cluster.answers == ["good"]
    assert {each["name"]: each["verdict"] for each in result["verdicts"]} == {"bad": "pending", "good": "approved"}
    cluster.unreadable.clear()
    if problem is LOST:
        found.poll()
        assert found.approved == ["good", "bad"]


POOL = {"node-role.kubernetes.io/storage": "", "team": "one"}


def labelled_cluster(**changes: Any) -> tuple[Cluster, Joining]:
    """A cluster whose only Node is not Ready yet, and a machine that has labels."""
    there = node(ready=False)
    there["metadata"] |= {"uid": "uid-1", "labels": {"team": "one", "other": "x"}}
    cluster = Cluster(nodes=(there,))
    machines = [{"name": WORKER, "addresses": [], "created_at": cases.CREATED, "labels": POOL}]
    return cluster, joining(cluster, machines=machines, **changes)


def test_a_node_gets_the_label_of_its_pool_before_it_can_be_ready() -> None:
    cluster, found = labelled_cluster()
    (text,) = found.poll()
    assert text.startswith(f"{WORKER}: its node is not Ready")
    assert cluster.there[WORKER]["metadata"]["labels"] == {**POOL, "other": "x"}
    assert (found.result()["labelled"], found.result()["changed"]) == ([WORKER], True)
    # Once: what an administrator changes is not changed back, and a run that finds the labels writes nothing.
    del cluster.there[WORKER]["metadata"]["labels"]["team"]
    found.poll()
    assert cluster.answers == [f"label {WORKER}"]
    cluster.there[WORKER]["metadata"]["labels"]["team"] = "one"
    again = joining(cluster, machines=[{"name": WORKER, "addresses": [], "created_at": cases.CREATED, "labels": POOL}])
    again.poll()
    assert (again.result()["labelled"], again.result()["changed"], len(cluster.answers)) == ([], False, 1)


def test_check_mode_labels_no_node() -> None:
    cluster, found = labelled_cluster()
    cluster.read_only = True
    found.poll()
    assert (found.result()["labelled"], cluster.answers) == ([WORKER], [])


def test_a_node_of_an_earlier_machine_gets_no_label() -> None:
    cluster, found = labelled_cluster()
    cluster.there[WORKER]["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    found.poll()
    assert (found.result()["labelled"], cluster.answers) == ([], [])


def test_refused_labels_are_reported_and_sent_again() -> None:
    cluster, found = labelled_cluster()
    cluster.failing[WORKER] = FORBIDDEN
    found.poll()
    assert any("has not got its labels yet" in notice.text for notice in found.notices())
    del cluster.failing[WORKER]
    found.poll()
    assert (found.result()["labelled"], len(cluster.answers)) == ([WORKER], 2)


def test_a_node_whose_label_is_not_answered_keeps_no_other_from_its_own() -> None:
    """Such as by a webhook that fails: the answers 500 and 503 count as none."""
    cluster, _found = labelled_cluster()
    cluster.there[OTHER] = {**node(ready=False), "metadata": {**node()["metadata"], "name": OTHER, "uid": "uid-2"}}
    names = sorted((WORKER, OTHER))
    found = joining(cluster, machines=[{"name": name, "addresses": [], "created_at": cases.CREATED, "labels": POOL} for name in names])
    cluster.failing[names[0]] = LOST
    assert len(found.poll()) == 2, "both are waited for"
    found.poll()
    assert found.result()["labelled"] == [names[1]]


def test_an_unanswered_approval_is_retried_at_the_next_poll() -> None:
    cluster = Cluster(client(name="bad"))
    cluster.failing["bad"] = LOST
    found = joining(cluster)
    found.poll()
    assert cluster.answers == ["bad"], "once a poll"
    del cluster.failing["bad"]
    found.poll()
    assert found.result()["approved"] == ["bad"]


def test_approvals_are_sent_before_denials_and_a_failed_denial_again(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = [client(made("system:node:x"), name=f"x-{number}") for number in range(3)]
    cluster = Cluster(*foreign, client(name="good"))
    cluster.failing["x-1"] = FORBIDDEN
    found = joining(cluster, deny_refused=True)
    found.poll()
    assert cluster.answers[0] == "good"
    assert (found.denied, [entry["name"] for entry in found.result()["refused"]]) == (["x-0", "x-2"], ["x-0", "x-1", "x-2"])
    assert "could not deny x-1" in next(entry["reason"] for entry in found.result()["refused"] if entry["name"] == "x-1")
    del cluster.failing["x-1"]
    now = time.monotonic()
    monkeypatch.setattr(f"{joining_file.__name__}.time", SimpleNamespace(monotonic=lambda: now + 10))
    found.poll()
    assert sorted(found.denied) == ["x-0", "x-1", "x-2"]


def test_a_refused_watch_is_reported_only_with_a_refused_list() -> None:
    found = joining(Cluster(client()))
    found.poll()
    refused = ClusterRefusedError("Cannot list the certificate requests: 403", 403)
    for _time in range(3):
        found._apply(("all", []))
        found._apply(refused)
        found.poll()
    found._apply(refused)
    # What the thread that lists the Nodes wakes a sleeper with says nothing of the requests.
    found._apply(("there", []))
    with pytest.raises(ClusterRefusedError, match="403"):
        found.poll()
    found._apply(("all", []))
    found.poll()


def test_a_kubelet_restarted_in_the_same_second_is_approved() -> None:
    """An answer changes the version of its request, which is no sign of its age."""
    cluster = Cluster(client(made(signed_with=key("a")), name="a", version="100"))
    found = joining(cluster, second_key_after=0)
    found.poll()
    assert found.approved == ["a"]
    approved = {
        "conditions": [{"type": "Approved", "status": "True", "lastUpdateTime": NOW.astimezone(UTC).isoformat()}],
        "certificate": "eA==",
    }
    later = client(made(signed_with=key("b")), name="b", version="101")
    changed = client(made(signed_with=key("a")), name="a", version="105", status=approved)
    found._apply(("there", [assess(changed, rules()), assess(later, rules())]))
    found.poll()
    assert found.approved == ["a", "b"]


def test_pauses_grow_to_a_limit_and_begin_anew() -> None:
    backoff = Backoff(chance=lambda: 0.0)
    pauses = [backoff.pause() for _each in range(8)]
    assert pauses[:4] == [0.8, 1.6, 3.2, 6.4]
    assert pauses[-1] == Backoff.LONGEST
    backoff.reset()
    assert backoff.pause() == 0.8
    assert max(Backoff(chance=lambda: 1.0).pause() for _each in range(8)) <= Backoff.LONGEST * 1.5
