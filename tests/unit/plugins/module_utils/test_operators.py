"""When a cluster has got where it is wanted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils._csr import NodeState
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils._operators import CONDITIONS, View, operator_facts, version_of

NOW = datetime(2026, 3, 1, 12, 0, 40, tzinfo=UTC)
LONG_AGO, JUST_NOW = "2026-03-01T11:00:00Z", "2026-03-01T12:00:30Z"


def condition(kind: str, status: str, *, since: Any = LONG_AGO, message: str = "told") -> dict[str, Any]:
    return {"type": kind, "status": status, "lastTransitionTime": since, "message": message}


def operator(name: str = "ingress", **conditions: Any) -> dict[str, Any]:
    states = {"Available": "True", "Progressing": "False", "Degraded": "False", **conditions}
    listed = [item if isinstance(item, dict) else condition(kind, item) for kind, item in states.items() if item]
    return {"metadata": {"name": name}, "status": {"conditions": listed}}


def version(**conditions: Any) -> dict[str, Any]:
    found = operator("version", **{"Failing": "False", "Degraded": None, **conditions})
    found["status"]["desired"] = {"version": "4.20.33"}
    return found


def missing(kind: str, **seen: Any) -> list[str]:
    return CONDITIONS[kind](View(now=NOW, **seen))


@pytest.mark.parametrize(
    ("status", "etcd", "word"),
    [
        (None, None, "has not reported"),
        ({"data": {"status": "progressing"}}, None, "'progressing'"),
        ({"data": None}, None, "None"),
        ({"data": {"status": "complete"}}, None, ""),
        ({"data": {"status": "complete"}}, {"status": {}}, "etcd still has"),
        (
            {"data": {"status": "complete"}},
            operator(EtcdBootstrapMemberRemoved="False"),
            "etcd still has the bootstrap machine as a member: told",
        ),
        ({"data": {"status": "complete"}}, operator(EtcdBootstrapMemberRemoved="True"), ""),
        (None, operator(EtcdBootstrapMemberRemoved="True"), "has not reported"),
    ],
)
def test_bootstrap_complete(status: Any, etcd: Any, word: str) -> None:
    texts = missing("bootstrap_complete", bootstrap_status=status, etcd=etcd)
    assert (word in texts[0]) if word else not texts


@pytest.mark.parametrize(
    ("cluster_version", "operators", "words"),
    [
        (version(), [operator()], []),
        (None, [operator()], ["has not started"]),
        (version(), [], ["no cluster operator"]),
        (version(Available="False"), [operator()], ["is not available: told (since 11:00:00Z)"]),
        (
            version(Progressing=condition("Progressing", "True", message="Working towards 4.20.33: 600 of 900 done")),
            [operator()],
            ["600 of 900"],
        ),
        (version(Failing="True"), [operator()], ["is failing"]),
        (version(Failing=None), [operator()], []),
        (version(Progressing=None), [operator()], ["does not say"]),
        (
            version(),
            [operator(Available="False"), operator("console", Progressing="True")],
            ["operator ingress is not", "operator console is prog"],
        ),
        (version(), [operator(Available=None)], ["has not reported"]),
        (version(), [operator(Progressing=condition("Progressing", "False", since=JUST_NOW))], ["at rest for 10 s, 30 s are wanted"]),
        (version(), [operator(Progressing=condition("Progressing", "False", since=None))], []),
        (version(), [operator(Degraded="True")], ["is degraded"]),
        (version(), [{}, {"metadata": None, "status": {"conditions": [None, 1, {"type": 3}]}}], ["operator  is", "operator  is"]),
    ],
)
def test_install_complete(cluster_version: Any, operators: Any, words: list[str]) -> None:
    texts = missing("install_complete", cluster_version=cluster_version, cluster_operators=operators)
    assert len(texts) == len(words), texts
    for text, word in zip(texts, words, strict=True):
        assert word in text


def test_an_invalid_version_is_not_waited_for() -> None:
    with pytest.raises(CollectionError, match="will not get further"):
        missing("install_complete", cluster_version=version(Invalid="True"), cluster_operators=[])


def test_the_time_at_rest_can_be_set() -> None:
    operators = [operator(Progressing=condition("Progressing", "False", since=JUST_NOW))]
    assert not missing("install_complete", cluster_version=version(), cluster_operators=operators, stable_for=5)


def test_nodes_ready() -> None:
    nodes = {"a": NodeState("a", True, "", None, silent=False), "b": NodeState("b", False, "no network", None, silent=False)}
    assert missing("nodes_ready", nodes=nodes, wanted_nodes=["a"]) == []
    assert missing("nodes_ready", nodes=nodes, wanted_nodes=["a", "b", "c"]) == [
        "node b is not Ready: no network",
        "node c is not registered",
    ]
    assert missing("nodes_ready", nodes=nodes) == ["node b is not Ready: no network"]
    assert missing("nodes_ready") == ["no node is registered"]


def test_facts() -> None:
    (facts,) = operator_facts([operator(Available="False", Degraded="True")])
    assert facts == {"name": "ingress", "available": False, "progressing": False, "degraded": True, "message": "told"}
    assert version_of(version()) == "4.20.33"
    assert version_of({"status": {"desired": []}}) is None
