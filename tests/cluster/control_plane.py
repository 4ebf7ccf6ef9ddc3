"""A real kube-apiserver with etcd and the certificate controllers, for tests of what speaks to a cluster.

Of the sandbox only the built programs and key pairs are used. Everything else is set up here by Kubernetes' own documentation, so that a
wrong idea in the sandbox's control plane cannot make a test pass.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import datetime
import json
import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.openshift import pki
from sandbox.openshift.binaries import Binaries
from tests import kubeconfigs
from tests.eventually import until

ADDRESS = "127.64.250.1"
KUBELETS_CLIENT = "system:kube-apiserver"
"""User of the API server at kubelets (OpenShift's kubelet-client certificate)."""
SERVER_NAME = "api.demo.metal.test"
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
HISTORY = "csr-approval-history"
"""The ConfigMap that tests let the module write its history to."""
PODS = "/api/v1/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
START_LIMIT = 60.0
LIFETIME = datetime.timedelta(days=1)
CONTROLLERS = ("certificatesigningrequest-signing-controller", "certificatesigningrequest-approving-controller", "disruption-controller")
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}


class ControlPlane:
    """The running cluster: `call` it as administrator, as the node bootstrapper (`TOKEN`) or as a node.

    `audited`: it writes down every call (audit.k8s.io/v1, level Metadata), see `audit`. `address`: where it listens.
    """

    TOKEN = "bootstrap-token"

    def __init__(self, directory: Path, binaries: Binaries, *, audited: bool = False, address: str = ADDRESS) -> None:
        self.directory = directory
        self._audited = audited
        self._address = address
        self._binaries = binaries
        self._clients: dict[str, httpx.Client] = {}
        self._objects: list[str] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._signer = pki.self_signed_ca("signer", LIFETIME)
        with socket.socket() as probe:
            probe.bind((address, 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"https://{address}:{self.port}"
        self.kubeconfig = directory / "kubeconfig"
        self._write_files()

    def _write_files(self) -> None:
        serving = pki.server(self._signer, SERVER_NAME, [SERVER_NAME, self._address], LIFETIME)
        self.admin = self._identity("admin", "system:admin", ("system:masters",))
        self._identity("kubelet-client", KUBELETS_CLIENT, ("kube-master",))
        service_account = ec.generate_private_key(ec.SECP256R1())
        public = service_account.public_key()
        files = {
            "ca.crt": self._signer.certificate,
            "ca.key": self._signer.key,
            "serving.crt": serving.certificate,
            "serving.key": serving.key,
            "sa.key": pki.private_pem(service_account),
            "audit.yml": yaml.safe_dump(AUDIT).encode(),
            "sa.pub": public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
            "tokens.csv": (
                f"{self.TOKEN},{BOOTSTRAPPER},bootstrapper,"
                '"system:serviceaccounts:openshift-machine-config-operator,system:serviceaccounts"\n'
            ).encode(),
        }
        for name, content in files.items():
            (self.directory / name).write_bytes(content)
        self.write_kubeconfig(self.kubeconfig)

    def write_kubeconfig(self, path: Path, *, server: str | None = None, ca: bytes | None = None, token: str = "") -> Path:
        """A kubeconfig as the installer writes it: by name, with everything inside. ``token``: instead of the administrator's pair."""

        def text(content: bytes) -> str:
            return base64.b64encode(content).decode()

        cluster = {
            "server": server or f"https://{SERVER_NAME}:{self.port}",
            "certificate-authority-data": text(ca or self._signer.certificate),
        }
        pair = {"client-certificate-data": text(self.admin[0].read_bytes()), "client-key-data": text(self.admin[1].read_bytes())}
        kubeconfigs.write_kubeconfig(path, cluster, {"token": token} if token else pair)
        path.chmod(0o600)
        return path

    def kubelet_pair(self, node: str, address: str) -> pki.KeyPair:
        """Return the serving certificate of a kubelet, and its key: signed by the CA that the API server verifies kubelets with."""
        return pki.server(self._signer, f"system:node:{node}", [address], LIFETIME)

    def _identity(self, file: str, common_name: str, organizations: tuple[str, ...]) -> tuple[Path, Path]:
        return pki.client(self._signer, common_name, organizations, LIFETIME).write(self.directory / file)

    @contextlib.contextmanager
    def running(self) -> Iterator[ControlPlane]:
        try:
            self._start(
                self._binaries.etcd,
                "--data-dir=etcd",
                "--listen-client-urls=unix://etcd:1",
                "--advertise-client-urls=unix://etcd:1",
                "--listen-peer-urls=unix://etcd:2",
                "--initial-advertise-peer-urls=unix://etcd:2",
                "--initial-cluster=default=unix://etcd:2",
                "--unsafe-no-fsync",
            )
            self._start(
                self._binaries.kube_apiserver,
                f"--bind-address={self._address}",
                f"--secure-port={self.port}",
                f"--advertise-address={self._address}",
                "--endpoint-reconciler-type=none",
                "--etcd-servers=unix://etcd:1",
                "--service-cluster-ip-range=172.30.0.0/16",
                "--tls-cert-file=serving.crt",
                "--tls-private-key-file=serving.key",
                "--client-ca-file=ca.crt",
                "--kubelet-certificate-authority=ca.crt",
                "--kubelet-client-certificate=kubelet-client.crt",
                "--kubelet-client-key=kubelet-client.key",
                "--kubelet-preferred-address-types=InternalIP",
                "--token-auth-file=tokens.csv",
                # As OpenShift's: backups of etcd are pods that need it.
                "--allow-privileged=true",
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-account-key-file=sa.pub",
                "--service-account-signing-key-file=sa.key",
                "--shutdown-delay-duration=0s",
                # Pods need no service account: nothing runs here.
                "--disable-admission-plugins=ServiceAccount",
                *(("--audit-policy-file=audit.yml", "--audit-log-path=audit.log") if self._audited else ()),
            )
            self._until_ready()
            self._bind()
            controllers = self.write_kubeconfig(self.directory / "controllers.kubeconfig", server=self.url)
            self._start(
                self._binaries.kube_controller_manager,
                f"--kubeconfig={controllers.name}",
                "--secure-port=0",
                "--leader-elect=false",
                f"--controllers={','.join(CONTROLLERS)}",
                "--cluster-signing-cert-file=ca.crt",
                "--cluster-signing-key-file=ca.key",
            )
            yield self
        finally:
            for client in self._clients.values():
                client.close()
            for process in reversed(self._processes):
                process.kill()
                process.wait()

    def _start(self, program: Path, *arguments: str) -> None:
        with (self.directory / f"{program.name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(program), *arguments],
                cwd=self.directory,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_the_tests,  # noqa: PLW1509 - one system call, which takes no lock
            )
        self._processes.append(process)

    def _until_ready(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                if self.call("GET", "/readyz").status_code == 200:
                    return
            time.sleep(0.1)
        raise TimeoutError((self.directory / "kube-apiserver.log").read_text(encoding="utf-8")[-2000:])

    def _bind(self) -> None:
        """Create OpenShift's role bindings: the bootstrapper may file CSRs, nodes renew by themselves. One more lets every authenticated
        user file CSRs, so that the approver has to check the requestor.
        """
        for name, role, kind, subject in (
            ("bootstrapper", "system:node-bootstrapper", "User", BOOTSTRAPPER),
            ("authenticated", "system:node-bootstrapper", "Group", "system:authenticated"),
            ("renewal", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "Group", "system:nodes"),
        ):
            binding = {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject}],
            }
            self.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).raise_for_status()

    # Calls

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        node: str | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> httpx.Response:
        """One call: as administrator, with a token, or as a node."""
        identity = "" if token else f"system:node:{node}" if node else "admin"
        if identity not in self._clients:
            trust = ssl.create_default_context(cafile=str(self.directory / "ca.crt"))
            if identity:
                pair = self._identity(f"node-{len(self._clients)}", identity, ("system:nodes",)) if node else self.admin
                trust.load_cert_chain(*pair)
            self._clients[identity] = httpx.Client(base_url=self.url, verify=trust, timeout=30)
        authorization = [("Authorization", f"Bearer {token}")] if token else []
        return self._clients[identity].request(method, path, json=body, headers=[*authorization, *headers])

    def file(self, name: str, spec: dict[str, Any], *, node: str | None = None) -> httpx.Response:
        """File a certificate request as the node bootstrapper, or as a node."""
        kept = {key: spec[key] for key in ("request", "signerName", "usages") if key in spec}
        body = {"metadata": {"name": name}, "spec": kept}
        return self.call("POST", REQUESTS, body, node=node) if node else self.call("POST", REQUESTS, body, token=self.TOKEN)

    def file_as(self, name: str, spec: dict[str, Any]) -> httpx.Response:
        """File a CSR as the user and the groups in ``spec``: the administrator impersonates them."""
        headers = [("Impersonate-User", spec["username"]), *(("Impersonate-Group", group) for group in spec["groups"])]
        kept = {key: spec[key] for key in ("request", "signerName", "usages") if key in spec}
        return self.call("POST", REQUESTS, {"metadata": {"name": name}, "spec": kept}, headers=headers)

    def register(
        self, name: str, *, ready: bool | None = True, labels: Mapping[str, str] | None = None, status: Mapping[str, Any] | None = None
    ) -> None:
        """Make a Node object, Ready or not or, with None, silent."""
        # With something to own, as every kubelet registers: without it the API server keeps no managed fields of the object.
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
        self.call("POST", NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata}).raise_for_status()
        self.report(name, ready=ready, status=status)

    def report(self, name: str, *, ready: bool | None, status: Mapping[str, Any] | None = None) -> None:
        """``ready`` None: nobody has heard from it for long. ``status``: what its kubelet reports besides."""
        is_ready = "Unknown" if ready is None else str(ready)
        since = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "Ready", "status": is_ready, "reason": "test", "message": "as the test wants it", "lastTransitionTime": since}
        node = self.call("GET", f"{NODES}/{name}").json()
        self.call("PUT", f"{NODES}/{name}/status", {**node, "status": {"conditions": [condition], **(status or {})}}).raise_for_status()

    def renew_lease(self, name: str, *, seconds_ago: float) -> None:
        """Set the Lease of a Node, as its kubelet did so long ago."""
        renewed = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds_ago)
        found = self.call("GET", f"{LEASES}/{name}")
        lease = found.json() if found.status_code == 200 else {"metadata": {"name": name}}
        lease["spec"] = {"holderIdentity": name, "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        self.call("PUT", f"{LEASES}/{name}", lease).raise_for_status()

    def forget_node(self, name: str) -> None:
        """Delete a Node object, as an administrator does."""
        self.call("DELETE", f"{NODES}/{name}").raise_for_status()

    def history(self) -> dict[str, str]:
        """What the module has written down of machines, by name."""
        data: dict[str, str] = self.call("GET", f"{CONFIG_MAPS}/{HISTORY}").json().get("data", {})
        return data

    def write_history(self, texts: dict[str, str]) -> None:
        self.call("POST", CONFIG_MAPS, {"metadata": {"name": HISTORY}, "data": texts}).raise_for_status()

    def run_pod(self, name: str, node: str, *, namespace: str = "default", spec: Mapping[str, Any] | None = None, **metadata: Any) -> str:
        """Make a pod that runs on a node; its uid."""
        body = {
            "metadata": {"name": name, "labels": {"app": name}, **metadata},
            "spec": {"nodeName": node, "containers": [{"name": "x", "image": "x"}], **(spec or {})},
        }
        made = self.call("POST", f"/api/v1/namespaces/{namespace}/pods", body)
        made.raise_for_status()
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.call("PUT", f"/api/v1/namespaces/{namespace}/pods/{name}/status", {**made.json(), "status": status}).raise_for_status()
        uid: str = made.json()["metadata"]["uid"]
        return uid

    def define(self, group: str, plural: str, kind: str) -> None:
        """Define a custom resource of the whole cluster with any content, and wait until the API server has it."""
        path, name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", f"{plural}.{group}"
        if self.call("GET", f"/apis/{group}/v1/{plural}").status_code == 200:
            return
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
        body = {"metadata": {"name": name}, "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]}}
        self.call("POST", path, {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **body}).raise_for_status()
        until(lambda: self.call("GET", f"/apis/{group}/v1/{plural}").status_code == 200, f"{name} is served")

    def create_object(self, path: str, body: Mapping[str, Any]) -> None:
        """Create an object of the collection ``path`` until the next ``clear``."""
        self.call("POST", path, body).raise_for_status()
        self._objects.append(f"{path}/{body['metadata']['name']}")

    def ensure_namespace(self, name: str) -> None:
        """Create a namespace, which stays: its deletion would need a controller."""
        answer = self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        if answer.status_code != 409:
            answer.raise_for_status()

    def end_pod(self, name: str, namespace: str = "default") -> None:
        """Remove a pod, as its kubelet does when its containers have stopped. Finalizers are removed first, as their owners do."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        pod = self.call("GET", path)
        if pod.status_code == 200 and pod.json()["metadata"].get("finalizers"):
            body = pod.json()
            body["metadata"]["finalizers"] = []
            self.call("PUT", path, body).raise_for_status()
        self.call("DELETE", f"{path}?gracePeriodSeconds=0")

    def pods_on(self, node: str) -> dict[str, dict[str, Any]]:
        """The pods of a node by name."""
        return {pod["metadata"]["name"]: pod for pod in self.call("GET", f"{PODS}?fieldSelector=spec.nodeName={node}").json()["items"]}

    def budget(self, name: str, least: int, *apps: str) -> None:
        """Let no eviction leave fewer than `least` healthy pods of these; returns when the disruption controller knows them."""
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": list(apps or (name,))}]}
        body = {"metadata": {"name": name}, "spec": {"minAvailable": least, "selector": selector}}
        self.call("POST", BUDGETS, body).raise_for_status()
        path = f"{BUDGETS}/{name}"
        until(lambda: "currentHealthy" in self.call("GET", path).json().get("status", {}), f"the budget {name} has its status")

    def watch(self, path: str) -> Iterator[dict[str, Any]]:
        """Objects of a list as they come and change, from now on."""
        version = self.call("GET", path).json()["metadata"]["resourceVersion"]
        query = {"watch": "true", "resourceVersion": version}
        with self._clients["admin"].stream("GET", path, params=query, timeout=None) as answer:
            for line in answer.iter_lines():
                yield json.loads(line)["object"]

    def audit(self, since: int = 0) -> list[dict[str, Any]]:
        """Every call on an object up to now, from the byte `since` of the log on."""
        with (self.directory / "audit.log").open("rb") as log:
            log.seek(since)
            events = [json.loads(line) for line in log.read().splitlines(keepends=True) if line.endswith(b"\n")]
        return [event for event in events if "objectRef" in event]

    def audited_until(self) -> int:
        """How long the log is."""
        return (self.directory / "audit.log").stat().st_size

    def until_watched(self, agent: str, since: int) -> None:
        """Wait until a client with this user agent watches."""
        until(lambda: any(event["verb"] == "watch" and event["userAgent"] == agent for event in self.audit(since)), f"{agent} watches")

    def requests(self) -> dict[str, dict[str, Any]]:
        return {item["metadata"]["name"]: item for item in self.call("GET", REQUESTS).json()["items"]}

    def approved(self) -> set[str]:
        """Names of the approved requests."""
        return {
            name
            for name, item in self.requests().items()
            if any(condition["type"] == "Approved" for condition in item["status"].get("conditions", []))
        }

    def clear(self) -> None:
        """No requests, no nodes, no objects of earlier tests."""
        for pod in self.call("GET", PODS).json()["items"]:
            self.end_pod(pod["metadata"]["name"], pod["metadata"]["namespace"])
        while self._objects:
            answer = self.call("DELETE", self._objects.pop())
            if answer.status_code != 404:
                answer.raise_for_status()
        for path in (REQUESTS, NODES, LEASES, BUDGETS):
            self.call("DELETE", path).raise_for_status()
        for name in ("bootstrap", HISTORY):
            self.call("DELETE", f"{CONFIG_MAPS}/{name}")


def delays(log: list[dict[str, Any]], agent: str) -> dict[str, float]:
    """For each request that this user agent approved: seconds from when it was there, by the server's clock."""
    filed, approved = {}, {}
    for event in log:
        if event["objectRef"]["resource"] != "certificatesigningrequests" or event["responseStatus"]["code"] >= 300:
            continue
        at = datetime.datetime.fromisoformat(event["stageTimestamp"])
        if event["verb"] == "create":
            filed[event["objectRef"]["name"]] = at
        elif event["verb"] == "patch" and event["userAgent"] == agent:
            approved[event["objectRef"]["name"]] = at
    # An event of the watch may come before the server reports who filed the CSR.
    return {name: max(0.0, (at - filed[name]).total_seconds()) for name, at in approved.items()}


def _die_with_the_tests() -> None:
    """Have the kernel end this process when the tests' own does, also when that is killed (prctl PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def environment() -> dict[str, str]:
    """For ansible-playbook as a child: nothing of the user's own settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
