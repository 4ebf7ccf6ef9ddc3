"""Which cluster the kubeconfig in the cluster's folder leads to."""

import json
from pathlib import Path
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import cluster
from tests import kubeconfigs
from tests.unit.plugins.module_utils.service import Reply, serving

CLUSTER_ID = "9b0e4f7a-0000-4000-8000-000000000001"
LABELS = {"master": {"node-role.kubernetes.io/master": ""}, "worker": {"node-role.kubernetes.io/worker": ""}}
NODES = {
    "kind": "NodeList",
    "items": [
        {"metadata": {"name": f"{role}-{number}.demo", "labels": LABELS[role], "annotations": {DEVICE: f"id-{role}-{number}"}}}
        for role, number in (("master", 1), ("master", 0), ("worker", 0))
    ],
}
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
VERSION = "/apis/config.openshift.io/v1/clusterversions/version"


def write_kubeconfig(folder: Path, server: str) -> None:
    kubeconfigs.write_kubeconfig(folder / "kubeconfig", {"server": server}, {"token": "bearer-token"})


def wanted(folder: Path, *, bootstrap_over: bool = True) -> dict[str, Any]:
    machines = {"workers": [{"hostname": "worker-0.demo", "machine_config_pool": "infra"}]}
    return {"directory": str(folder), "bootstrap_over": bootstrap_over, "timeout": 5, "machines": machines}


def test_before_the_bootstrap_is_complete_no_cluster_is_asked(tmp_path: Path) -> None:
    assert cluster.collect(wanted(tmp_path, bootstrap_over=False)) == {}


def test_the_cluster_id_of_cluster_version_is_returned(tmp_path: Path) -> None:
    version = {"kind": "ClusterVersion", "spec": {"clusterID": CLUSTER_ID}}
    with serving(Reply(data=version), Reply(404, data={"kind": "Status"}), Reply(data=NODES), Reply(data={"items": []})) as service:
        write_kubeconfig(tmp_path, service.url.removesuffix("/metal/v1"))
        found = cluster.collect(wanted(tmp_path))["kubeconfig"]
        nodes = [(node["name"], node["device_id"]) for node in found.pop("nodes")]
        assert nodes == [(f"{name}.demo", f"id-{name}") for name in ("master-0", "master-1", "worker-0")]
        assert [node["metadata"]["name"] for node in found.pop("objects")] == [name for name, _device in nodes]
        identity = {"cluster_id": CLUSTER_ID, "control_plane": ["master-0.demo", "master-1.demo"]}
        assert {name: found[name] for name in identity} == identity
        assert [seen.path for seen in service.seen][:3] == [VERSION, ETCD, "/api/v1/nodes"]
        assert {seen.method for seen in service.seen} == {"GET"}
        # An API server that has nothing else yet: nothing is complete, and the kubeconfig is not the one that was written for the cluster.
        assert (found["configs"], found["requests"]) == ([], [])
        assert "pool infra does not exist" in found["waiting"]
        assert found["kubeconfig"] == {"servers": [], "is_trusting": False}


def test_the_nodes_are_known_where_the_rest_cannot_be_judged(tmp_path: Path) -> None:
    invalid = {"type": "Invalid", "status": "True", "message": "spec.desiredUpdate.version: Invalid value"}
    version = {"kind": "ClusterVersion", "spec": {"clusterID": CLUSTER_ID}, "status": {"conditions": [invalid]}}
    with serving(Reply(data=version), Reply(404, data={"kind": "Status"}), Reply(data=NODES), Reply(data={"items": []})) as service:
        write_kubeconfig(tmp_path, service.url.removesuffix("/metal/v1"))
        found = cluster.collect(wanted(tmp_path))["kubeconfig"]
    assert (found["cluster_id"], len(found["nodes"]), "configs" in found) == (CLUSTER_ID, 3, False)
    assert "the ClusterVersion is invalid" in found["unread"]


def test_a_machine_whose_replacement_is_not_complete_is_of_the_control_plane(tmp_path: Path) -> None:
    record = {"equinix-metal.openshift/replacing": json.dumps({"node": "master-2.demo", "device": "", "member": ""})}
    etcd = {"kind": "Etcd", "metadata": {"annotations": record}}
    with serving(Reply(data={"kind": "ClusterVersion"}), Reply(data=etcd), Reply(data=NODES)) as service:
        write_kubeconfig(tmp_path, service.url.removesuffix("/metal/v1"))
        found = cluster.collect(wanted(tmp_path))["kubeconfig"]
    assert found["control_plane"] == ["master-0.demo", "master-1.demo", "master-2.demo"]


def test_a_refusal_is_returned_as_message_without_the_token(tmp_path: Path) -> None:
    with serving(Reply(401, data={"kind": "Status", "message": "Unauthorized"})) as service:
        write_kubeconfig(tmp_path, service.url.removesuffix("/metal/v1"))
        reading = cluster.collect(wanted(tmp_path))["kubeconfig"]
    assert "401" in reading["msg"] or "Unauthorized" in reading["msg"]
    assert "bearer-token" not in reading["msg"]
