"""Operators of the role services at a real API server: their objects with strict validation, and the password of MetalLB's peers.

Local storage and a registry: tests/e2e/test_services.py.
"""

import json
import socket
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.lvms import lvm_cluster
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.metallb import metallb_changes
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.olm import operator_subscription
from sandbox.testing.process import RunningSandbox
from tests.cluster.conftest import Play
from tests.cluster.control_plane import ADDRESS, ControlPlane
from tests.cluster.olm import DEFINITIONS, Olm, define, prepare
from tests.contract.environment import call
from tests.role_play import PACED, played
from tests.secrets.keeping import spellings

CLUSTER = "demo.metal.test"
WORKER = f"worker-0.{CLUSTER}"
PLURALS = {
    "Namespace": "namespaces",
    "OperatorGroup": "operatorgroups",
    "Subscription": "subscriptions",
    "IPAddressPool": "ipaddresspools",
    "BGPAdvertisement": "bgpadvertisements",
    "BGPPeer": "bgppeers",
    "L2Advertisement": "l2advertisements",
    "Service": "services",
    "LVMCluster": "lvmclusters",
}
PASSWORD = "Pl4ntedPassword"
INGRESS = "127.64.250.6"


@pytest.fixture(scope="module")
def prepared(started: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane with OLM's custom resources, a catalogue, the version of OpenShift and one worker."""
    started.clear()
    prepare(started)
    path = "/apis/config.openshift.io/v1/clusterversions"
    version = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {}}
    made = started.call("POST", path, version).json()
    started.call("PUT", f"{path}/version/status", {**made, "status": {"desired": {"version": "4.20.33"}}}).raise_for_status()
    started.register(WORKER, labels={"node-role.kubernetes.io/worker": ""})
    yield started
    started.call("DELETE", f"{DEFINITIONS}/clusterversions.config.openshift.io").raise_for_status()


def test_the_api_server_accepts_the_objects_with_strict_validation(prepared: ControlPlane) -> None:
    for name in ("metallb", "lvms"):
        define(prepared, name)
    neighbor = {
        "address_family": 4,
        "customer_as": 65000,
        "customer_ip": "10.70.1.3",
        "md5_enabled": True,
        "multihop": True,
        "peer_as": 65530,
        "peer_ips": ["169.254.255.1", "169.254.255.2"],
    }
    node = {"metadata": {"name": WORKER, "labels": {"kubernetes.io/hostname": WORKER}}}
    found = {"nodes": [node], "neighbors": {WORKER: [neighbor]}}
    changes = metallb_changes(["198.51.100.8/29", "198.51.100.1-198.51.100.4"], "metallb-system", found)
    objects = [
        *operator_subscription("metallb", [], "4.20.33", "redhat-operators")["objects"],
        *operator_subscription("lvms", [], "4.20.33", "redhat-operators")["objects"],
        *changes["present"],
        *metallb_changes([], "metallb-system", {"nodes": [], "arp": True, "ingress": INGRESS})["present"],
        lvm_cluster(["/dev/disk/by-path/pci-0000:04:00.0-nvme-1"], "openshift-lvm-storage", {"node-role.kubernetes.io/storage": ""}),
    ]
    for name in ("metallb-system", "openshift-lvm-storage", "openshift-ingress"):
        prepared.ensure_namespace(name)
    refused = {}
    for each in objects:
        namespace = each["metadata"].get("namespace")
        folder = "/api/v1" if each["apiVersion"] == "v1" else f"/apis/{each['apiVersion']}"
        path = f"{folder}{f'/namespaces/{namespace}' if namespace else ''}/{PLURALS[each['kind']]}"
        body = each if namespace else {**each, "metadata": {**each["metadata"], "name": "a-new-namespace"}}
        answer = prepared.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", body)
        if answer.status_code != 201:
            refused[f"{each['kind']} {each['metadata']['name']}"] = answer.json()["message"]
    assert not refused
    wrong = {**changes["present"][0], "spec": {"addresses": ["198.51.100.8/29"], "autoasign": True}}
    pools = "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools"
    answer = prepared.call("POST", f"{pools}?dryRun=All&fieldValidation=Strict", wrong)
    assert answer.status_code == 400, "an unknown field is refused, or this test would prove nothing"


def configured(cluster: ControlPlane, environment: dict[str, str], folder: Path, variables: dict[str, Any]) -> str:
    """Let the role configure MetalLB, and return its output."""
    cluster.write_kubeconfig(folder / "kubeconfig", server=cluster.url)
    given = {
        "openshift_cluster_name": "demo",
        "openshift_base_domain": "metal.test",
        "openshift_directory": str(folder),
        "openshift_wait_interval": 0.5,
        "openshift_time_scale": 0.033,
        "openshift_metallb": True,
        "ansible_python_interpreter": sys.executable,
        **variables,
    }
    tasks = [{"name": "Configure the services", "ansible.builtin.include_role": {"name": "equinix_metal.openshift.services"}}]
    play = {"name": "Services", "hosts": "localhost", "connection": "local", "gather_facts": False, "vars": given, **PACED, "tasks": tasks}
    (folder / "play.json").write_text(json.dumps([play]), encoding="utf-8")
    with Olm(cluster):
        code, output = played(folder / "play.json", "-i", "localhost,", "-vvv", "--diff", environment=environment)
    assert code == 0, output[-3000:]
    return output


def test_by_arp_the_role_gives_the_routers_an_address(
    prepared: ControlPlane, run: Play, sandbox_environment: dict[str, str], tmp_path: Path
) -> None:
    prepared.ensure_namespace("openshift-ingress")
    given = {"openshift_load_balancer": "kube_vip", "openshift_api_address": "127.64.250.5", "openshift_ingress_address": INGRESS}
    with socket.create_server((INGRESS, 443)):
        configured(prepared, sandbox_environment, tmp_path, given)
        again = configured(prepared, sandbox_environment, tmp_path, given)
    assert "changed=0" in again, again[-3000:]
    (advertisement,) = prepared.call("GET", "/apis/metallb.io/v1beta1/namespaces/metallb-system/l2advertisements").json()["items"]
    assert advertisement["spec"]["ipAddressPools"] == ["equinix-metal-ingress"]
    reach = {"kubeconfig": str(prepared.kubeconfig), "api_addresses": [ADDRESS], "wait": False}
    assert [node["ingress_addresses"] for node in run("node_info", **reach, routers=True)["nodes"]] == [[INGRESS]]


def test_the_password_of_metallbs_peers_is_in_a_secret_and_in_no_output(
    prepared: ControlPlane, sandbox: RunningSandbox, sandbox_environment: dict[str, str], tmp_path: Path
) -> None:
    order = {"count": 1, "hostname": WORKER, "tags": [f"openshift-cluster={CLUSTER}", "openshift-role=worker"]}
    (device,) = sandbox.call("POST", "devices", json=order)["ids"]
    given = {"openshift_metallb_addresses": ["198.51.100.8/29"], "openshift_metallb_password": PASSWORD}
    output = configured(prepared, sandbox_environment, tmp_path, given)
    assert not [each for each in spellings(PASSWORD) if each in output]
    secret = prepared.call("GET", "/api/v1/namespaces/metallb-system/secrets/equinix-metal").json()
    assert (secret["type"], b64decode(secret["data"]["password"]).decode()) == ("kubernetes.io/basic-auth", PASSWORD)
    peers = prepared.call("GET", "/apis/metallb.io/v1beta2/namespaces/metallb-system/bgppeers").json()["items"]
    assert len(peers) == 2, "two routers for each node"
    call(sandbox, "DELETE", f"devices/{device}")
