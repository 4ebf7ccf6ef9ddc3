"""Where routers run and may run, from the objects of the cluster."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.routers import (
    INGRESS_CONTROLLER,
    INGRESS_SERVICE,
    ROUTER_DEPLOYMENT,
    ROUTER_LABEL,
    ROUTER_PODS,
    may_run_router,
    read_routers,
    router_nodes,
)

WORKER = {"node-role.kubernetes.io/worker": "", "kubernetes.io/os": "linux"}
INFRA = {"key": "node-role.kubernetes.io/infra", "effect": "NoSchedule"}


def node(name: str = "n", *, labels: dict[str, str] | None = None, ready: bool = True, **spec: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return {"metadata": {"name": name, "labels": WORKER if labels is None else labels}, "spec": spec, "status": {"conditions": conditions}}


def deployment(replicas: int = 2, **template: Any) -> dict[str, Any]:
    status = {"observedGeneration": 3, "replicas": replicas, "updatedReplicas": replicas}
    template = {"nodeSelector": WORKER, **template}
    return {"metadata": {"generation": 3}, "spec": {"replicas": replicas, "template": {"spec": template}}, "status": status}


def pod(name: str, *, ready: bool = True, **metadata: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": metadata, "spec": {"nodeName": name}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("template", "changes", "expected"),
    [
        ({}, {}, True),
        ({}, {"labels": {"kubernetes.io/os": "linux"}}, False),
        ({}, {"taints": [INFRA]}, False),
        ({"tolerations": [{"key": INFRA["key"], "operator": "Exists"}]}, {"taints": [INFRA]}, True),
        ({"tolerations": [{**INFRA, "value": "other"}]}, {"taints": [{**INFRA, "value": "reserved"}]}, False),
        # It is still one of the nodes that routers are configured for.
        ({}, {"unschedulable": True, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}, True),
        ({}, {"ready": False, "taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}, True),
    ],
)
def test_a_node_may_run_a_router_by_its_labels_and_taints(template: dict[str, Any], changes: dict[str, Any], expected: bool) -> None:
    assert may_run_router(deployment(**template), node(**changes)) is expected


def test_routers_that_are_ready_and_stay_count() -> None:
    pods = [pod("a"), pod("b", ready=False), pod("c", deletionTimestamp="2026-01-01T00:00:00Z"), {"spec": {}}]
    assert router_nodes(pods) == {"a"}


class Cluster:
    """What `read_routers` asks the client for."""

    def __init__(self, number: int, *pods: dict[str, Any], observed: int = 2, **status: int) -> None:
        self._deployment, self._pods = deployment(number), pods
        self._deployment["status"] |= status
        self._controller = {"metadata": {"generation": 2}, "status": {"observedGeneration": observed}}
        self.service: dict[str, Any] | None = None

    def get(self, path: str) -> dict[str, Any] | None:
        return {INGRESS_CONTROLLER: self._controller, ROUTER_DEPLOYMENT: self._deployment, INGRESS_SERVICE: self.service}[path]

    def objects(self, path: str, *, labels: str) -> tuple[dict[str, Any], ...]:
        assert (path, labels) == (ROUTER_PODS, ROUTER_LABEL)
        return self._pods


@pytest.mark.parametrize(
    ("replicas", "nodes", "waiting"),
    [
        (1, [node("a"), node("b")], []),
        (2, [node("a"), node("b")], ["1 of 2 routers are ready"]),
        (2, [node("a"), node("b", ready=False)], []),
        (3, [node("a"), node("b"), node("c", taints=[INFRA])], ["1 of 2 routers are ready"]),
    ],
)
def test_routers_are_waited_for_where_nodes_can_take_them(replicas: int, nodes: list[dict[str, Any]], waiting: list[str]) -> None:
    found, pending = read_routers(Cluster(replicas, pod("a")), nodes)  # type: ignore[arg-type]  # the three reads of the client
    assert found["a"] == {"router": True, "may_run_router": True, "ingress_addresses": []}
    assert pending == waiting


def test_the_address_of_the_service_in_front_of_the_routers() -> None:
    cluster = Cluster(1, pod("a"))
    cluster.service = {"status": {"loadBalancer": {}}}
    assert read_routers(cluster, [node("a")])[0]["a"]["ingress_addresses"] == []  # type: ignore[arg-type]  # the three reads of the client
    cluster.service = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.6"}]}}}
    assert read_routers(cluster, [node("a")])[0]["a"]["ingress_addresses"] == ["192.0.2.6"]  # type: ignore[arg-type]  # the same


ROLLOUT = " of 2 routers have the placement of the IngressController default"


@pytest.mark.parametrize(
    ("status", "waiting"),
    [
        ({}, []),
        ({"observed": 1}, ["the ingress operator has not applied the change of the IngressController default"]),
        ({"observedGeneration": 2}, [f"2{ROLLOUT}"]),
        ({"updatedReplicas": 2, "replicas": 3}, [f"2{ROLLOUT}"]),
    ],
)
def test_routers_of_an_earlier_placement_are_not_the_ones_waited_for(status: dict[str, int], waiting: list[str]) -> None:
    cluster = Cluster(2, pod("a"), pod("b"), **status)
    assert read_routers(cluster, [node("a"), node("b")])[1] == waiting  # type: ignore[arg-type]  # the three reads of the client
