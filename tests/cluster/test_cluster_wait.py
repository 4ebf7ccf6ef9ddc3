"""cluster_wait against a real API server: from an address without a server to an installed cluster."""

import contextlib
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import ClusterClient
from tests.cluster.conftest import Play
from tests.cluster.control_plane import ADDRESS, NODES, ControlPlane
from tests.eventually import until_listening
from tests.unit.plugins.module_utils.csr_cases import client, made

NAMESPACE = "/api/v1/namespaces/kube-system/configmaps"
KINDS = {
    "ClusterVersion": ("config.openshift.io", "clusterversions", "version"),
    "ClusterOperator": ("config.openshift.io", "clusteroperators", ""),
    "Etcd": ("operator.openshift.io", "etcds", "cluster"),
}

BALANCED = "127.64.250.98"
"""Address of a load balancer."""

POLLS = 4
"""At most so many polls are before the first progress, with an interval of 1 s and progress every 2 s."""


@pytest.fixture(scope="module")
def openshift(started: ControlPlane) -> Iterator[ControlPlane]:
    """The API server with those of OpenShift's kinds that modules read."""
    for kind, (group, plural, _name) in KINDS.items():
        started.define(group, plural, kind)
    yield started
    for group, plural, _name in KINDS.values():
        started.call("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}").raise_for_status()


def put(cluster: ControlPlane, kind: str, name: str = "", **conditions: str) -> None:
    """Make an object, or give it other conditions, all of them for ten minutes."""
    group, plural, usual = KINDS[kind]
    path, name = f"/apis/{group}/v1/{plural}", name or usual
    since = (datetime.now(UTC) - timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    listed = [
        {"type": key, "status": value, "lastTransitionTime": since, "message": f"{key} is {value}"} for key, value in conditions.items()
    ]
    body: dict[str, Any] = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name}, "status": {"conditions": listed}}
    cluster.call("DELETE", f"{path}/{name}")
    cluster.call("POST", path, body).raise_for_status()


def options(cluster: ControlPlane, condition: str, **changes: Any) -> dict[str, Any]:
    return {"kubeconfig": str(cluster.kubeconfig), "api_addresses": [ADDRESS], "condition": condition, "wait": False, **changes}


@contextlib.contextmanager
def load_balancer(folder: Path, port: int, *backends: str) -> Iterator[None]:
    """HAProxy that forwards connections to these backends in turn, without health checks."""
    servers = "".join(f"  server s{number} {backend}\n" for number, backend in enumerate(backends))
    defaults = "defaults\n  mode tcp\n  retries 0\n  timeout connect 1s\n  timeout client 10s\n  timeout server 10s\n"
    text = f"{defaults}listen api\n  bind {BALANCED}:{port}\n"
    (folder / "haproxy.cfg").write_text(text + servers, encoding="utf-8")
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None
    process = subprocess.Popen([program, "-db", "-f", str(folder / "haproxy.cfg")])
    try:
        until_listening(port, BALANCED, process)
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.mark.debian("haproxy")
def test_a_load_balancer_with_a_backend_that_does_not_answer_fails_connections(cluster: ControlPlane, run: Play, tmp_path: Path) -> None:
    api, gone = f"{ADDRESS}:{cluster.port}", f"127.64.250.99:{cluster.port}"
    asked = options(cluster, "connections_complete", api_addresses=[BALANCED])
    # The first connection only shows that the load balancer listens, and the second one is that of the first read.
    with load_balancer(tmp_path, cluster.port, gone, api):
        result = run("cluster_wait", **asked)
        assert not result["reached"]
        assert re.fullmatch(
            rf"\d+ of 20 new connections fail \({BALANCED} port {cluster.port}: .+\): a backend of the load balancer does not answer,"
            " such as the bootstrap device",
            result["waiting"][0],
        )
    with load_balancer(tmp_path, cluster.port, api):
        assert run("cluster_wait", **asked)["reached"]


def test_a_wait_fails_when_no_api_server_answers(cluster: ControlPlane, run: Play) -> None:
    result = run("cluster_wait", **options(cluster, "bootstrap_complete", api_addresses=["127.64.250.99"]))
    assert not result["failed"]
    assert (result["reached"], result["api_answers"], result["kube_version"]) == (False, False, None)
    assert "127.64.250.99" in result["waiting"][0]


def test_bootstrap_complete_needs_the_bootstrap_configmap(cluster: ControlPlane, openshift: ControlPlane, run: Play) -> None:
    first = run("cluster_wait", **options(cluster, "bootstrap_complete"))
    assert (first["reached"], first["api_answers"]) == (False, True)
    assert first["kube_version"].startswith("v1.")
    cluster.call("POST", NAMESPACE, {"metadata": {"name": "bootstrap"}, "data": {"status": "complete"}}).raise_for_status()
    put(cluster, "Etcd", EtcdBootstrapMemberRemoved="False")
    assert "etcd still has" in run("cluster_wait", **options(cluster, "bootstrap_complete"))["waiting"][0]
    put(cluster, "Etcd", EtcdBootstrapMemberRemoved="True")
    assert run("cluster_wait", **options(cluster, "bootstrap_complete"))["reached"]


def test_install_complete_prints_what_is_pending_and_ends_with_the_install(
    cluster: ControlPlane, openshift: ControlPlane, play: Play
) -> None:
    put(cluster, "ClusterVersion", Available="False", Progressing="True")
    put(cluster, "ClusterOperator", "ingress", Available="False", Progressing="True", Degraded="False")
    put(cluster, "ClusterOperator", "dns", Available="True", Progressing="False", Degraded="False")

    since = cluster.audited_until()

    def settle() -> None:
        # Once progress was displayed.
        while sum(event["objectRef"]["resource"] == "clusteroperators" for event in cluster.audit(since)) < POLLS + 1:
            time.sleep(0.1)
        put(cluster, "ClusterOperator", "ingress", Available="True", Progressing="False", Degraded="False")
        put(cluster, "ClusterVersion", Available="True", Progressing="False", Failing="False")

    settling = threading.Thread(target=settle, daemon=True)
    settling.start()
    result = play("cluster_wait", **options(cluster, "install_complete", wait=True, wait_timeout=120, wait_interval=1, progress_interval=2))
    settling.join(timeout=60)
    assert not result["failed"], result["msg"]
    assert result["reached"]
    assert not result["changed"]
    assert [operator["name"] for operator in result["operators"]] == ["dns", "ingress"]
    assert "waiting since" in result["output"]
    assert "operator ingress is not available: Available is False" in result["output"]


def test_a_timeout_names_what_is_pending(cluster: ControlPlane, play: Play) -> None:
    result = play(
        "cluster_wait", **options(cluster, "nodes_ready", nodes=["a"], wait=True, wait_timeout=3, wait_interval=1, progress_interval=1)
    )
    assert result["failed"]
    assert "node a is not registered" in result["msg"]
    assert result["api_answers"]


def test_a_node_of_another_device_has_not_joined(cluster: ControlPlane, run: Play) -> None:
    cluster.register("a")
    node = cluster.call("GET", f"{NODES}/a").json()
    node["metadata"]["annotations"] = {DEVICE: "id-a"}
    cluster.call("PUT", f"{NODES}/a", node).raise_for_status()
    for devices, reached in (({}, True), ({"a": "id-a"}, True), ({"a": "another", "b": "id-b"}, False)):
        answer = run("cluster_wait", **options(cluster, "nodes_ready", nodes=["a"], devices=devices))
        assert (answer["reached"], answer["ready_nodes"]) == (reached, ["a"] if reached else [])
    assert answer["waiting"][0].startswith("node a is not Ready: it is of device id-a, and device another has its name now")


def test_a_node_that_is_ready_by_an_old_report_is_waited_for(cluster: ControlPlane, run: Play) -> None:
    cluster.register("a")
    cluster.register("off", ready=None)
    (waiting,) = run("cluster_wait", **options(cluster, "nodes_current"))["waiting"]
    assert waiting == "node a is Ready by an old report: its kubelet has not reported"
    cluster.renew_lease("a", seconds_ago=20)
    (waiting,) = run("cluster_wait", **options(cluster, "nodes_current"))["waiting"]
    assert re.fullmatch(r"node a is Ready by an old report: its kubelet has not reported \(since \d\d:\d\d:\d\dZ\)", waiting)
    # As a kubelet does while the module waits.
    cluster.renew_lease("a", seconds_ago=-20)
    assert run("cluster_wait", **options(cluster, "nodes_current"))["reached"]


def test_machine_config_servers_are_those_of_the_control_plane(cluster: ControlPlane, run: Play) -> None:
    namespace = "openshift-machine-config-operator"
    cluster.ensure_namespace(namespace)
    for node, labels in (("m", {"node-role.kubernetes.io/master": ""}), ("w", {})):
        cluster.register(node, labels=labels)
    asked = options(cluster, "machine_config_servers_ready")
    cluster.run_pod("other", "m", namespace=namespace)
    assert run("cluster_wait", **asked)["waiting"] == ["node m has no machine config server"]
    cluster.run_pod("machine-config-server-x", "m", namespace=namespace, labels={"k8s-app": "machine-config-server"})
    assert run("cluster_wait", **asked)["reached"]


def test_a_node_with_a_pending_csr_is_reported_until_the_quorum_is_ready(
    cluster: ControlPlane, openshift: ControlPlane, play: Play
) -> None:
    cluster.register("a")
    cluster.file("c", client(made("system:node:c"))["spec"])
    desired = {"nodes": ["a", "c"], "quorum_of": ["a", "c"]}
    (result,) = play("cluster_wait", **options(cluster, "nodes_ready", **desired))["waiting"]
    assert re.fullmatch(r"node c is not registered: its request \S+ waits for approval \(since .*Z\)", result)
    enough = play("cluster_wait", **options(cluster, "nodes_ready", **desired, quorum=1, quorum_wait=0))
    assert (enough["reached"], enough["skipped_nodes"]) == (True, ["c"])
    assert "c is not Ready in time. It is not waited for: enough others are Ready (quorum=1)" in " ".join(enough["output"].split())


def test_a_timeout_reports_refused_credentials(cluster: ControlPlane, run: Play, tmp_path: Any) -> None:
    content = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    content["users"][0]["user"] = {"token": "not-a-token"}
    foreign = tmp_path / "stranger"
    foreign.write_text(yaml.safe_dump(content), encoding="utf-8")
    result = run("cluster_wait", **options(cluster, "nodes_ready", kubeconfig=str(foreign), wait=True, wait_timeout=5))
    assert result["failed"]
    assert "401" in result["msg"]


@pytest.mark.parametrize("content", ["", "a: [", "clusters: 7\n", "apiVersion: v1\nkind: Config\n"])
def test_a_damaged_kubeconfig_is_one_error(cluster: ControlPlane, content: str, tmp_path: Any) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CollectionError, match="kubeconfig"):
        ClusterClient(str(path)).version()
    with pytest.raises(CollectionError, match="no such file"):
        ClusterClient(str(tmp_path / "nowhere"))
