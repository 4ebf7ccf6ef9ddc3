"""Scenarios of the modules that use a cluster's API: joining machines, nodes with pods, nodes with and without devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE
from tests.cluster.control_plane import NODES, REQUESTS
from tests.contract.etcd import ETCD_SCENARIOS
from tests.contract.scenario import TAGS, ClusterScenario
from tests.unit.plugins.module_utils.csr_cases import OTHER, WORKER, client, dns, made, serving

if TYPE_CHECKING:
    from tests.contract.subjects import Testbed

MACHINES: list[dict[str, Any]] = [{"name": name, "addresses": [], "created_at": None} for name in (WORKER, OTHER)]
THIRD = "worker-9.contract.metal.test"


def lay_requests(testbed: Testbed) -> None:
    """Two nodes that ask for their serving certificates, and an unauthorized client that requests one of a node."""
    cluster = testbed.cluster
    cluster.clear()
    for number, name in enumerate((WORKER, OTHER)):
        cluster.register(name)
        cluster.file(f"serving-{number}", serving(made(f"system:node:{name}", names=dns(name)))["spec"], node=name).raise_for_status()
    cluster.file("stranger", client(made("system:node:stranger"))["spec"]).raise_for_status()


def lay_pods(testbed: Testbed) -> None:
    """Two nodes with two pods each, so that their list has pages. They end as soon as they are evicted."""
    testbed.cluster.clear()
    for number, name in enumerate((WORKER, OTHER)):
        testbed.cluster.register(name)
        for pod in "ab":
            testbed.cluster.run_pod(f"pod-{number}{pod}", name, spec={"terminationGracePeriodSeconds": 0})


def lay_devices(testbed: Testbed) -> None:
    """A node on a device, and two whose devices are gone."""
    cluster, environment = testbed.cluster, testbed.environment
    existing = [device for device in testbed.sandbox.inventory()["devices"] if device["state"] != "deprovisioning"]
    if not any(device["hostname"] == WORKER for device in existing):
        seeded = {"hostname": WORKER, "tags": TAGS, "project_id": environment["METAL_PROJECT_ID"]}
        testbed.sandbox.call("POST", "devices", json=seeded)
    cluster.clear()
    for name, ready in ((WORKER, True), (OTHER, None), (THIRD, None)):
        cluster.register(name, ready=ready)


def remove_devices(testbed: Testbed) -> None:
    for device in testbed.sandbox.inventory()["devices"]:
        if device["hostname"] == WORKER:
            testbed.delete_device(device["id"])


def requests(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of each CSR, as the module's diff has it."""
    return {item["metadata"]["name"]: verdict_on(item) for item in answer["items"]}


def verdict_on(request: Mapping[str, Any]) -> str:
    conditions = request["status"].get("conditions") or []
    return "approved" if any(condition["type"] == "Approved" for condition in conditions) else "pending"


def schedulable(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {item["metadata"]["name"]: {"schedulable": not item["spec"].get("unschedulable", False)} for item in answer["items"]}


def devices(answer: Mapping[str, Any]) -> dict[str, Any]:
    found = {item["metadata"]["name"]: item["metadata"].get("annotations", {}).get(DEVICE) for item in answer["items"]}
    return {name: device or "no device recorded" for name, device in found.items()}


def approved(testbed: Testbed) -> Any:
    """Names of the approved requests."""
    return sorted(testbed.cluster.approved())


def pods_left(testbed: Testbed) -> Any:
    """Whether each node is cordoned, and the pods that are left on it."""
    cluster = testbed.cluster
    nodes = cluster.call("GET", NODES).json()["items"]
    return {
        node["metadata"]["name"]: (bool(node["spec"].get("unschedulable")), sorted(cluster.pods_on(node["metadata"]["name"])))
        for node in nodes
    }


def nodes_left(testbed: Testbed) -> Any:
    """Whether the device of each node is recorded."""
    return {name: device != "no device recorded" for name, device in devices(testbed.cluster.call("GET", NODES).json()).items()}


CLUSTER_SCENARIOS = [
    ClusterScenario(
        module="csr_approval",
        create={"machines": MACHINES[:1], "wait": True},
        change={"machines": MACHINES, "wait": True},
        worlds={"nothing": [], "create": ["serving-0"], "change": ["serving-0", "serving-1"]},
        meetings=(("read", "create"), ("follow", "create"), ("change", "create"), ("change", "change")),
        lay=lay_requests,
        read_state=approved,
        listing=REQUESTS,
        view=requests,
    ),
    ClusterScenario(
        module="cluster_wait",
        create={"condition": "nodes_ready", "nodes": [WORKER, OTHER], "wait": True},
        worlds={"nothing": [], "create": []},
        meetings=(("read", "create"),),
        lay=lay_requests,
        read_state=approved,
        listing=REQUESTS,
        view=requests,
    ),
    ClusterScenario(
        module="node_drain",
        create={"nodes": [WORKER], "evict_unmanaged": True, "wait": True},
        change={"nodes": [WORKER, OTHER], "evict_unmanaged": True, "wait": True},
        worlds={
            "nothing": {WORKER: (False, ["pod-0a", "pod-0b"]), OTHER: (False, ["pod-1a", "pod-1b"])},
            "create": {WORKER: (True, []), OTHER: (False, ["pod-1a", "pod-1b"])},
            "change": {WORKER: (True, []), OTHER: (True, [])},
        },
        meetings=(("read", "create"), ("change", "create"), ("change", "change")),
        lay=lay_pods,
        read_state=pods_left,
        listing=NODES,
        view=schedulable,
    ),
    ClusterScenario(
        module="node_info",
        create={},
        worlds={"nothing": [], "create": []},
        meetings=(("read", "create"),),
        lay=lay_requests,
        read_state=approved,
        listing=REQUESTS,
        view=requests,
    ),
    ClusterScenario(
        module="node_ownership",
        create={"ownership_tags": TAGS, "nodes": [OTHER], "prune": True},
        change={"ownership_tags": TAGS, "nodes": [OTHER, THIRD], "prune": True},
        worlds={
            "nothing": {WORKER: False, OTHER: False, THIRD: False},
            "create": {WORKER: True, THIRD: False},
            "change": {WORKER: True},
        },
        meetings=(("read", "create"), ("change", "create"), ("change", "change")),
        lay=lay_devices,
        read_state=nodes_left,
        listing=NODES,
        view=devices,
        metal=True,
        clear=remove_devices,
    ),
    *ETCD_SCENARIOS,
]
