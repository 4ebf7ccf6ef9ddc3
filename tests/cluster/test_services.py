"""Operators of the role services at a real API server: their objects with strict validation, and the role alone.

Local storage and a registry: tests/e2e/test_service_operators.py.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.lvms import lvm_cluster
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.metallb import metallb_changes
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.olm import operator_subscription
from sandbox.openshift.binaries import Binaries, BinariesError, cache_folder, ensure_binaries
from sandbox.testing.process import REPOSITORY, RunningSandbox
from tests.cluster.control_plane import ControlPlane
from tests.cluster.olm import OPERATORS, Olm, define, prepare
from tests.contract.environment import call
from tests.role_play import PACED, played

CLUSTER = "demo.metal.test"
METALLB = "/apis/metallb.io/v1beta1/namespaces/metallb-system"
PEERS = "/apis/metallb.io/v1beta2/namespaces/metallb-system/bgppeers"
PLURALS = {
    "Namespace": "namespaces",
    "OperatorGroup": "operatorgroups",
    "Subscription": "subscriptions",
    "IPAddressPool": "ipaddresspools",
    "BGPAdvertisement": "bgpadvertisements",
    "BGPPeer": "bgppeers",
    "LVMCluster": "lvmclusters",
}
OF_THE_ROLE = (
    "/api/v1/namespaces",
    "/api/v1/secrets",
    f"{OPERATORS}/subscriptions",
    "/apis/operators.coreos.com/v1/operatorgroups",
    "/apis/metallb.io/v1beta1/metallbs",
    "/apis/metallb.io/v1beta1/ipaddresspools",
    "/apis/metallb.io/v1beta1/bgpadvertisements",
    "/apis/metallb.io/v1beta2/bgppeers",
    "/apis/lvm.topolvm.io/v1alpha1/lvmclusters",
)
PASSWORD = "Pl4ntedPassword"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane with OLM's custom resources, a catalogue and no operator."""
    if os.environ.get("CI") == "true" or os.environ.get("SANDBOX_CONTROLPLANE_BIN"):
        binaries = ensure_binaries()
    else:
        try:
            binaries = Binaries.in_folder(cache_folder())
        except BinariesError as problem:
            pytest.skip(f"the control plane's programs are not built yet (start the sandbox once): {problem}")
    folder = tmp_path / "control-plane"
    folder.mkdir()
    with ControlPlane(folder, binaries, audited=True).running() as running:
        prepare(running)
        version = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {}}
        path = "/apis/config.openshift.io/v1/clusterversions"
        made = running.call("POST", path, version).json()
        running.call("PUT", f"{path}/version/status", {**made, "status": {"desired": {"version": "4.20.33"}}}).raise_for_status()
        yield running


def play(cluster: ControlPlane, folder: Path, *arguments: str, sandbox: RunningSandbox | None = None, **variables: Any) -> tuple[int, str]:
    """Run the role; return how the play ended and what was printed."""
    directory = folder / "cluster"
    directory.mkdir(exist_ok=True)
    cluster.write_kubeconfig(directory / "kubeconfig", server=cluster.url)
    given = {
        "openshift_cluster_name": "demo",
        "openshift_base_domain": "metal.test",
        "openshift_directory": str(directory),
        "openshift_wait_interval": 0.5,
        "openshift_time_scale": 0.033,
        "ansible_python_interpreter": sys.executable,
        **variables,
    }
    tasks = [{"name": "Configure the services", "ansible.builtin.include_role": {"name": "equinix_metal.openshift.services"}}]
    content = [
        {"name": "Services", "hosts": "localhost", "connection": "local", "gather_facts": False, "vars": given, **PACED, "tasks": tasks}
    ]
    playbook = folder / "play.json"
    playbook.write_text(json.dumps(content), encoding="utf-8")
    environment = {
        **os.environ,
        **(sandbox.environment if sandbox else {}),
        "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
        "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
    }
    return played(playbook, "-i", "localhost,", *arguments, environment=environment)


def changed(output: str) -> int:
    """Return the number of changed tasks in the recap."""
    return int(output.rpartition("changed=")[2].split()[0])


def written(cluster: ControlPlane, since: int) -> list[str]:
    """Return the objects that the role wrote, from the audit log."""
    events = cluster.audit(since)
    mine = [event for event in events if "OpenAPI-Generator" in event["userAgent"] and event["verb"] not in ("get", "list", "watch")]
    return [f"{event['verb']} {event['objectRef']['resource']}" for event in mine if "dryRun" not in event["requestURI"]]


def versions(cluster: ControlPlane) -> dict[str, str]:
    """Return the resource version of each object of the role: a patch that changes nothing leaves it."""
    found: dict[str, str] = {}
    for path in OF_THE_ROLE:
        answer = cluster.call("GET", path)
        items = answer.json()["items"] if answer.status_code == 200 else []
        found |= {f"{path}/{each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in items}
    return found


def names(cluster: ControlPlane, path: str) -> list[str]:
    return sorted(each["metadata"]["name"] for each in cluster.call("GET", path).json()["items"])


def test_the_api_server_accepts_the_objects_with_strict_validation(cluster: ControlPlane) -> None:
    for name in ("metallb", "lvms"):
        define(cluster, name)
    neighbor = {
        "address_family": 4,
        "customer_as": 65000,
        "customer_ip": "10.70.1.3",
        "md5_enabled": True,
        "multihop": True,
        "peer_as": 65530,
        "peer_ips": ["169.254.255.1", "169.254.255.2"],
    }
    node = {"metadata": {"name": f"worker-0.{CLUSTER}", "labels": {"kubernetes.io/hostname": f"worker-0.{CLUSTER}"}}}
    found = {"nodes": [node], "neighbors": {f"worker-0.{CLUSTER}": [neighbor]}}
    changes = metallb_changes(["198.51.100.8/29", "198.51.100.1-198.51.100.4"], "metallb-system", found)
    objects = [
        *operator_subscription("metallb", [], "4.20.33", "redhat-operators")["objects"],
        *operator_subscription("lvms", [], "4.20.33", "redhat-operators")["objects"],
        *changes["present"],
        lvm_cluster(["/dev/disk/by-path/pci-0000:04:00.0-nvme-1"], "openshift-lvm-storage", {"node-role.kubernetes.io/storage": ""}),
    ]
    for name in ("metallb-system", "openshift-lvm-storage"):
        cluster.ensure_namespace(name)
    refused = {}
    for each in objects:
        namespace = each["metadata"].get("namespace")
        folder = "/api/v1" if each["apiVersion"] == "v1" else f"/apis/{each['apiVersion']}"
        path = f"{folder}{f'/namespaces/{namespace}' if namespace else ''}/{PLURALS[each['kind']]}"
        body = each if namespace else {**each, "metadata": {**each["metadata"], "name": "a-new-namespace"}}
        answer = cluster.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", body)
        if answer.status_code != 201:
            refused[f"{each['kind']} {each['metadata']['name']}"] = answer.json()["message"]
    assert not refused
    wrong = {**changes["present"][0], "spec": {"addresses": ["198.51.100.8/29"], "autoasign": True}}
    answer = cluster.call("POST", f"{METALLB}/ipaddresspools?dryRun=All&fieldValidation=Strict", wrong)
    assert answer.status_code == 400, "an unknown field is refused, or this test would prove nothing"
    assert names(cluster, f"{METALLB}/ipaddresspools") == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"openshift_operator_catalog": "mirrored"}, "has no CatalogSource mirrored. Set openshift_operator_catalog"),
        (
            {"openshift_local_storage_channel": "stable-4.99"},
            "Giving up: Subscription lvms-operator in the namespace openshift-lvm-storage is not ready: ResolutionFailed: no operators"
            " found in channel stable-4.99 of package lvms-operator in the catalog. Run: oc -n openshift-lvm-storage describe"
            " subscriptions.operators.coreos.com/lvms-operator. Check the catalogue with: oc -n openshift-marketplace get"
            " catalogsources,pods",
        ),
    ],
    ids=["no catalogue", "no such channel"],
)
def test_an_operator_that_cannot_be_installed_ends_the_run(
    cluster: ControlPlane, tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with Olm(cluster):
        code, output = play(cluster, tmp_path, openshift_local_storage="lvms", **settings)
    assert code != 0
    assert message in " ".join(output.split()), output[-3000:]


def test_metallb_has_a_session_and_peers_for_each_node(cluster: ControlPlane, sandbox: RunningSandbox, tmp_path: Path) -> None:
    tags = [f"openshift-cluster={CLUSTER}", "openshift-role=worker"]
    made = {}
    for number in range(3):
        body = {"count": 1, "hostname": f"worker-{number}.{CLUSTER}", "tags": tags}
        (made[f"worker-{number}.{CLUSTER}"],) = sandbox.call("POST", "devices", json=body)["ids"]
    workers = list(made)[:2]
    for name in workers:
        labels = {"kubernetes.io/hostname": name, "node-role.kubernetes.io/worker": ""}
        cluster.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}}).raise_for_status()
    settings: dict[str, Any] = {
        "openshift_metallb": True,
        "openshift_metallb_addresses": ["198.51.100.8/29"],
        "openshift_metallb_password": PASSWORD,
    }
    with Olm(cluster):
        start = cluster.audited_until()
        sandbox.forget()
        code, output = play(cluster, tmp_path, "--check", "--diff", sandbox=sandbox, **settings)
        assert code == 0, output[-3000:]
        assert PASSWORD not in output
        assert written(cluster, start) == []
        assert not [each for each in sandbox.journal() if each["method"] not in ("GET", "HEAD")]

        code, output = play(cluster, tmp_path, "-vvv", "--diff", sandbox=sandbox, **settings)
        assert code == 0, output[-3000:]
        assert PASSWORD not in output
        secret = cluster.call("GET", "/api/v1/namespaces/metallb-system/secrets/equinix-metal").json()
        assert (secret["type"], b64decode(secret["data"]["password"]).decode()) == ("kubernetes.io/basic-auth", PASSWORD)
        sessions = {name: call(sandbox, "GET", f"devices/{id_}/bgp/sessions")["bgp_sessions"] for name, id_ in made.items()}
        assert {name: [each["address_family"] for each in found] for name, found in sessions.items()} == {
            **{name: ["ipv4"] for name in workers},
            f"worker-2.{CLUSTER}": [],
        }, "a device whose node has not joined has no session yet"
        peers = cluster.call("GET", PEERS).json()["items"]
        assert len(peers) == 4, "two routers for each node"
        for name in workers:
            device = call(sandbox, "GET", f"devices/{made[name]}")
            (private,) = [each["address"] for each in device["ip_addresses"] if not each["public"]]
            own = [each["spec"] for each in peers if each["spec"]["nodeSelectors"] == [{"matchLabels": {"kubernetes.io/hostname": name}}]]
            assert {(each["peerAddress"], each["sourceAddress"]) for each in own} == {
                ("169.254.255.1", private),
                ("169.254.255.2", private),
            }
        (pool,) = cluster.call("GET", f"{METALLB}/ipaddresspools").json()["items"]
        assert pool["spec"]["addresses"] == ["198.51.100.8/29"]

        before = versions(cluster)
        assert len(before) > 3
        sandbox.forget()
        code, output = play(cluster, tmp_path, sandbox=sandbox, **settings)
        assert code == 0, output[-3000:]
        assert (changed(output), versions(cluster)) == (0, before)
        assert not [each for each in sandbox.journal() if each["method"] not in ("GET", "HEAD")]

        own_peer = {"apiVersion": "metallb.io/v1beta2", "kind": "BGPPeer", "metadata": {"name": "of-a-user"}}
        cluster.call("POST", PEERS, {**own_peer, "spec": {"myASN": 1, "peerASN": 2, "peerAddress": "192.0.2.1"}}).raise_for_status()
        cluster.call("DELETE", f"/api/v1/nodes/{workers[1]}").raise_for_status()
        code, output = play(cluster, tmp_path, sandbox=sandbox, **settings)
        assert code == 0, output[-3000:]
        prefix = f"equinix-metal-{workers[0]}-ipv4"
        assert names(cluster, PEERS) == [f"{prefix}-0", f"{prefix}-1", "of-a-user"]
    for each in made.values():
        call(sandbox, "DELETE", f"devices/{each}")
