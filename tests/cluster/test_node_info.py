"""node_info against a real API server."""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE
from tests.cluster.conftest import Play
from tests.cluster.control_plane import ADDRESS, NODES, ControlPlane


def test_node_info_returns_role_readiness_and_device_id(cluster: ControlPlane, run: Play) -> None:
    cluster.register("master-0", labels={"node-role.kubernetes.io/control-plane": ""})
    cluster.register("worker-0", ready=None)
    node = cluster.call("GET", f"{NODES}/worker-0").json()
    node["metadata"]["annotations"] = {DEVICE: "an-id"}
    cluster.call("PUT", f"{NODES}/worker-0", node).raise_for_status()
    # A part of the control plane that is down does not matter.
    result = run("node_info", kubeconfig=str(cluster.kubeconfig), api_addresses=["127.64.250.99", ADDRESS])
    names = ("name", "control_plane", "ready", "unreachable", "schedulable", "device_id")
    assert [tuple(node[name] for name in names) for node in result["nodes"]] == [
        ("master-0", True, True, False, True, ""),
        ("worker-0", False, False, True, True, "an-id"),
    ]


def test_a_reader_fails_when_the_api_does_not_answer(cluster: ControlPlane, run: Play) -> None:
    result = run("node_info", kubeconfig=str(cluster.kubeconfig), api_addresses=["127.64.250.99"], wait_timeout=2, wait_interval=0.5)
    assert result["failed"]
    assert "127.64.250.99" in result["msg"]
