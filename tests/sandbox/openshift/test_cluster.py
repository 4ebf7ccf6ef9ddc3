"""One cluster from its bootstrap on, in the order of its life: each test goes on from where the one before left it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import shutil
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.openshift import pki
from sandbox.openshift.api import CSRS, NODES, Object
from sandbox.openshift.passing_time import ClusterRunsError, pass_days
from sandbox.openshift.resources import (
    BOOTSTRAP_STATUS,
    CLUSTER_OPERATORS,
    CLUSTER_VERSION,
    MACHINE_CONFIGS,
    POOLS,
    condition_of,
    is_ready,
)
from tests.sandbox.openshift.conftest import NODES_RECORD

if TYPE_CHECKING:
    from tests.sandbox.openshift.conftest import Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")

Eventually = Callable[..., Awaitable[Any]]
DOMAIN = "demo.metal.test"
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"


async def _pending(lab: Lab, signer: str, user: str) -> list[Object]:
    found = await lab.cluster.api.items(CSRS)
    mine = [item for item in found if item["spec"]["signerName"].endswith(signer) and item["spec"]["username"] == user]
    return [item for item in mine if not (item.get("status") or {}).get("conditions")]


async def _decide(lab: Lab, request: Object, decision: str) -> None:
    condition = {"type": decision, "status": "True", "reason": "Test", "message": "decided by a test"}
    path = f"{CSRS}/{request['metadata']['name']}/approval"
    await lab.cluster.api.put(path, {**request, "status": {"conditions": [condition]}})


async def test_bootstrap_refuses_workers_and_completes(lab: Lab) -> None:
    assert set(lab.refusals) == {500}
    status = await lab.cluster.api.get(BOOTSTRAP_STATUS)
    assert status is not None
    assert status["data"] == {"status": "complete"}
    assert any("approve-csr.sh" in line for line in lab.machines["bootstrap"].lines)


async def test_the_manifests_of_the_installer_are_applied_and_managed_by_the_cluster_afterwards(lab: Lab) -> None:
    overridden = next(item for item in lab.assets.manifests if item["kind"] == "ClusterVersion")["spec"]["overrides"]
    assert {"ConfigMap", "Secret", "Scheduler"} <= {entry["kind"] for entry in overridden}
    version = await lab.cluster.api.get(CLUSTER_VERSION)
    assert version is not None
    assert version["spec"].get("overrides") is None
    dated = await lab.cluster.api.get("/api/v1/namespaces/default/configmaps/dated")
    assert dated is not None
    assert dated["metadata"]["annotations"] == {"example.com/since": "2026-11-01"}
    assert await lab.cluster.api.get("/api/v1/namespaces/kube-system/secrets/kube-cloud-cfg") is not None


async def _config(lab: Lab, method: str, pool: str, accept: str = "*/*") -> httpx.Response:
    return await lab.machines["worker-0"].http.request(
        method,
        f"https://api-int.demo.metal.test:22623/config/{pool}",
        headers={"accept": accept},
        ca_pem=lab.assets.certificate("root-ca"),
    )


async def test_machine_config_server_has_the_name_api_int_only(lab: Lab) -> None:
    address = lab.machines["master-0"].hardware.address
    with pytest.raises(httpx.ConnectError, match="certificate"):
        await lab.machines["worker-0"].http.request("GET", f"https://{address}:22623/healthz", ca_pem=lab.assets.certificate("root-ca"))


async def test_nodes_are_closed_to_what_is_no_machine_of_the_cluster(lab: Lab, eventually: Eventually) -> None:
    """By the firewall in their MachineConfigs, which accepts what the record lists."""
    master, worker = lab.machines["master-0"].hardware.address, lab.machines["worker-0"].hardware.address

    def connects(port: int, source: str) -> bool:
        try:
            socket.create_connection((master, port), timeout=1, source_address=(source, 0)).close()
        except TimeoutError:
            return False
        return True

    async def reaches(source: str) -> list[bool]:
        return [await asyncio.to_thread(connects, port, source) for port in (6443, 22623, 10250)]

    assert await reaches("127.0.0.1") == [True, False, False]
    assert await reaches(worker) == await reaches(master) == [True, True, True]
    listed = lab.names[NODES_RECORD]
    lab.names[NODES_RECORD] = [address for address in listed if address != worker]

    async def shut() -> bool:
        return await reaches(worker) == [True, False, False]

    await eventually(shut, what="the worker that is not in the record any more is refused")
    lab.names[NODES_RECORD] = []
    assert await reaches("127.0.0.1") == [True, False, False], "without DNS the last addresses stay in use"
    lab.names[NODES_RECORD] = listed

    async def open_again() -> bool:
        return await reaches(worker) == [True, True, True]

    await eventually(open_again, what="the worker is accepted again")


async def test_worker_asks_and_waits_and_asks_again(lab: Lab, eventually: Eventually) -> None:
    """Nobody approves first joins; after 15 (simulated) minutes the kubelet asks again with another key."""

    async def two() -> list[Object]:
        found = await _pending(lab, "kube-apiserver-client-kubelet", BOOTSTRAPPER)
        return found if len(found) >= 2 else []

    requests = await eventually(two)
    keys = set()
    for item in requests:
        spec = item["spec"]
        assert item["metadata"]["name"].startswith("csr-")
        assert sorted(spec["groups"]) == [
            "system:authenticated",
            "system:serviceaccounts",
            "system:serviceaccounts:openshift-machine-config-operator",
        ]
        assert spec["usages"] == ["digital signature", "client auth"]
        parsed = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
        assert parsed.subject.rfc4514_string() == "CN=system:node:worker-0.demo.metal.test,O=system:nodes"
        assert len(parsed.extensions) == 0
        public_key = parsed.public_key()
        assert isinstance(public_key, ec.EllipticCurvePublicKey)
        assert isinstance(public_key.curve, ec.SECP256R1)
        keys.add(public_key.public_numbers())
    assert len(keys) == len(requests)
    assert await lab.node("worker-0") is None


async def test_denied_worker_asks_again_with_another_key(lab: Lab, eventually: Eventually) -> None:
    lab.clock.speed = 100  # unanswered requests live for 9 seconds now
    before = {item["metadata"]["name"] for item in await _pending(lab, "kube-apiserver-client-kubelet", BOOTSTRAPPER)}

    async def denied() -> bool:
        for item in await _pending(lab, "kube-apiserver-client-kubelet", BOOTSTRAPPER):
            await _decide(lab, item, "Denied")
            before.add(item["metadata"]["name"])
        return any("refused (Denied" in line for line in lab.machines["worker-0"].lines)

    async def again() -> list[Object]:
        return [
            item for item in await _pending(lab, "kube-apiserver-client-kubelet", BOOTSTRAPPER) if item["metadata"]["name"] not in before
        ]

    await eventually(denied, what="the kubelet sees that it was denied")
    await eventually(again, what="a new request after the denial")


async def test_worker_joins_with_two_approvals(lab: Lab, eventually: Eventually) -> None:
    node_user = "system:node:worker-0.demo.metal.test"

    async def registered() -> bool:
        for item in await _pending(lab, "kube-apiserver-client-kubelet", BOOTSTRAPPER):
            await _decide(lab, item, "Approved")
        return await lab.node("worker-0") is not None

    async def asks() -> list[Object]:
        return await _pending(lab, "kubelet-serving", node_user)

    await eventually(registered, what="node registered")
    lab.clock.speed = 4000
    (request, *_unused) = await eventually(asks, what="serving request")
    parsed = x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["worker-0.demo.metal.test"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == [lab.machines["worker-0"].hardware.address]
    assert request["spec"]["usages"] == ["digital signature", "server auth"]

    async def serves() -> bool:
        for item in await asks():
            await _decide(lab, item, "Approved")
        try:
            answer = await lab.machines["master-0"].http.request(
                "GET",
                "https://worker-0.demo.metal.test:10250/healthz",
                ca_pem=lab.cluster.keys.node_certificate_authorities,
            )
        except httpx.ConnectError:
            return False
        return answer.text == "ok"

    async def ready() -> bool:
        node = await lab.node("worker-0")
        return node is not None and is_ready(node) and "node-role.kubernetes.io/worker" in node["metadata"]["labels"]

    await eventually(serves, what="kubelet serves 10250 with its certificate")
    await eventually(ready, what="worker is ready and has its role")


async def test_a_client_with_the_token_may_only_file_csrs(lab: Lab) -> None:
    request, _unused = pki.request("system:node:stranger.demo.metal.test", ["system:nodes"])
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {
            "request": base64.b64encode(request).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    }
    headers = {"authorization": f"Bearer {lab.cluster.assets.token}", "content-type": "application/json"}
    machine, trusted = lab.machines["worker-0"], lab.assets.certificate("kube-apiserver-lb-signer")

    async def call(method: str, path: str, content: Any = None) -> httpx.Response:
        url = f"https://api.demo.metal.test:6443{path}"
        return await machine.http.request(method, url, headers=headers, content=content, ca_pem=trusted)

    filed = await call("POST", CSRS, json.dumps(body).encode())
    assert filed.status_code == 201
    assert (await call("GET", NODES)).status_code == 403
    assert (await call("PUT", f"{CSRS}/{filed.json()['metadata']['name']}/approval", filed.content)).status_code == 403
    await asyncio.sleep(0.5)
    left = await lab.cluster.api.get(f"{CSRS}/{filed.json()['metadata']['name']}")
    assert left is not None
    assert not left.get("status")


def _router(lab: Lab, port: int, host: str, path: str = "/") -> httpx.Response:
    """Ask the router on worker-0, trusting the ingress operator's CA."""
    address, scheme = lab.machines["worker-0"].hardware.address, "https" if port == 443 else "http"
    trust = ssl.create_default_context(cadata=lab.cluster.routers_ca.decode())
    with httpx.Client(verify=trust, trust_env=False) as client:
        return client.get(f"{scheme}://{address}:{port}{path}", headers={"host": host}, extensions={"sni_hostname": host})


async def test_routers_serve_where_their_pods_run_and_operators_need_their_names(lab: Lab, eventually: Eventually) -> None:
    """Two replicas, one worker: the second pod waits for a node, since a node has the ports once."""
    host = f"console-openshift-console.apps.{DOMAIN}"

    async def serves() -> httpx.Response | None:
        with contextlib.suppress(httpx.TransportError):
            return await asyncio.to_thread(_router, lab, 443, host)
        return None

    answer = await eventually(serves, within=30)
    assert (answer.status_code, answer.headers["x-sandbox-router"]) == (200, f"worker-0.{DOMAIN}")
    pods = await lab.cluster.api.items("/api/v1/namespaces/openshift-ingress/pods")
    assert sorted(pod["spec"].get("nodeName", "") for pod in pods) == ["", f"worker-0.{DOMAIN}"]
    assert (await asyncio.to_thread(_router, lab, 1936, "", "/healthz/ready")).status_code == 200
    redirect = await asyncio.to_thread(_router, lab, 80, host, "/x")
    assert (redirect.status_code, redirect.headers["location"]) == (302, f"https://{host}/x")
    assert (await asyncio.to_thread(_router, lab, 443, f"nothing.apps.{DOMAIN}")).status_code == 503
    for name in lab.machines:
        if name.startswith("master"):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((lab.machines[name].hardware.address, 1936), timeout=5)

    async def conditions() -> dict[str, Any]:
        found = {item["metadata"]["name"]: item for item in await lab.cluster.api.items(CLUSTER_OPERATORS)}
        return {name: condition_of(found[name], "Available") for name in ("ingress", "console", "authentication")}

    async def unresolved() -> bool:
        found = await conditions()
        return found["ingress"]["status"] == "True" and "no address for console" in found["console"]["message"]

    await eventually(unresolved, within=30, what="the console's route has no DNS record")
    for name in ("console-openshift-console", "oauth-openshift"):
        lab.names[f"{name}.apps.{DOMAIN}"] = [lab.machines["worker-0"].hardware.address]


async def test_custom_pool_is_served_and_takes_over_its_nodes(lab: Lab, eventually: Eventually) -> None:
    role = "machineconfiguration.openshift.io/role"
    pool = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": "storage"},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [{"key": role, "operator": "In", "values": ["worker", "storage"]}]},
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/storage": ""}},
        },
    }
    assert (await _config(lab, "GET", "storage")).status_code == 500
    await lab.cluster.api.apply(f"{POOLS}/storage", pool)

    async def served() -> bool:
        found = await lab.cluster.api.get(f"{POOLS}/storage")
        rendered = bool((((found or {}).get("status") or {}).get("configuration") or {}).get("name"))
        # Read before the status is asked for, so a config is served once its name is there.
        return rendered and (await _config(lab, "GET", "storage")).status_code == 200

    await eventually(served, what="the pool is rendered and served")
    label = {"metadata": {"labels": {"node-role.kubernetes.io/storage": ""}}}
    await lab.cluster.api.patch(f"{NODES}/worker-0.demo.metal.test", label)

    async def moved() -> bool:
        pool = await lab.cluster.api.get(f"{POOLS}/storage")
        return pool is not None and bool(pool.get("status", {}).get("updatedMachineCount") == 1)

    await eventually(moved, what="the node is in the new pool, with its config")
    config = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": "99-storage", "labels": {role: "storage"}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}, "kernelArguments": ["hugepages=16"]},
    }
    path = f"{POOLS}/storage"
    before = (await lab.cluster.api.patch(path, {"spec": {"paused": True}}))["spec"]["configuration"]["name"]
    await lab.cluster.api.apply(f"{MACHINE_CONFIGS}/99-storage", config)

    async def pool_state() -> tuple[bool, bool, int]:
        found = await lab.cluster.api.get(path)
        assert found is not None
        newest, status = found["spec"]["configuration"]["name"], found["status"]
        return newest != before, status["configuration"]["name"] == newest, status["updatedMachineCount"]

    async def pending() -> bool:
        return await pool_state() == (True, False, 0)

    async def updated() -> bool:
        return await pool_state() == (True, True, 1)

    # The status has the config before until all nodes have the newest one.
    await eventually(pending, what="the pool's spec names its newest config")
    await lab.cluster.api.patch(path, {"spec": {"paused": False}})
    await eventually(updated, what="the pool's status has its newest config")


async def test_node_roles_cannot_be_taken_by_a_node(lab: Lab) -> None:
    folder = lab.machines["worker-0"].directory / "kubelet"
    certificate = (folder / "kubelet-client-current.crt", folder / "kubelet-client-current.key")
    body = {"metadata": {"labels": {"node-role.kubernetes.io/master": ""}}}
    answer = await lab.machines["worker-0"].http.request(
        "PATCH",
        f"https://api.demo.metal.test:6443{NODES}/worker-0.demo.metal.test",
        headers={"content-type": "application/merge-patch+json"},
        content=json.dumps(body).encode(),
        ca_pem=lab.assets.certificate("kube-apiserver-lb-signer"),
        cert=certificate,
    )
    assert answer.status_code == 403


async def test_days_pass_only_while_the_machines_are_off(lab: Lab) -> None:
    with pytest.raises(ClusterRunsError, match="switch the machines of demo"):
        pass_days(lab.clusters, lab.state / "machines", 31)


async def test_cluster_goes_with_its_machines(lab: Lab) -> None:
    cluster = lab.cluster
    for name in list(lab.running):
        await lab.power_off(name)
    assert not cluster.control_plane.running
    lab.clusters.sweep()
    assert list(lab.clusters) == [cluster], "disks of switched off machines keep it"
    for machine in lab.machines.values():
        shutil.rmtree(machine.directory)
    # Installed anew as something else, it has nothing of the cluster either.
    lab.machines["bootstrap"].directory.mkdir()
    lab.clusters.sweep()
    assert list(lab.clusters) == []
    assert not cluster.directory.exists()
