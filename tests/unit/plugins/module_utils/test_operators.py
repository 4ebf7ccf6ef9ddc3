"""What the conditions of cluster_wait wait for. The module: tests/cluster/test_cluster_wait.py."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.times import time_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.operators import (
    CONDITIONS,
    View,
    skipped_nodes,
    version_of,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import pending_client_requests
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.details import pod_details
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.node import Node, read_node

from .csr_cases import WORKER, client, made

NOW = datetime(2026, 3, 1, 12, 0, 40, tzinfo=UTC)
LONG_AGO, JUST_NOW = "2026-03-01T11:00:00Z", "2026-03-01T12:00:30Z"
NODES = {
    "a": Node("a", ready=True),
    "b": Node("b", message="no network", since=time_of(LONG_AGO)),
}


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
        ({"data": {"status": "complete"}}, None, ""),
        (
            {"data": {"status": "complete"}},
            operator(EtcdBootstrapMemberRemoved="False"),
            "etcd still has the bootstrap machine as a member: told",
        ),
        ({"data": {"status": "complete"}}, operator(EtcdBootstrapMemberRemoved="True"), ""),
        (None, operator(EtcdBootstrapMemberRemoved="True"), "has not reported"),
    ],
)
def test_bootstrap_complete_needs_the_bootstrap_configmap(status: Any, etcd: Any, word: str) -> None:
    texts = missing("bootstrap_complete", bootstrap_status=status, etcd=etcd)
    assert (word in texts[0]) if word else not texts


@pytest.mark.parametrize(
    ("release", "waits"),
    [("4.12.60", False), ("4.15.9", False), ("4.16.0-rc.1", True), ("4.20.33", True), ("5.0.0", True), (None, True), ("x", True)],
)
def test_an_etcd_operator_without_conditions_is_not_waited_for(release: Any, waits: bool) -> None:
    seen = {"bootstrap_status": {"data": {"status": "complete"}}, "cluster_version": {"status": {"desired": {"version": release}}}}
    assert bool(missing("bootstrap_complete", etcd={"status": {}}, **seen)) is waits
    assert missing("bootstrap_complete", etcd=operator(EtcdBootstrapMemberRemoved="False"), **seen)


@pytest.mark.parametrize(
    ("cluster_version", "operators", "words"),
    [
        (version(), [operator()], []),
        (version(Available="False"), [operator()], ["is not available: told (since 11:00:00Z)"]),
        (
            version(Progressing=condition("Progressing", "True", message="Working towards 4.20.33: 600 of 900 done")),
            [operator()],
            ["600 of 900"],
        ),
        (version(Failing="True"), [operator()], ["is failing"]),
        (
            version(),
            [operator(Available="False"), operator("console", Progressing="True")],
            ["operator ingress is not", "operator console is prog"],
        ),
        (version(), [operator(Progressing=condition("Progressing", "False", since=JUST_NOW))], ["stable for 10 s, 30 s are required"]),
        (version(), [operator(Degraded="True")], ["is degraded"]),
    ],
)
def test_install_complete(cluster_version: Any, operators: Any, words: list[str]) -> None:
    texts = missing("install_complete", cluster_version=cluster_version, cluster_operators=operators)
    assert len(texts) == len(words), texts
    for text, word in zip(texts, words, strict=True):
        assert word in text


def test_nodes_ready() -> None:
    assert missing("nodes_ready", nodes=NODES, desired_nodes=["a"], machines=["machine a is active"]) == []
    assert missing("nodes_ready", nodes=NODES, desired_nodes=["a", "b", "c"], machines=["machine c is active"]) == [
        "node b is not Ready: no network (since 11:00:00Z)",
        "node c is not registered",
        "machine c is active",
    ]
    assert missing("nodes_ready", nodes=NODES) == ["node b is not Ready: no network (since 11:00:00Z)"]
    assert missing("nodes_ready") == ["no node is registered"]


@pytest.mark.parametrize(
    ("quorum", "lost", "passed", "gone"),
    [
        (0, ["d"], 9000, []),
        (3, ["d"], 9000, []),  # two are Ready
        (2, [], 59, []),
        (2, ["d"], 59, ["d"]),
        (2, ["d"], 60, ["c", "d"]),
        (1, [], 60, ["c", "d"]),
    ],
)
def test_with_enough_of_them_the_others_are_skipped_nodes(quorum: int, lost: list[str], passed: float, gone: list[str]) -> None:
    """Those that are lost at once; the others after a while, which counts from when the last that is needed was Ready."""
    enough_at = NOW - timedelta(seconds=passed)
    nodes = {
        "a": Node("a", ready=True, since=NOW - timedelta(days=1)),
        "b": Node("b", ready=True, since=enough_at if quorum > 1 else NOW),
        "c": Node("c", message="no network"),
    }
    view = View(now=NOW, nodes=nodes, desired_nodes=["a", "b", "c", "d"])
    params = {"quorum": quorum, "quorum_of": ["a", "b", "c", "d"], "quorum_wait": 60}
    assert skipped_nodes(nodes, NOW, params, lost) == gone
    result = CONDITIONS["nodes_ready"](replace(view, skipped_nodes=gone))
    assert [text.split(" is ")[0] for text in result] == [f"node {name}" for name in ("c", "d") if name not in gone]


FORGED = "fine\x1b[2K\n[WARNING]: all is well \u202e" + "x" * 200_000


def test_what_the_cluster_says_is_printed_on_one_line_and_cut() -> None:
    """Messages of Nodes and operators hold what workloads bring into them; names of requests are anything."""
    evil = read_node({"metadata": {"name": "a"}, "status": {"conditions": [condition("Ready", "False", message=FORGED)]}})
    asking = pending_client_requests([client(made(f"system:node:{WORKER}"), name=FORGED)])
    bad = operator(FORGED, Available=condition("Available", "False", message=FORGED))
    odd_version = {"status": {"desired": {"version": FORGED}, "conditions": [condition("Available", "False", message=FORGED)]}}
    lines = [
        *missing("nodes_ready", nodes={"a": evil}),
        *missing("nodes_ready", nodes={FORGED: evil}),
        *missing("nodes_ready", desired_nodes=[WORKER], asking=asking),
        *missing("install_complete", cluster_operators=[bad], cluster_version=odd_version),
        *missing("bootstrap_complete", bootstrap_status={"data": {"status": FORGED}}),
        str(version_of(odd_version)),
    ]
    for line in lines:
        assert line.isprintable(), line
        assert len(line) < 2500


def test_a_report_has_nothing_of_the_spec_of_a_pod() -> None:
    spec = {"nodeName": "a", "containers": [{"name": "router", "env": [{"name": "TOKEN", "value": "secret"}]}]}
    assert "secret" not in str(pod_details({"metadata": {"annotations": {"token": "secret"}}, "spec": spec, "status": {}}))


def config_pool(machines: int, updated: int, **states: str) -> dict[str, Any]:
    listed = [{"type": kind, "status": status, "message": "cannot be rendered"} for kind, status in states.items()]
    counts = {"machineCount": machines, "updatedMachineCount": updated, "readyMachineCount": updated}
    return {"status": {"configuration": {"name": "rendered-infra-1"}, "conditions": listed, **counts}}


def newest(name: str, generation: int, observed: int) -> dict[str, Any]:
    """Return a pool whose nodes are all updated, with this rendered config and generation in its spec."""
    pool = config_pool(2, 2, Updated="True")
    status = {**pool["status"], "observedGeneration": observed}
    return {"metadata": {"generation": generation}, "spec": {"configuration": {"name": name}}, "status": status}


@pytest.mark.parametrize(
    ("pool", "rendered", "updated"),
    [
        (None, ["pool infra does not exist"], "pool infra does not exist"),
        (config_pool(1, 1, Updated="True"), [], "pool infra has 1 of 2 nodes"),
        (config_pool(2, 1, Updated="False"), [], "pool infra: 1 of 2 nodes are updated"),
        (config_pool(2, 2, Updated="False"), [], "pool infra: 2 of 2 nodes are updated"),
        (config_pool(2, 2, Updated="True", Degraded="True"), [], "pool infra is degraded: cannot be rendered"),
        # The counts are of the config before.
        (newest("rendered-infra-2", 4, 4), [], "pool infra does not report its rendered config rendered-infra-2 yet"),
        (newest("rendered-infra-1", 5, 4), [], "pool infra does not report its newest generation yet"),
        (newest("rendered-infra-1", 4, 4), [], ""),
    ],
)
def test_machine_config_pools(pool: dict[str, Any] | None, rendered: list[str], updated: str) -> None:
    seen: dict[str, Any] = {"pools": {} if pool is None else {"infra": pool}, "desired_pools": {"infra": 2}}
    assert CONDITIONS["pools_rendered"](View(now=NOW, **seen)) == rendered
    assert (CONDITIONS["pools_updated"](View(now=NOW, **seen)) or [""])[0] == updated


def server(node: str, status: str = "True", **metadata: Any) -> dict[str, Any]:
    """Return a pod of the DaemonSet machine-config-server."""
    pod: dict[str, Any] = {"metadata": {"name": f"machine-config-server-{node}", **metadata}, "spec": {"nodeName": node}}
    return {**pod, "status": {"conditions": [condition("Ready", status)] if status else []}}


@pytest.mark.parametrize(
    ("servers", "pending"),
    [
        ([server("a"), server("b"), server("worker")], []),
        ([server("a")], ["node b has no machine config server"]),
        (
            [server("a", "False"), server("b", "")],
            [
                "the machine config server of node a (machine-config-server-a) is not Ready: told (since 11:00:00Z)",
                "the machine config server of node b (machine-config-server-b) is not Ready: it has not reported",
            ],
        ),
        ([server("a"), server("b", deletionTimestamp=LONG_AGO)], ["node b has no machine config server"]),
        ([server("b", deletionTimestamp=LONG_AGO), server("a"), server("b")], []),
    ],
)
def test_each_control_plane_node_has_a_machine_config_server(servers: list[dict[str, Any]], pending: list[str]) -> None:
    masters = [{"metadata": {"name": name}} for name in ("b", "a")]
    assert missing("machine_config_servers_ready", control_plane_nodes=masters, machine_config_servers=servers) == pending
