# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster whose bootstrap and control plane machines run their own control plane: etcd member, API server and so on, as static pods.

Its data is on their disks alone. The member of the bootstrap machine begins the etcd cluster, those of the others join it, and the etcd
operator removes it.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import Final

from sandbox.machines import Machine
from sandbox.openshift import pki, static_pods
from sandbox.openshift.api import ClusterAPI
from sandbox.openshift.binaries import Binaries
from sandbox.openshift.cluster import Cluster, Member
from sandbox.openshift.control_plane import ControlPlaneError
from sandbox.openshift.control_plane_keys import CONTROLLERS, SCHEDULER
from sandbox.openshift.etcd import BOOTSTRAP, EtcdMember
from sandbox.openshift.real_etcd import RealEtcd
from sandbox.openshift.resources import ETCD_SECRETS, secret_data
from sandbox.openshift.static_pods import API_PORT, Disk

BOOTSTRAP_REMOVED: Final = "bootstrap-member-removed"
_LIFETIME: Final = timedelta(days=1095)
_POLL: Final = 1.0
"""Real seconds."""


class StaticPodCluster(Cluster):
    """See the module."""

    has_scheduler = True

    def _make_control_plane(self, binaries: Binaries) -> None:
        self._certificates = self.directory / "etcd-certs"
        client = pki.KeyPair.paths(self._certificates / "etcd-client")
        self._etcd = RealEtcd(self._by_address, client, self._certificates / "ca.crt")
        self._client: ClusterAPI | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def etcd(self) -> RealEtcd:
        return self._etcd

    @property
    def api(self) -> ClusterAPI:
        if self._client is None:
            raise ControlPlaneError("no API server of the cluster is ready")
        return self._client

    def _by_address(self) -> dict[str, Machine]:
        return {self.members[device_id].address: machine for device_id, machine in self.machines.items()}

    # --- machines ------------------------------------------------------------------------------------------------------

    async def _switch_on(self, machine: Machine, member: Member) -> None:
        _disk(machine)
        await asyncio.to_thread(self._prepare)
        if not self._tasks:
            work = (self._follow_api(), self.keys.rotate(self._write_keys))
            self._tasks = [asyncio.create_task(task, name=f"API of {self.assets.domain}") for task in work]

    def _prepare(self) -> None:
        """Write the keys of the cluster, and the certificate of clients of etcd."""
        self.keys.prepare()
        if pki.KeyPair.read(self._certificates / "etcd-client") is None:
            pki.write_file(self._certificates / "ca.crt", self.etcd_signer.certificate)
            pki.client(self.etcd_signer, "etcd", ("etcd",), _LIFETIME).write(self._certificates / "etcd-client")

    async def _switch_off(self) -> None:
        """Its pods have ended with it."""

    async def _stop(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await super()._stop()
        await self._use(None)

    async def install(self, machine: Machine, address: str) -> None:
        disk = _disk(machine)
        is_bootstrap = self.members[machine.hardware.device_id].role == "bootstrap"
        if is_bootstrap and self.has_reached(BOOTSTRAP_REMOVED):
            disk.remove_all()
            return
        disk.write(self._files())
        if not disk.has("kube-apiserver"):
            name = BOOTSTRAP if is_bootstrap else machine.hardware.hostname.lower()
            disk.write(self._first_member_files(address) if is_bootstrap else await self._member_files(name))
            disk.install("etcd", static_pods.etcd(name, address, is_first=is_bootstrap))
            machine.console("static pods: etcd is installed")
            while not await self._has_started(address):  # noqa: ASYNC110 - it is polled
                await asyncio.sleep(_POLL)
            disk.install("kube-apiserver", static_pods.kube_apiserver(self.assets, address))
            disk.install("kube-controller-manager", static_pods.kube_controller_manager())
            disk.install("kube-scheduler", static_pods.kube_scheduler())
            machine.console("static pods: kube-apiserver, kube-controller-manager and kube-scheduler are installed")
        async with self.keys.client(address, API_PORT) as api:
            while not await api.ready():  # noqa: ASYNC110 - as above
                await asyncio.sleep(_POLL)

    async def _has_started(self, address: str) -> bool:
        """Return whether the etcd member of a machine votes."""
        with contextlib.suppress(ControlPlaneError):
            await self.etcd.read()
        member = self.etcd.at(address)
        return member is not None and member.started

    # --- files of static pods, by their paths below those of the pods --------------------------------------------------

    def _files(self) -> dict[str, bytes]:
        clients = {"controllers": CONTROLLERS, "scheduler": SCHEDULER}
        kubeconfigs = {f"{name}.kubeconfig": self.keys.kubeconfig(client, "127.0.0.1", API_PORT) for name, client in clients.items()}
        of_etcd = {f"etcd-certs/{path.name}": path.read_bytes() for path in self._certificates.iterdir()}
        return {f"pki/{name}": content for name, content in {**self.keys.files(), **kubeconfigs}.items()} | of_etcd

    def _first_member_files(self, address: str) -> dict[str, bytes]:
        """Return new certificates of the member of the bootstrap machine."""
        files: dict[str, bytes] = {}
        for name in ("etcd-peer", "etcd-serving"):
            pair = pki.server(self.etcd_signer, f"system:{name}:{BOOTSTRAP}", ("localhost", address, "127.0.0.1"), _LIFETIME)
            files |= {f"etcd-certs/{name}.crt": pair.certificate, f"etcd-certs/{name}.key": pair.key}
        return files

    async def _member_files(self, node: str) -> dict[str, bytes]:
        """Return the certificates of the member of a node, which are in its secrets."""
        secrets = {item["metadata"]["name"]: secret_data(item) for item in await self.api.items(ETCD_SECRETS)}
        return {
            f"etcd-certs/{name}.{kind}": secrets[f"{name}-{node}"][f"tls.{kind}"]
            for name in ("etcd-peer", "etcd-serving")
            for kind in ("crt", "key")
        }

    def _write_keys(self) -> None:
        """Write renewed keys to the disks of the machines that are on."""
        files = self._files()
        for disk in self._disks():
            disk.write(files)

    def _disks(self) -> list[Disk]:
        """Return the disks of the machines whose systems run: one that ends is on for a moment longer."""
        return [Disk(machine.userland.root) for machine in self.machines.values() if machine.userland is not None]

    # --- the API server that the operators use ---------------------------------------------------------------------------

    async def _follow_api(self) -> None:
        """Use an API server that is ready, as a load balancer does."""
        while True:
            if self._client is None or not await self._client.ready():
                await self._use(await self._ready_client())
            await asyncio.sleep(_POLL)

    async def _ready_client(self) -> ClusterAPI | None:
        for address in list(self._by_address()):
            client = self.keys.client(address, API_PORT)
            if await client.ready():
                return client
            await client.close()
        return None

    async def _use(self, client: ClusterAPI | None) -> None:
        before, self._client = self._client, client
        if before is not None:
            await before.close()

    # --- etcd members --------------------------------------------------------------------------------------------------

    async def read_etcd_members(self) -> None:
        await self.etcd.read()
        endpoints = "".join(f"{member.address}\n" for member in self.etcd).encode()
        for disk in self._disks():
            disk.write({static_pods.ENDPOINTS: endpoints})

    async def add_etcd_member(self, name: str, address: str) -> None:
        await self.etcd.add(address)

    async def start_etcd_members(self) -> None:
        await self.etcd.promote()

    async def remove_etcd_member(self, member: EtcdMember) -> None:
        await self.etcd.remove(member.id)
        if member.name == BOOTSTRAP:
            self.reach(BOOTSTRAP_REMOVED)
            for device_id, machine in self.machines.items():
                if self.members[device_id].role == "bootstrap":
                    _disk(machine).remove_all()


def _disk(machine: Machine) -> Disk:
    """Return the disk of a machine that is on. Raises :class:`ControlPlaneError`."""
    if machine.userland is None:
        raise ControlPlaneError("the system of this machine is simulated, and no static pod runs on it")
    return Disk(machine.userland.root)
