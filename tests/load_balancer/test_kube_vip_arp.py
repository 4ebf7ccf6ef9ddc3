"""The address of the API by ARP: the real kube-vip on three control plane nodes with real etcd and API servers, on one bridge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sandbox.openshift import pki
from sandbox.openshift.binaries import Binaries, ensure_binaries
from sandbox.testing.process import REPOSITORY
from tests.load_balancer.conftest import IMAGE
from tests.load_balancer.namespaces import run

pytestmark = [
    pytest.mark.long,
    pytest.mark.debian("iproute2", "jq"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

SCRIPT = REPOSITORY / "roles/ignition/files/kube-vip.sh"
VIP = "192.0.2.5"
API_NAME = "api.demo.metal.test"
NODES = tuple(f"192.0.2.1{number}" for number in range(3))
OUTSIDE = "192.0.2.100"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plndr-cp-lock"
START_LIMIT = 90.0
TAKEOVER = 12.0
"""Seconds until another node has the address: the lease of 5 s, the election of an etcd leader, and what two busy cores take."""

CLIENT = """
import json, ssl, sys
from tests.e2e.requests_per_second import Loop
with Loop(lambda: [sys.argv[1]], sys.argv[2], ssl.create_default_context(cafile=sys.argv[3])).running() as loop:
    print("running", flush=True)
    sys.stdin.read()
print(json.dumps({"sent": loop.sent, "failed": loop.failed, "gap": loop.longest_gap()}))
"""


class Bridge:
    """Three nodes and a client outside of the cluster, each a namespace with one interface on a bridge."""

    def __init__(self, folder: Path, binaries: Binaries, kube_vip: Path) -> None:
        self.folder = folder
        self._binaries = binaries
        self._kube_vip = kube_vip
        self._prefix = f"arp{os.getpid()}"
        self._processes: dict[str, list[subprocess.Popen[bytes]]] = {}
        self._signer = pki.self_signed_ca("signer", timedelta(days=1))
        (folder / "ca.crt").write_bytes(self._signer.certificate)

    def inside(self, part: str, *command: str) -> str:
        return run(*self._words(part, *command))

    def _words(self, part: str, *command: str) -> list[str]:
        return ["ip", "netns", "exec", f"{self._prefix}-{part}", *command]

    def _start(self, part: str, name: str, *command: str) -> None:
        with (self.folder / f"{part}-{name}.log").open("ab") as log:
            process = subprocess.Popen(self._words(part, *command), cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
        self._processes.setdefault(part, []).append(process)

    @contextmanager
    def running(self) -> Iterator[Bridge]:
        parts = ("switch", "outside", *(f"node{number}" for number in range(len(NODES))))
        try:
            for part in parts:
                run("ip", "netns", "add", f"{self._prefix}-{part}")
                self.inside(part, "ip", "link", "set", "lo", "up")
            self.inside("switch", "ip", "link", "add", "bridge", "type", "bridge")
            self.inside("switch", "ip", "link", "set", "bridge", "up")
            for part, address in zip(parts[1:], (OUTSIDE, *NODES), strict=True):
                self.inside("switch", "ip", "link", "add", part, "type", "veth", "peer", "name", "eno1", "netns", f"{self._prefix}-{part}")
                self.inside("switch", "ip", "link", "set", part, "master", "bridge", "up")
                self.inside(part, "ip", "address", "add", f"{address}/24", "dev", "eno1")
                self.inside(part, "ip", "link", "set", "eno1", "up")
            for number in range(len(NODES)):
                self._boot(number)
            yield self
        finally:
            for part in list(self._processes):
                self._kill(part)
            for part in parts:
                subprocess.run(["ip", "netns", "delete", f"{self._prefix}-{part}"], check=False, capture_output=True)

    def _boot(self, number: int) -> None:
        """Start a control plane node: a member of etcd, its API server, and kube-vip as the script configures it."""
        part, address = f"node{number}", NODES[number]
        peers = ",".join(f"node{other}=http://{ip}:2380" for other, ip in enumerate(NODES))
        self._start(
            part,
            "etcd",
            str(self._binaries.etcd),
            f"--name={part}",
            f"--data-dir={part}-etcd",
            "--listen-client-urls=http://127.0.0.1:2379",
            "--advertise-client-urls=http://127.0.0.1:2379",
            f"--listen-peer-urls=http://{address}:2380",
            f"--initial-advertise-peer-urls=http://{address}:2380",
            f"--initial-cluster={peers}",
            "--unsafe-no-fsync",
        )
        self._start(part, "kube-apiserver", str(self._binaries.kube_apiserver), *self._api_server(number))
        # A node has its API server, with its certificates, some time after its first boot.
        certificates = self.folder / f"{part}-certificates"
        manifests = self.folder / f"{part}-manifests"
        settings = {"API_ADDRESS": VIP, "IMAGE": IMAGE, "MANIFESTS": str(manifests), "CERTIFICATES": str(certificates)}
        script = subprocess.Popen(self._words(part, "env", *(f"{name}={value}" for name, value in settings.items()), "bash", str(SCRIPT)))
        self._write_kubeconfig(certificates)
        assert script.wait(timeout=30) == 0
        (container,) = self.pod(number)["spec"]["containers"]
        environment = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry} | {"vip_nodename": part}
        # The kubelet starts the container again when kube-vip has lost the lease, and ended.
        again = 'while true; do "$0" manager; sleep 1; done'
        self._start(
            part, "kube-vip", "env", *(f"{name}={value}" for name, value in environment.items()), "bash", "-c", again, str(self._kube_vip)
        )

    def _api_server(self, number: int) -> list[str]:
        names = (API_NAME, "localhost", VIP, NODES[number], "127.0.0.1")
        base = self.folder / f"node{number}-serving"
        certificate, key = pki.server(self._signer, API_NAME, names, timedelta(days=1)).write(base)
        accounts = self.folder / "accounts.key"
        if not accounts.exists():
            pki.server(self._signer, "accounts", ["accounts"], timedelta(days=1)).write(self.folder / "accounts")
        return [
            "--bind-address=0.0.0.0",
            "--secure-port=6443",
            f"--advertise-address={NODES[number]}",
            "--endpoint-reconciler-type=none",
            "--etcd-servers=http://127.0.0.1:2379",
            "--service-cluster-ip-range=172.30.0.0/16",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            "--client-ca-file=ca.crt",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts}",
            f"--service-account-signing-key-file={accounts}",
            "--shutdown-delay-duration=0s",
        ]

    def _write_kubeconfig(self, certificates: Path) -> None:
        """Write localhost.kubeconfig as OpenShift does: its files beside it, and the API server of the node by the name localhost."""
        folder = certificates / "secrets/node-kubeconfigs"
        folder.mkdir(parents=True, exist_ok=True)
        client = pki.client(self._signer, "system:control-plane-node-admin", ["system:masters"], timedelta(days=1))
        certificate, key = client.write(certificates / "secrets/admin")
        cluster = {"server": "https://localhost:6443", "certificate-authority": str(self.folder / "ca.crt")}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "localhost", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"client-certificate": str(certificate), "client-key": str(key)}}],
            "contexts": [{"name": "admin", "context": {"cluster": "localhost", "user": "admin"}}],
            "current-context": "admin",
        }
        (folder / "localhost.kubeconfig").write_text(json.dumps(content), encoding="utf-8")

    def pod(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / f"node{number}-manifests" / "kube-vip.json").read_text(encoding="utf-8"))
        return found

    def on(self) -> set[str]:
        """Return the names of the nodes that have power."""
        return set(self._processes)

    def holders(self) -> list[int]:
        """Return the nodes that have the address on their interface and a link."""
        return [
            number
            for number in range(len(NODES))
            if f"node{number}" in self._processes
            and VIP in self.inside(f"node{number}", "ip", "-oneline", "address", "show", "dev", "eno1", "up")
        ]

    def is_ready(self) -> bool:
        """Return whether an API server answers the client outside at the address."""
        options = ("--silent", "--max-time", "2", "--cacert", str(self.folder / "ca.crt"), "--resolve", f"{API_NAME}:6443:{VIP}")
        words = self._words("outside", "curl", *options, f"https://{API_NAME}:6443/readyz")
        return subprocess.run(words, check=False, capture_output=True, text=True).stdout == "ok"

    @contextmanager
    def requests(self) -> Iterator[dict[str, Any]]:
        """Send 200 requests a second from outside to the address, each connection kept until it fails; the result is there afterwards."""
        words = self._words("outside", sys.executable, "-c", CLIENT, VIP, API_NAME, str(self.folder / "ca.crt"))
        result: dict[str, Any] = {}
        with subprocess.Popen(words, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "running\n"
            yield result
            result |= json.loads(client.communicate()[0])

    def cut(self, number: int) -> float:
        """Take the power of a node: its link goes, and its processes end without a word. Return when."""
        self.inside("switch", "ip", "link", "set", f"node{number}", "down")
        self._kill(f"node{number}")
        return time.monotonic()

    def power_on(self, number: int) -> None:
        """Start a node again. Its memory is lost, also the address that it had."""
        part = f"node{number}"
        self.inside(part, "ip", "address", "flush", "dev", "eno1")
        self.inside(part, "ip", "address", "add", f"{NODES[number]}/24", "dev", "eno1")
        self.inside("switch", "ip", "link", "set", part, "up")
        self._boot(number)

    def stop_api_server(self, number: int) -> None:
        """Kill the API server of a node, which goes on without it."""
        (process,) = [one for one in self._processes[f"node{number}"] if "kube-apiserver" in " ".join(map(str, one.args))]  # type: ignore[arg-type]
        self._processes[f"node{number}"].remove(process)
        os.killpg(process.pid, 9)
        process.wait()

    def start_api_server(self, number: int) -> None:
        self._start(f"node{number}", "kube-apiserver", str(self._binaries.kube_apiserver), *self._api_server(number))

    def _kill(self, part: str) -> None:
        for process in self._processes.pop(part):
            os.killpg(process.pid, 9)
            process.wait()

    def log(self) -> str:
        return "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in sorted(self.folder.glob("*kube-vip.log"))
        )


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory, kube_vip: Path) -> Iterator[Bridge]:
    with Bridge(tmp_path_factory.mktemp("kube-vip-arp"), ensure_binaries(), kube_vip).running() as made:
        until(made, lambda: made.is_ready() and len(made.holders()) == 1, START_LIMIT)
        yield made


def until(bridge: Bridge, is_so: Any, limit: float) -> None:
    deadline = time.monotonic() + limit
    while not is_so():
        assert time.monotonic() < deadline, bridge.log()
        time.sleep(0.2)


def test_one_node_has_the_address(bridge: Bridge) -> None:
    assert len(bridge.holders()) == 1
    assert bridge.pod(0)["spec"]["volumes"][0]["hostPath"]["type"] == "Directory"


def test_the_address_leaves_a_node_whose_api_server_ends(bridge: Bridge) -> None:
    (before,) = bridge.holders()
    bridge.stop_api_server(before)
    until(bridge, lambda: (holders := bridge.holders()) != [before] and len(holders) == 1 and bridge.is_ready(), TAKEOVER)
    bridge.start_api_server(before)


def test_another_node_takes_the_address_of_one_without_power(bridge: Bridge) -> None:
    until(bridge, bridge.is_ready, START_LIMIT)
    (before,) = bridge.holders()
    with bridge.requests() as result:
        time.sleep(3)
        off = bridge.cut(before)
        until(bridge, lambda: len(bridge.holders()) == 1 and bridge.is_ready(), TAKEOVER)
        time.sleep(3)
    print(f"{len(result['failed'])} of {len(result['sent'])} requests failed, longest gap {result['gap']:.1f} s")
    assert not [when for when in result["failed"] if when < off - 1]
    assert result["gap"] < TAKEOVER
    assert len([when for when in result["sent"] if when not in set(result["failed"])]) > 1000


def test_the_address_comes_back_after_a_loss_of_power_of_all_nodes(bridge: Bridge) -> None:
    for number in range(len(NODES)):
        if f"node{number}" in bridge.on():
            bridge.cut(number)
    assert not bridge.is_ready()
    for number in range(len(NODES)):
        bridge.power_on(number)
    until(bridge, lambda: len(bridge.holders()) == 1 and bridge.is_ready(), START_LIMIT)
