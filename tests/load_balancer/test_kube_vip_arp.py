"""The address of the API by ARP: the real kube-vip on three control plane nodes with real etcd and API servers, on one bridge."""

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from sandbox.openshift import pki
from sandbox.openshift.binaries import Binaries, ensure_binaries
from sandbox.testing.process import REPOSITORY
from tests.kubeconfigs import write_kubeconfig
from tests.load_balancer.bridge import NODES, Bridge

pytestmark = [
    pytest.mark.long,
    pytest.mark.debian("iproute2", "jq"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

SCRIPT = REPOSITORY / "roles/ignition/files/kube-vip.sh"
IMAGE = VARIABLES["openshift_kube_vip_image"].default
VIP = "192.0.2.5"
API_NAME = "api.demo.metal.test"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plndr-cp-lock"
START_LIMIT = 90.0
TAKEOVER = 12.0
"""Seconds until another node has the address: the lease of 5 s, the election of an etcd leader, and what two busy cores take."""


class ControlPlane(Bridge):
    """Three control plane nodes."""

    address, port, name = VIP, 6443, API_NAME

    def __init__(self, folder: Path, binaries: Binaries, kube_vip: Path) -> None:
        super().__init__(folder)
        self._binaries = binaries
        self._kube_vip = kube_vip
        self._signer = pki.self_signed_ca("signer", timedelta(days=1))
        (folder / "ca.crt").write_bytes(self._signer.certificate)

    def boot(self, number: int) -> None:
        """Start a control plane node: a member of etcd, its API server, and kube-vip as the script configures it."""
        part, address = f"node{number}", NODES[number]
        peers = ",".join(f"node{other}=http://{ip}:2380" for other, ip in enumerate(NODES))
        self.start(
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
        self.start(part, "kube-apiserver", str(self._binaries.kube_apiserver), *self._api_server(number))
        # A node has its API server, with its certificates, some time after its first boot.
        certificates = self.folder / f"{part}-certificates"
        manifests = self.folder / f"{part}-manifests"
        settings = {"API_ADDRESS": VIP, "IMAGE": IMAGE, "MANIFESTS": str(manifests), "CERTIFICATES": str(certificates)}
        script = subprocess.Popen(self.words(part, "env", *(f"{name}={value}" for name, value in settings.items()), "bash", str(SCRIPT)))
        self._write_kubeconfig(certificates)
        assert script.wait(timeout=30) == 0
        (container,) = self.pod(number)["spec"]["containers"]
        environment = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry} | {"vip_nodename": part}
        # The kubelet starts the container again when kube-vip has lost the lease, and ended.
        again = 'while true; do "$0" manager; sleep 1; done'
        self.start(
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
        write_kubeconfig(folder / "localhost.kubeconfig", cluster, {"client-certificate": str(certificate), "client-key": str(key)})

    def pod(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / f"node{number}-manifests" / "kube-vip.json").read_text(encoding="utf-8"))
        return found

    def holders(self) -> list[int]:
        """Return the nodes that have the address on their interface and a link."""
        return [
            number
            for number in range(len(NODES))
            if f"node{number}" in self.on()
            and VIP in self.inside(f"node{number}", "ip", "-oneline", "address", "show", "dev", "eno1", "up")
        ]

    def start_api_server(self, number: int) -> None:
        self.start(f"node{number}", "kube-apiserver", str(self._binaries.kube_apiserver), *self._api_server(number))


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory, kube_vip: Path) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("kube-vip-arp"), ensure_binaries(), kube_vip).running() as made:
        made.until(lambda: made.is_ready() and len(made.holders()) == 1, START_LIMIT)
        yield made


def test_one_node_has_the_address(bridge: ControlPlane) -> None:
    assert len(bridge.holders()) == 1
    assert bridge.pod(0)["spec"]["volumes"][0]["hostPath"]["type"] == "Directory"


def test_the_address_leaves_a_node_whose_api_server_ends(bridge: ControlPlane) -> None:
    (before,) = bridge.holders()
    bridge.end(f"node{before}", "kube-apiserver")
    bridge.until(lambda: (holders := bridge.holders()) != [before] and len(holders) == 1 and bridge.is_ready(), TAKEOVER)
    bridge.start_api_server(before)


def test_another_node_takes_the_address_of_one_without_power(bridge: ControlPlane) -> None:
    bridge.until(bridge.is_ready, START_LIMIT)
    (before,) = bridge.holders()
    bridge.fail_over(before, lambda: len(bridge.holders()) == 1, TAKEOVER)


def test_the_address_comes_back_after_a_loss_of_power_of_all_nodes(bridge: ControlPlane) -> None:
    for number in range(len(NODES)):
        if f"node{number}" in bridge.on():
            bridge.cut(number)
    assert not bridge.is_ready()
    for number in range(len(NODES)):
        bridge.power_on(number)
    bridge.until(lambda: len(bridge.holders()) == 1 and bridge.is_ready(), START_LIMIT)
