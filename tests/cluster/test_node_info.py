"""node_info against a real API server."""

from __future__ import annotations

from datetime import datetime

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE
from tests.cluster.conftest import Play
from tests.cluster.control_plane import ADDRESS, NODES, ControlPlane


def test_node_info_returns_role_readiness_and_device_id(cluster: ControlPlane, run: Play) -> None:
    cluster.register("master-0")
    cluster.register("worker-0", ready=None)
    for name, metadata in (
        ("master-0", {"labels": {"node-role.kubernetes.io/control-plane": ""}}),
        ("worker-0", {"annotations": {DEVICE: "an-id"}}),
    ):
        node = cluster.call("GET", f"{NODES}/{name}").json()
        node["metadata"] |= metadata
        cluster.call("PUT", f"{NODES}/{name}", node).raise_for_status()
    # A part of the control plane that is down does not matter.
    result = run("node_info", kubeconfig=str(cluster.kubeconfig), api_addresses=["127.64.250.99", ADDRESS])
    message = "as the test wants it"
    for node in result["nodes"]:
        assert datetime.fromisoformat(node.pop("since")).tzinfo is not None
        assert datetime.fromisoformat(node.pop("created_at")).tzinfo is not None
    assert result["nodes"] == [
        {
            "name": "master-0",
            "control_plane": True,
            "ready": True,
            "unreachable": False,
            "message": message,
            "schedulable": True,
            "device_id": "",
            "provider_id": "",
            "addresses": [],
            "cordoned_for_removal": False,
        },
        {
            "name": "worker-0",
            "control_plane": False,
            "ready": False,
            "unreachable": True,
            "message": message,
            "schedulable": True,
            "device_id": "an-id",
            "provider_id": "",
            "addresses": [],
            "cordoned_for_removal": False,
        },
    ]


@pytest.mark.parametrize("module", ["node_info", "cluster_boot_info"])
def test_a_reader_fails_when_the_api_does_not_answer(module: str, cluster: ControlPlane, run: Play) -> None:
    reach = {"kubeconfig": str(cluster.kubeconfig), "api_addresses": ["127.64.250.99"]}
    for waiting in ({"wait": False}, {"wait_timeout": 2, "wait_interval": 0.5}):
        result = run(module, **reach, **waiting)
        assert result["failed"]
        assert "127.64.250.99" in result["msg"]
