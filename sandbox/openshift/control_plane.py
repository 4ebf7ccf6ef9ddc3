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
import socket
import time
from collections.abc import Callable
from typing import Final

import httpx

from metal_api.process import Child
from sandbox.openshift import egress, pki
from sandbox.openshift.api import APIError, ClusterAPI
from sandbox.openshift.assets import Assets
from sandbox.openshift.binaries import Binaries
from sandbox.openshift.control_plane_keys import CONTROLLERS, ControlPlaneKeys
from sandbox.openshift.egress import Connect, Egress

_START_LIMIT: Final = 60.0

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


PASSING_FAILURES: Final = (APIError, ControlPlaneError, httpx.HTTPError)
"""Errors of a call that may succeed when it is repeated."""


class ControlPlane:
    """Data and logs are beside the folder of ``keys``, across restarts. ``address`` is the internal one.

    ``connect`` opens a connection to a kubelet from a machine whose API server runs.
    """

    def __init__(
        self, keys: ControlPlaneKeys, binaries: Binaries, address: str, assets: Assets, connect: Connect = asyncio.open_connection
    ) -> None:
        self._keys = keys
        self._directory = directory = keys.directory.parent
        self._address = address
        self._assets = assets
        self._binaries = binaries
        self._port = 0
        self._api: ClusterAPI | None = None
        self._rotation: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
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
            await asyncio.to_thread(self._keys.prepare)
            self._port = _free_port(self._address)
            api: ClusterAPI | None = None
            try:
                await self._egress.open()
                await self._etcd.start()
                await self._apiserver.start()
                api = await self._until_ready()
                kubeconfig = self._keys.kubeconfig(CONTROLLERS, self._address, self._port)
                pki.write_file(self._keys.directory / "controllers.kubeconfig", kubeconfig)
                await self._controllers.start()
            except BaseException:
                await self._stop_children()
                if api is not None:
                    await api.close()
                raise
            self._api = api
            self._rotation = asyncio.create_task(self._keys.rotate(), name="rotate certificates")

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
            api = self._keys.client(self._address, self._port)
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
    default, *others = assets.servers
    return [
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={','.join(assets.service_networks)}",
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
