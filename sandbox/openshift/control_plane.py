# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster's real etcd, kube-apiserver and kube-controller-manager on an internal loopback address.

Machines reach the API only through the TCP forwards of bootstrap and simulated control plane machines, so that the loss of these machines
has an effect. etcd listens on unix sockets in the cluster's own folder (mode 0700) only, since it would serve any user of the computer
otherwise.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from metal_api.process import Child
from sandbox.openshift import egress, pki
from sandbox.openshift.api import ClusterAPI
from sandbox.openshift.assets import Assets
from sandbox.openshift.binaries import Binaries
from sandbox.openshift.egress import Connect, Egress

_logger = logging.getLogger(__name__)

BOOTSTRAPPER: Final = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
BOOTSTRAPPER_GROUPS: Final = ("system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts")

# The cluster's own components; longer than any sandbox lives.
_INTERNAL_LIFETIME: Final = timedelta(days=3650)
# What the installer makes for 24 hours is followed up by a successor for 30 days, well before its end (as the operators of a
# real cluster do 16 to 22 hours after the install).
_ROTATE_BEFORE: Final = timedelta(hours=8)
_ROTATED_LIFETIME: Final = timedelta(days=60)
_START_LIMIT: Final = 60.0

_KUBELETS_SIGNER: Final = "kube-apiserver-to-kubelet-signer"
OWN_KEYS: Final = ("internal-signer", "internal-admin", _KUBELETS_SIGNER)
"""Keys that no process of a control plane reads."""
KUBELETS_CLIENT: Final = "system:kube-apiserver"
"""User name of the API server at kubelets."""

_CONTROLLERS: Final = (
    "certificatesigningrequest-signing-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "disruption-controller",
    "deployment-controller",
    "replicaset-controller",
    "daemonset-controller",
    "statefulset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
)


class ControlPlaneError(Exception):
    """The control plane did not start; the message has the last output of the failed process."""


class ControlPlane:
    """``directory`` holds everything (data, keys, logs) across restarts; ``address`` is the internal one.

    ``connect`` opens a connection to a kubelet from a machine whose API server runs.
    """

    def __init__(
        self, directory: Path, binaries: Binaries, address: str, assets: Assets, connect: Connect = asyncio.open_connection
    ) -> None:
        self._directory = directory
        self._address = address
        self._assets = assets
        self._binaries = binaries
        self._port = 0
        self._api: ClusterAPI | None = None
        self._rotation: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._pki = directory / "pki"
        self._egress = Egress(directory, connect)
        self._etcd = self._child("etcd", self._etcd_command)
        self._apiserver = self._child("kube-apiserver", self._apiserver_command)
        self._controllers = self._child("kube-controller-manager", self._controllers_command)

    @property
    def children(self) -> tuple[Child, ...]:
        """The three processes."""
        return self._etcd, self._apiserver, self._controllers

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """Internal (address, port) of the API while it is meant to run."""
        return (self._address, self._port) if self._api is not None else None

    @property
    def api(self) -> ClusterAPI:
        """A client in ``system:masters``. Raises :class:`ControlPlaneError` while the control plane is not up."""
        if self._api is None:
            raise ControlPlaneError("the control plane does not run")
        return self._api

    @property
    def running(self) -> bool:
        return self._api is not None

    async def start(self) -> None:
        """Start the processes and return when the API is ready. Raises :class:`ControlPlaneError`."""
        async with self._lock:
            if self._api is not None:
                return
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._directory.chmod(0o700)
            await asyncio.to_thread(self._prepare)
            self._port = _free_port(self._address)
            api: ClusterAPI | None = None
            try:
                await self._egress.open()
                await self._etcd.start()
                await self._apiserver.start()
                api = await self._until_ready()
                pki.write_file(self._pki / "controllers.kubeconfig", self.controllers_kubeconfig(self._address, self._port))
                await self._controllers.start()
            except BaseException:
                await self._stop_children()
                if api is not None:
                    await api.close()
                raise
            self._api = api
            self._rotation = asyncio.create_task(self._rotate(), name="rotate certificates")

    def set_quorum(self, *, present: bool) -> None:
        """Suspend etcd while its members have no quorum: reads and writes of the API then wait until they time out, as without a leader."""
        if present:
            self._etcd.resume()
        else:
            self._etcd.suspend()

    async def stop(self) -> None:
        """End the processes; the data of etcd is kept for the next start."""
        async with self._lock:
            # A suspended process does not end.
            self._etcd.resume()
            if self._rotation is not None:
                self._rotation.cancel()
                await asyncio.gather(self._rotation, return_exceptions=True)
                self._rotation = None
            api, self._api = self._api, None
            if api is not None:
                await api.close()
            await self._stop_children()

    async def _stop_children(self) -> None:
        await self._controllers.stop()
        # Open watches would delay a graceful end. There are no clients left, and the process has no state of its own.
        await self._apiserver.stop(patience=0)
        await self._etcd.stop()
        await self._egress.close()

    async def _until_ready(self) -> ClusterAPI:
        deadline = time.monotonic() + _START_LIMIT
        while time.monotonic() < deadline:
            # A client for each try: a start that found its port taken continues at another one.
            api = self.client(self._address, self._port)
            try:
                if await api.ready():
                    return api
            except BaseException:
                await api.close()
                raise
            await api.close()
            await asyncio.sleep(0.2)
        slow = self._apiserver if self._etcd.pid else self._etcd
        raise ControlPlaneError(f"the API is not ready after {_START_LIMIT:.0f} s; {slow.name} says: {slow.last_words()}")

    def client(self, address: str, port: int) -> ClusterAPI:
        """Return an administrator's client of the API server at this address."""
        return ClusterAPI(
            f"https://{address}:{port}",
            server_name=f"api-int.{self._assets.domain}",
            ca_pem=self._assets.certificate("kube-apiserver-lb-signer"),
            cert=(self._pki / "internal-admin.crt", self._pki / "internal-admin.key"),
        )

    # --- keys and files ---------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Write all keys and files that the processes read, and the administrator's certificate."""
        own = pki.KeyPair.read(self._pki / "internal-signer")
        if own is None:
            own = pki.self_signed_ca("sandbox-internal-signer", _INTERNAL_LIFETIME)
            own.write(self._pki / "internal-signer")
        identities: dict[str, tuple[str, tuple[str, ...]]] = {
            "internal-admin": ("system:admin", ("system:masters",)),
            "internal-controllers": ("system:kube-controller-manager", ()),
        }
        for name, (user, organizations) in identities.items():
            if pki.KeyPair.read(self._pki / name) is None:
                pki.client(own, user, organizations, _INTERNAL_LIFETIME).write(self._pki / name)
        kubelets = pki.KeyPair.read(self._pki / _KUBELETS_SIGNER)
        if kubelets is None:
            kubelets = pki.self_signed_ca(_KUBELETS_SIGNER, _INTERNAL_LIFETIME)
            kubelets.write(self._pki / _KUBELETS_SIGNER)
            pki.client(kubelets, KUBELETS_CLIENT, ("kube-master",), _INTERNAL_LIFETIME).write(self._pki / "kubelet-client")
        pki.write_file(self._pki / "service-account.key", self._assets.files["tls/service-account.key"])
        # The CA bundle with which pods verify the API.
        pki.write_file(self._pki / "root-ca.crt", self._assets.kubelet_ca_bundle)
        groups = ",".join(BOOTSTRAPPER_GROUPS)
        line = f'{self._assets.token},{BOOTSTRAPPER},node-bootstrapper,"{groups}"\n'
        pki.write_file(self._pki / "tokens.csv", line.encode())
        self.refresh()

    def refresh(self) -> None:
        """Write serving certificates, signer of node certificates and client CAs, with successors for those near their end.

        kube-apiserver and kube-controller-manager read these files again when they change.
        """
        for name, signer_name in self._assets.servers.items():
            serving = pki.KeyPair.read(self._pki / name) or self._pair(name)
            if serving.remaining < _ROTATE_BEFORE:
                _logger.info("making a new %s for %s", name, self._assets.domain)
                serving = pki.successor(self._pair(signer_name), serving.certificate, _ROTATED_LIFETIME)
            serving.write(self._pki / name)
        signer = self.node_certificate_signer
        signers = self._pki / "csr-signers.crt"
        trusted = signers.read_bytes() if signers.exists() else signer.certificate
        if signer.remaining < _ROTATE_BEFORE:
            _logger.info("making a new signer of node certificates for %s", self._assets.domain)
            name = f"openshift-kube-controller-manager-operator_csr-signer-signer@{int(time.time())}"
            signer = pki.self_signed_ca(name, _ROTATED_LIFETIME)
            trusted += signer.certificate
        signer.write(self._pki / "csr-signer")
        pki.write_file(signers, trusted)
        bundles = ("kube-control-plane-ca-bundle", "kubelet-bootstrap-kubeconfig-ca-bundle")
        extra = (self._assets.files.get(f"tls/{name}.crt") for name in bundles)
        internal = (self._pki / "internal-signer.crt").read_bytes()
        pki.write_file(
            self._pki / "client-ca.crt",
            b"".join((self._assets.certificate("admin-kubeconfig-ca-bundle"), trusted, internal, *(pem for pem in extra if pem))),
        )

    @property
    def node_certificate_authorities(self) -> bytes:
        """PEM of all signers whose node certificates are in use (ConfigMap csr-controller-ca)."""
        return (self._pki / "csr-signers.crt").read_bytes()

    @property
    def kubelet_client_ca_bundle(self) -> bytes:
        """PEM of the CAs whose clients a kubelet accepts (its kubelet-ca.crt): the API server's, and the signers of node certificates."""
        return pki.KeyPair.paths(self._pki / _KUBELETS_SIGNER)[0].read_bytes() + self.node_certificate_authorities

    @property
    def node_certificate_signer(self) -> pki.KeyPair:
        """The present signer of node certificates."""
        return pki.KeyPair.read(self._pki / "csr-signer") or self._pair("kubelet-signer")

    async def _rotate(self) -> None:
        while True:
            await asyncio.sleep(3600)
            try:
                await asyncio.to_thread(self.refresh)
            except OSError:
                _logger.exception("certificates of %s could not be renewed; trying again in an hour", self._assets.domain)

    def _pair(self, name: str) -> pki.KeyPair:
        return pki.KeyPair(self._assets.certificate(name), self._assets.key(name))

    def controllers_kubeconfig(self, address: str, port: int) -> bytes:
        """Return the kubeconfig of a kube-controller-manager, for the API server at this address."""

        def text(path: Path) -> str:
            return base64.b64encode(path.read_bytes()).decode()

        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "internal",
            "contexts": [{"name": "internal", "context": {"cluster": "internal", "user": "internal"}}],
            "clusters": [
                {
                    "name": "internal",
                    "cluster": {
                        "server": f"https://{address}:{port}",
                        "tls-server-name": f"api-int.{self._assets.domain}",
                        "certificate-authority-data": base64.b64encode(self._assets.certificate("kube-apiserver-lb-signer")).decode(),
                    },
                }
            ],
            "users": [
                {
                    "name": "internal",
                    "user": {
                        "client-certificate-data": text(self._pki / "internal-controllers.crt"),
                        "client-key-data": text(self._pki / "internal-controllers.key"),
                    },
                }
            ],
        }
        return json.dumps(kubeconfig).encode()

    # --- command lines (paths relative to the directory: unix socket paths are short of room) -------------------------

    def _child(self, name: str, command: Callable[[], list[str]]) -> Child:
        return Child(name, command, directory=self._directory, log=self._directory / f"{name}.log")

    def _etcd_command(self) -> list[str]:
        return [
            str(self._binaries.etcd),
            "--name=sandbox",
            "--data-dir=etcd",
            "--listen-client-urls=unix://etcd:1",
            "--advertise-client-urls=unix://etcd:1",
            "--listen-peer-urls=unix://etcd:2",
            "--initial-advertise-peer-urls=unix://etcd:2",
            "--initial-cluster=sandbox=unix://etcd:2",
            # A killed process loses nothing that it wrote, only a power cut of the computer would.
            "--unsafe-no-fsync",
            "--auto-compaction-mode=periodic",
            "--auto-compaction-retention=5m",
            "--log-level=warn",
        ]

    def _apiserver_command(self) -> list[str]:
        if self._api is None and self._apiserver.starts > 1:
            self._port = _free_port(self._address)
        return [
            str(self._binaries.kube_apiserver),
            f"--bind-address={self._address}",
            f"--secure-port={self._port}",
            f"--advertise-address={self._address}",
            f"--egress-selector-config-file={egress.CONFIGURATION}",
            "--etcd-servers=unix://etcd:1",
            *apiserver_flags(self._assets),
        ]

    def _controllers_command(self) -> list[str]:
        return [str(self._binaries.kube_controller_manager), "--leader-elect=false", *CONTROLLERS_FLAGS]


def apiserver_flags(assets: Assets) -> list[str]:
    """Return the flags that every API server of a cluster has. Paths are relative to a directory with its keys and files in ``pki``."""
    networking = assets.install_config.get("networking") or {}
    services = networking.get("serviceNetwork") or ["172.30.0.0/16"]
    default, *others = assets.servers
    return [
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={','.join(services)}",
        f"--tls-cert-file=pki/{default}.crt",
        f"--tls-private-key-file=pki/{default}.key",
        # By the names in them, as clients name the server (SNI).
        *(f"--tls-sni-cert-key=pki/{name}.crt,pki/{name}.key" for name in others),
        "--client-ca-file=pki/client-ca.crt",
        "--token-auth-file=pki/tokens.csv",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--service-account-issuer=https://kubernetes.default.svc",
        # The private key contains its public half.
        "--service-account-key-file=pki/service-account.key",
        "--service-account-signing-key-file=pki/service-account.key",
        "--kubelet-client-certificate=pki/kubelet-client.crt",
        "--kubelet-client-key=pki/kubelet-client.key",
        "--kubelet-certificate-authority=pki/csr-signers.crt",
        "--kubelet-preferred-address-types=InternalIP",
        "--allow-privileged",
        "--profiling=false",
        "--shutdown-delay-duration=0s",
    ]


CONTROLLERS_FLAGS: Final = (
    "--kubeconfig=pki/controllers.kubeconfig",
    "--authentication-kubeconfig=pki/controllers.kubeconfig",
    "--authorization-kubeconfig=pki/controllers.kubeconfig",
    "--secure-port=0",
    "--use-service-account-credentials",
    f"--controllers={','.join(_CONTROLLERS)}",
    "--cluster-signing-cert-file=pki/csr-signer.crt",
    "--cluster-signing-key-file=pki/csr-signer.key",
    "--cluster-signing-duration=720h",
    "--root-ca-file=pki/root-ca.crt",
    "--profiling=false",
)
"""Flags that every kube-controller-manager has, with paths as above."""


def _free_port(address: str) -> int:
    """Return a free port at ``address``. If another process opens it first, the API server chooses again."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port
