# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster whose control plane machines run their own etcd member, API server and controller manager: its data is on their disks alone.

The bootstrap machine is simulated. Its first member, API server and controller manager are processes of the sandbox; the member is at the
address of the machine, where those of the others join it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from sandbox.machines import Machine
from sandbox.openshift import pki, static_pods
from sandbox.openshift.api import ClusterAPI
from sandbox.openshift.binaries import Binaries
from sandbox.openshift.cluster import Cluster, Member
from sandbox.openshift.control_plane import CONTROLLERS_FLAGS, OWN_KEYS, ControlPlane, ControlPlaneError
from sandbox.openshift.etcd import BOOTSTRAP, EtcdMember
from sandbox.openshift.forward import Forward
from sandbox.openshift.real_etcd import RealEtcd, etcd_flags
from sandbox.openshift.resources import ETCD_SECRETS, secret_data
from sandbox.openshift.static_pods import API_PORT, Disk

_logger = logging.getLogger(__name__)

BOOTSTRAP_REMOVED: Final = "bootstrap-member-removed"
_LIFETIME: Final = timedelta(days=1095)
# Real seconds.
_POLL: Final = 1.0
_RENEW_EVERY: Final = 3600.0


class BootstrapControlPlane(ControlPlane):
    """The processes of the bootstrap machine. ``member``: it, while it is on."""

    member: Member | None = None

    @property
    def etcd_certificates(self) -> Path:
        """Folder of the certificates of etcd."""
        return self._directory / "etcd-certs"

    @property
    def keys(self) -> dict[str, bytes]:
        """All files that the processes of a control plane read, by their paths relative to the directory that they run in."""
        files = {f"pki/{path.name}": path.read_bytes() for path in self._pki.iterdir() if path.stem not in OWN_KEYS}
        return files | {"pki/controllers.kubeconfig": self.controllers_kubeconfig("127.0.0.1", API_PORT)}

    def _etcd_command(self) -> list[str]:
        if self.member is None:
            raise RuntimeError("etcd runs for a bootstrap machine that is on")
        address = self.member.address
        flags = etcd_flags(BOOTSTRAP, address, "unix://etcd:1", {BOOTSTRAP: address})
        return [str(self._binaries.etcd), f"--data-dir={Path(self.member.directory) / 'data'}", *flags]

    def _controllers_command(self) -> list[str]:
        return [str(self._binaries.kube_controller_manager), "--leader-elect=true", *CONTROLLERS_FLAGS]


class StaticPodCluster(Cluster):
    """See the module."""

    control_plane: BootstrapControlPlane

    def _make_control_plane(self, binaries: Binaries) -> BootstrapControlPlane:
        made = BootstrapControlPlane(self.directory / "control-plane", binaries, self.address, self.assets, self._connect)
        client = pki.KeyPair.paths(made.etcd_certificates / "etcd-client")
        self._etcd = RealEtcd(self._by_address, client, made.etcd_certificates / "ca.crt")
        self._client: ClusterAPI | None = None
        self._tasks: list[asyncio.Task[None]] = []
        return made

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
        if member.role == "bootstrap":
            if not self.has_reached(BOOTSTRAP_REMOVED):
                self.control_plane.member = member
                await asyncio.to_thread(self._certify, member.address)
                await self.control_plane.start()
        elif machine.userland is None:
            raise ControlPlaneError("the system of this machine is simulated, and no static pod runs on it")
        if not self._tasks:
            self._tasks = [asyncio.create_task(work, name=f"API of {self.assets.domain}") for work in (self._follow_api(), self._renew())]

    def _certify(self, address: str) -> None:
        """Write the certificates of the first member, and of clients."""
        folder, signer = self.control_plane.etcd_certificates, self.etcd_signer
        pki.write_file(folder / "ca.crt", signer.certificate)
        for name in ("etcd-peer", "etcd-serving"):
            pki.server(signer, f"system:{name}:{BOOTSTRAP}", ("localhost", address, "127.0.0.1"), _LIFETIME).write(folder / name)
        pki.client(signer, "etcd", ("etcd",), _LIFETIME).write(folder / "etcd-client")

    async def _switch_off(self, member: Member) -> None:
        if member.role == "bootstrap":
            await self.control_plane.stop()

    async def _stop(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await super()._stop()
        await self._use(None)

    def forward(self, machine: Machine) -> Forward | None:
        return Forward(lambda: self.control_plane.endpoint) if machine.userland is None else None

    async def install(self, machine: Machine, address: str) -> None:
        disk, node = Disk(_root(machine)), machine.hardware.hostname.lower()
        disk.write(self.control_plane.keys)
        if not disk.has("kube-apiserver"):
            disk.write(await self._etcd_files(node))
            members = {member.name or node: member.address for member in self.etcd}
            disk.install("etcd", static_pods.etcd(node, address, members))
            machine.console("static pods: etcd is installed")
            while (member := self.etcd.at(address)) is None or not member.started:  # noqa: ASYNC110 - it is polled
                await asyncio.sleep(_POLL)
            disk.install("kube-apiserver", static_pods.kube_apiserver(self.assets, address))
            disk.install("kube-controller-manager", static_pods.kube_controller_manager())
            machine.console("static pods: kube-apiserver and kube-controller-manager are installed")
        async with self.control_plane.client(address, API_PORT) as api:
            while not await api.ready():  # noqa: ASYNC110 - as above
                await asyncio.sleep(_POLL)

    async def _etcd_files(self, node: str) -> dict[str, bytes]:
        """Return the files of a node's member, by their paths below those of static pods. They are in its secrets."""
        secrets = {item["metadata"]["name"]: secret_data(item) for item in await self.api.items(ETCD_SECRETS)}
        names = ("ca.crt", "etcd-client.crt", "etcd-client.key")
        files = {f"etcd-certs/{name}": (self.control_plane.etcd_certificates / name).read_bytes() for name in names}
        for name in ("etcd-peer", "etcd-serving"):
            for kind in ("crt", "key"):
                files[f"etcd-certs/{name}.{kind}"] = secrets[f"{name}-{node}"][f"tls.{kind}"]
        return files

    async def _renew(self) -> None:
        """Write renewed keys to the disks of the machines that are on."""
        while True:
            try:
                await asyncio.to_thread(self.control_plane.refresh)
                for machine in self.machines.values():
                    if machine.userland is not None:
                        Disk(machine.userland.root).write(self.control_plane.keys)
            except OSError:
                _logger.exception("certificates of %s could not be renewed; trying again in an hour", self.assets.domain)
            await asyncio.sleep(_RENEW_EVERY)

    # --- the API server that the operators use ---------------------------------------------------------------------------

    async def _follow_api(self) -> None:
        """Use an API server that is ready, as a load balancer does."""
        while True:
            if self._client is None or not await self._client.ready():
                await self._use(await self._ready_client())
            await asyncio.sleep(_POLL)

    async def _ready_client(self) -> ClusterAPI | None:
        for address, port in list(self._servers()):
            client = self.control_plane.client(address, port)
            if await client.ready():
                return client
            await client.close()
        return None

    def _servers(self) -> Iterator[tuple[str, int]]:
        if self.control_plane.endpoint is not None:
            yield self.control_plane.endpoint
        for address, machine in self._by_address().items():
            if machine.userland is not None:
                yield address, API_PORT

    async def _use(self, client: ClusterAPI | None) -> None:
        before, self._client = self._client, client
        if before is not None:
            await before.close()

    # --- etcd members --------------------------------------------------------------------------------------------------

    async def read_etcd_members(self) -> None:
        await self.etcd.read()

    async def add_etcd_member(self, name: str, address: str) -> None:
        await self.etcd.add(address)

    async def start_etcd_members(self) -> None:
        await self.etcd.promote()

    async def remove_etcd_member(self, member: EtcdMember) -> None:
        await self.etcd.remove(member.id)
        if member.name == BOOTSTRAP:
            self.reach(BOOTSTRAP_REMOVED)
            async with self._lock:
                await self.control_plane.stop()


def _root(machine: Machine) -> Path:
    if machine.userland is None:
        raise ControlPlaneError("the system of this machine does not run")
    return machine.userland.root
