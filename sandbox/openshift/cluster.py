# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clusters of a sandbox: created from a bootstrap config, running while one of their machines is on, restored after a crash.

A cluster has assets, a control plane (real processes) and operators. It is one of two kinds: the processes run once for all its machines
while one is on, or each control plane machine runs its own (:mod:`sandbox.openshift.static_pod_cluster`). The data of a cluster belongs to
its machines' disks, so a cluster without machines is deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import shutil
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import httpx

from sandbox.clock import Clock
from sandbox.machines import Machine
from sandbox.openshift import machine_config_server, node_files, pki, resources
from sandbox.openshift.api import CSRS, APIError, ClusterAPI, Object
from sandbox.openshift.assets import Assets
from sandbox.openshift.binaries import Binaries
from sandbox.openshift.control_plane import ControlPlane
from sandbox.openshift.control_plane_keys import ControlPlaneKeys
from sandbox.openshift.etcd import BOOTSTRAP, Etcd, EtcdMember, EtcdMembers
from sandbox.openshift.forward import Forward
from sandbox.openshift.installer import catalogue
from sandbox.openshift.operators import Operators
from sandbox.openshift.router import Routers

_logger = logging.getLogger(__name__)

Role = Literal["bootstrap", "control-plane"]

MANIFESTS_APPLIED: Final = "manifests-applied"
BOOTKUBE_DONE: Final = "bootkube-done"
# Not a step but something to do at the next start: so much time has passed that all earlier certificate requests are cleaned away.
REQUESTS_OUTLIVED: Final = "requests-outlived"

_INTERNAL_NETWORK: Final = "127.127"
_INTERNAL_ADDRESSES: Final = 250 * 250
_SWEEPS: Final = 20
# Real seconds.
_ROUTE_TIMEOUT: Final = 5.0


@dataclass
class Member:
    """A machine that holds the cluster's data: ``directory`` is its disk, gone when the machine is."""

    device_id: str
    role: Role
    directory: str
    serving: bool = False
    """Whether its own API server (of a simulated machine: the forward to the real one) and machine config server were ever up."""
    address: str = ""
    etcd_id: int = 0
    """Id of the etcd member whose data is on its disk; 0 for none."""


class Cluster(ABC):
    """One cluster. ``directory`` is its own, across restarts. Subclasses have the control planes of its machines."""

    has_scheduler: bool = False
    """Whether a kube-scheduler runs in it. Without one the sandbox places its pods."""

    def __init__(  # noqa: PLR0913 - made in one place only
        self, directory: Path, assets: Assets, *, address: str, clock: Clock, binaries: Binaries, mirror_url: str
    ) -> None:
        self.directory = directory
        self.assets = assets
        self.clock = clock
        self.address = address
        self.keys = ControlPlaneKeys(directory / "control-plane" / "pki", assets)
        self._make_control_plane(binaries)
        self.members: dict[str, Member] = {}
        self.on: set[str] = set()
        self.routers = Routers()
        self.machines: dict[str, Machine] = {}
        """The machines that are on, by device id: operators reach the cluster through their networks."""
        self.on_idle: Callable[[], None] = lambda: None
        """Called when the last machine that was on is off."""
        self._mirror_url = mirror_url
        self._reached: set[str] = set()
        self._upgraded_to = ""
        self._operators: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def id(self) -> str:
        return self.assets.cluster_id

    @property
    def version(self) -> str:
        """The release that the cluster runs or is upgraded to; at first that of the installer."""
        return self._upgraded_to or self.assets.version

    @property
    def is_upgraded(self) -> bool:
        return bool(self._upgraded_to)

    def upgrade(self, version: str) -> None:
        """Begin an upgrade. The operators notice it in their next round."""
        self._upgraded_to = version
        self._save()

    # --- the control planes of its machines ------------------------------------------------------------------------------

    @abstractmethod
    def _make_control_plane(self, binaries: Binaries) -> None:
        """Make what reaches or runs the etcd and the API servers, at the end of the initialization."""

    @property
    @abstractmethod
    def etcd(self) -> EtcdMembers:
        """The etcd members."""

    @property
    @abstractmethod
    def api(self) -> ClusterAPI:
        """Administrator's client of an API server that runs. Raises :class:`ControlPlaneError` while there is none."""

    @abstractmethod
    async def _switch_on(self, machine: Machine, member: Member) -> None:
        """Start what runs for a machine that is on now."""

    @abstractmethod
    async def _switch_off(self) -> None:
        """Apply that a machine is off now."""

    @abstractmethod
    async def install(self, machine: Machine, address: str) -> None:
        """Return when the API server of a bootstrap or control plane machine that is on serves, and install it before at the first boot."""

    def forward(self) -> Forward | None:
        """Return the forward from the port of the API of a machine; None where machines have API servers of their own."""
        return None

    @abstractmethod
    async def read_etcd_members(self) -> None:
        """Read the etcd members and their health."""

    @abstractmethod
    async def add_etcd_member(self, name: str, address: str) -> None:
        """Add the member of a machine as a learner. ``name``: of its node."""

    @abstractmethod
    async def start_etcd_members(self) -> None:
        """Let learners vote that have started."""

    @abstractmethod
    async def remove_etcd_member(self, member: EtcdMember) -> None:
        """Remove a member. Raises :class:`sandbox.openshift.etcd.MembershipError`."""

    # --- which machines are on ----------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def member(self, machine: Machine, role: Role, directory: Path, address: str) -> AsyncIterator[None]:
        """Count a machine as on while inside, with its part of the control plane."""
        await self._join(machine, role, directory, address)
        try:
            yield
        finally:
            await self._leave(machine.hardware.device_id)

    async def _join(self, machine: Machine, role: Role, directory: Path, address: str) -> None:
        device_id = machine.hardware.device_id
        async with self._lock:
            if not _has_data(directory):
                # A new disk, or one that was wiped since: nothing of an earlier member is left.
                self.members.pop(device_id, None)
            member = self.members.setdefault(device_id, Member(device_id, role, str(directory), address=address))
            self._save()
            self.on.add(device_id)
            self.machines[device_id] = machine
            try:
                await self._switch_on(machine, member)
            except BaseException:
                self.on.discard(device_id)
                del self.machines[device_id]
                raise
            if self.has_reached(MANIFESTS_APPLIED):
                self._start_operators()

    async def _leave(self, device_id: str) -> None:
        async with self._lock:
            self.on.discard(device_id)
            self.machines.pop(device_id, None)
            await self._switch_off()
            if not self.on:
                _logger.info("no machine of cluster %s is on: its API ends", self.assets.domain)
                await self._stop()
                self.on_idle()

    def disk_of(self, address: str) -> Path | None:
        """Return the disk of the machine of this address that runs an etcd member."""
        members = [member for member in self.members.values() if member.device_id in self.on and member.address == address]
        return Path(members[0].directory).parent if members else None

    async def close(self) -> None:
        """Stop the processes, even if machines are on."""
        async with self._lock:
            self.on.clear()
            await self._stop()

    async def _stop(self) -> None:
        operators, self._operators = self._operators, None
        if operators is not None:
            operators.cancel()
            await asyncio.gather(operators, return_exceptions=True)

    def forget_removed_machines(self) -> bool:
        """Drop members whose disk is gone; True when none is left and the cluster's data with them."""
        gone = [member for member in self.members.values() if member.device_id not in self.on and not Path(member.directory).exists()]
        for member in gone:
            del self.members[member.device_id]
        if gone:
            self._save()
        return bool(gone) and not self.members

    @property
    def serving(self) -> list[Member]:
        """The control plane machines, on or off, whose own API servers came up once."""
        return [member for member in self.members.values() if member.serving and member.role == "control-plane"]

    @property
    def serving_control_planes(self) -> int:
        return len(self.serving)

    def mark_serving(self, device_id: str) -> None:
        """Note that a machine's own API server came up."""
        member = self.members[device_id]
        if not member.serving:
            member.serving = True
            self._save()

    # --- steps that are kept across a restart --------------------------------------------------------------------------

    def has_reached(self, step: str) -> bool:
        """Whether a step was marked as done."""
        return step in self._reached

    def reach(self, step: str) -> None:
        """Mark a step as done."""
        if step not in self._reached:
            self._reached.add(step)
            self._save()

    def _save(self) -> None:
        record = {
            "address": self.address,
            "members": [asdict(member) for member in self.members.values()],
            "reached": sorted(self._reached),
            "upgraded_to": self._upgraded_to,
        }
        pki.write_file(self.directory / "cluster.json", json.dumps(record).encode())

    def load(self, record: dict[str, Any]) -> None:
        """Take over what an earlier process saved."""
        self.members = {entry["device_id"]: Member(**entry) for entry in record["members"]}
        self._reached = set(record["reached"])
        self._upgraded_to = record.get("upgraded_to", "")

    # --- making the cluster (what runs on the bootstrap machine) ---------------------------------------------------------

    async def set_up(self) -> None:
        """Give a new API server the cluster's first objects; may be repeated. Raises what the API refuses."""
        api = self.api
        for item in (*resources.namespaces(), *resources.rights()):
            await api.apply(await api.path_of(item), item)
        for kind in resources.KINDS:
            definition = kind.definition()
            await api.apply(await api.path_of(definition), definition)
        await self._until_established()
        await self._apply_all([manifest for _unused, manifest in self.assets.manifest_documents()])
        for item in self._own_objects():
            await api.apply(await api.path_of(item), item)
        self.reach(MANIFESTS_APPLIED)
        self._start_operators()

    async def clean_requests(self, before: datetime) -> None:
        """Remove certificate requests if days have passed, as kube-controller-manager's cleaner does with those of yesterday."""
        if self.has_reached(REQUESTS_OUTLIVED):
            for metadata in [request["metadata"] for request in await self.api.items(CSRS)]:
                if datetime.fromisoformat(metadata["creationTimestamp"]) < before:
                    await self.api.delete(f"{CSRS}/{metadata['name']}")
            self._reached.discard(REQUESTS_OUTLIVED)
            self._save()

    def _start_operators(self) -> None:
        if self._operators is None:
            self.routers.certify(self._ingress_signer(), self.assets.domain)
            self._operators = asyncio.create_task(Operators(self).run(), name=f"operators of {self.assets.domain}")

    async def _until_established(self) -> None:
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        while True:
            items = await self.api.items(definitions)
            if all((resources.condition_of(item, "Established") or {}).get("status") == "True" for item in items):
                return
            await asyncio.sleep(0.1)

    async def _apply_all(self, manifests: list[Object]) -> None:
        """Apply manifests, in rounds while some succeed: one may bring the kind or the namespace another needs."""
        left = manifests
        while left:
            failed: list[tuple[Object, APIError]] = []
            for manifest in left:
                try:
                    await self._apply(manifest)
                except APIError as error:
                    failed.append((manifest, error))
            if len(failed) == len(left):
                for manifest, refusal in failed:
                    name = (manifest.get("metadata") or {}).get("name")
                    _logger.error("cluster %s: manifest of %s %s refused: %s", self.assets.domain, manifest.get("kind"), name, refusal)
                return
            left = [manifest for manifest, _unused in failed]

    async def _apply(self, manifest: Object) -> None:
        try:
            path = await self.api.path_of(manifest)
        except KeyError as error:
            raise APIError("apply a manifest", 400, "Invalid", f"the object has no {error}") from error
        metadata = {key: value for key, value in manifest["metadata"].items() if value is not None}
        if "/namespaces/" not in path:
            metadata.pop("namespace", None)
        body = {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}
        await self.api.apply(path, body)
        if manifest.get("status"):
            status = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": {"name": metadata["name"]}}
            await self.api.apply(path, {**status, "status": manifest["status"]}, status=True)

    def _own_objects(self) -> Iterator[Object]:
        root_ca = self.assets.certificate("root-ca")
        yield from node_files.machine_configs(self.assets)
        for name in ("master", "worker"):
            yield resources.pool(name)
            yield resources.user_data_secret(name, self.assets.domain, root_ca, self.version)
        yield resources.machine_config_server()
        yield self._boot_images()
        ca_bundle = self.keys.node_certificate_authorities.decode()
        yield resources.config_map("openshift-config-managed", "csr-controller-ca", {"ca-bundle.crt": ca_bundle})
        signer = self.keys.node_certificate_signer
        yield resources.signer_secret(resources.KUBELET_SIGNER, signer.certificate, signer.key)
        certificate, key = (read("kube-apiserver-lb-signer") for read in (self.assets.certificate, self.assets.key))
        yield resources.signer_secret(resources.SERVING_SIGNER, certificate, key)
        ingress = self._ingress_signer()
        yield resources.config_map("openshift-config-managed", "default-ingress-cert", {"ca-bundle.crt": ingress.certificate.decode()})
        # As the registry operator creates it on bare metal.
        yield {
            "apiVersion": "imageregistry.operator.openshift.io/v1",
            "kind": "Config",
            "metadata": {"name": "cluster"},
            "spec": {"managementState": "Removed", "logLevel": "Normal", "replicas": 1, "rolloutStrategy": "RollingUpdate", "storage": {}},
        }
        yield {
            "apiVersion": "operator.openshift.io/v1",
            "kind": "Etcd",
            "metadata": {"name": "cluster"},
            "spec": {"managementState": "Managed", "logLevel": "Normal", "operatorLogLevel": "Normal"},
        }

    def _ingress_signer(self) -> pki.KeyPair:
        return self._signer("ingress-operator", "ingress-operator@1", timedelta(days=730))

    @property
    def etcd_signer(self) -> pki.KeyPair:
        """The signer of the certificates of etcd members and their clients."""
        return self._signer("etcd-signer", "openshift-etcd_etcd-signer", timedelta(days=1825))

    def _signer(self, file: str, name: str, lifetime: timedelta) -> pki.KeyPair:
        signer = pki.KeyPair.read(self.directory / file)
        if signer is None:
            signer = pki.self_signed_ca(name, lifetime)
            signer.write(self.directory / file)
        return signer

    @property
    def routers_ca(self) -> bytes:
        """The CA of the routers' default certificate, PEM."""
        return self._ingress_signer().certificate

    async def reach_route(self, host: str) -> str:
        """Return why a route cannot be reached from a control plane machine, by its name; empty if it can.

        Empty also while no such machine is on, or where routers may not open their ports.
        """
        if self.routers.unprivileged:
            return ""
        for machine in (self.machines[member.device_id] for member in self.serving if member.device_id in self.machines):
            url, trust = f"https://{host}/healthz", self.routers_ca
            try:
                answer = await machine.http.request("GET", url, ca_pem=trust, timeout=_ROUTE_TIMEOUT)
            except httpx.HTTPError as error:
                return str(error) or type(error).__name__
            return "" if answer.is_success else f"HTTP {answer.status_code}"
        return ""

    async def follow_upgrade(self) -> None:
        """Write what the machine config operator of the new release brings: boot images, and user data in its own Ignition spec."""
        root_ca = self.assets.certificate("root-ca")
        secrets = [resources.user_data_secret(name, self.assets.domain, root_ca, self.version) for name in ("master", "worker")]
        for item in (*secrets, self._boot_images()):
            await self.api.apply(await self.api.path_of(item), item)

    def _boot_images(self) -> Object:
        data = {"releaseVersion": self.version}
        try:
            release = catalogue.release(self.version, self.assets.release_architecture)
        except KeyError:
            _logger.warning("no boot images are known for OpenShift %s %s", self.version, self.assets.release_architecture)
        else:
            data["stream"] = json.dumps(catalogue.stream(release, self._mirror_url))
        return resources.config_map("openshift-machine-config-operator", "coreos-bootimages", data)

    async def approve_pending(self) -> list[str]:
        """Approve every pending request, as the bootstrap machine's approve-csr.service does; return their names.

        Like ``oc adm certificate approve``, it checks nothing. A request that cannot be approved does not block the others.
        """
        approved = []
        for request in await self.api.items(CSRS):
            if (request.get("status") or {}).get("conditions"):
                continue
            name = request["metadata"]["name"]
            condition = {
                "type": "Approved",
                "status": "True",
                "reason": "KubectlApprove",
                "message": "This CSR was approved by kubectl certificate approve.",
            }
            request["status"] = {**(request.get("status") or {}), "conditions": [condition]}
            try:
                await self.api.put(f"{CSRS}/{name}/approval", request)
            except APIError as error:
                _logger.warning("approve-csr of %s: %s", self.assets.domain, error)
            else:
                approved.append(name)
        return approved

    # --- machine configs ---------------------------------------------------------------------------------------------

    async def rendered(self, pool: str) -> tuple[str, machine_config_server.Config]:
        """Return name and content of a pool's rendered config. Raises ``NotServedError`` for a pool the cluster has not."""
        pool_object = await self.api.get(f"{resources.POOLS}/{pool}")
        if pool_object is None:
            raise machine_config_server.NotServedError(f"no pool {pool} in cluster {self.assets.domain}")
        configs = await self.api.items(resources.MACHINE_CONFIGS)
        scheduler = await self.api.get(resources.SCHEDULER)
        return self.render(pool_object, configs, schedulable=masters_schedulable(scheduler))

    def render(self, pool: Object, machine_configs: list[Object], *, schedulable: bool) -> tuple[str, machine_config_server.Config]:
        """Render one MachineConfigPool object."""
        name = pool["metadata"]["name"]
        selector = (pool.get("spec") or {}).get("machineConfigSelector")
        chosen = [item for item in machine_configs if resources.selects(selector, resources.labels_of(item))]
        template = machine_config_server.template(name, schedulable=schedulable, dual_stack=len(self.assets.service_networks) > 1)
        config = machine_config_server.merged([template, *chosen])
        arguments = machine_config_server.kernel_arguments(chosen)
        # An upgrade brings another operating system, so every pool gets another rendered config. Kernel arguments are part of it too.
        system = " ".join([self.version if self.is_upgraded else "", *arguments]).strip()
        return machine_config_server.rendered_name(name, config, system), config

    async def bootstrap_config(self, pool: str) -> machine_config_server.Config:
        """Return what the bootstrap's machine config server serves: the control plane's config and nothing else."""
        if pool not in {"master", "arbiter"}:
            raise machine_config_server.NotServedError(f"refusing to serve bootstrap configuration to pool {pool!r}")
        return await self.cluster_config(pool)

    async def cluster_config(self, pool: str) -> machine_config_server.Config:
        """Return what the cluster's own machine config servers serve for any existing pool whose config has been rendered."""
        if pool not in {"master", "worker", "arbiter"}:
            pool_object = await self.api.get(f"{resources.POOLS}/{pool}")
            if not (((pool_object or {}).get("status") or {}).get("configuration") or {}).get("name"):
                raise machine_config_server.NotServedError(f"pool {pool} of cluster {self.assets.domain} has no rendered config (yet)")
        rendered, config = await self.rendered(pool)
        ca_bundle = self.keys.kubelet_client_ca_bundle
        return machine_config_server.with_appended(
            config, rendered=rendered, assets=self.assets, version=self.version, node_ca_bundle=ca_bundle
        )


class OneControlPlaneCluster(Cluster):
    """A cluster of simulated machines: etcd, API server and controllers run once, while a machine is on; the etcd members are simulated."""

    @property
    def etcd(self) -> Etcd:
        return self._etcd

    def _make_control_plane(self, binaries: Binaries) -> None:
        self._etcd = Etcd(self.directory / "etcd-members.json", self._running_etcd_members)
        self._etcd.on_change = self._apply_quorum
        self.control_plane = ControlPlane(self.keys, binaries, self.address, self.assets, self._connect)

    async def _connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection from a machine whose API server runs. Raises ``OSError``."""
        source = next((member for member in self.members.values() if member.device_id in self.on and member.address), None)
        return await asyncio.open_connection(address, port, local_addr=(source.address, 0) if source is not None else None)

    @property
    def api(self) -> ClusterAPI:
        return self.control_plane.api

    async def _switch_on(self, machine: Machine, member: Member) -> None:
        if member.role == "bootstrap" and not list(self.etcd):
            self.etcd.add(BOOTSTRAP, member.address)
        await self.control_plane.start()
        await self.start_etcd_members()
        self._apply_quorum()

    async def _switch_off(self) -> None:
        self._apply_quorum()

    async def _stop(self) -> None:
        await super()._stop()
        await self.control_plane.stop()

    async def install(self, machine: Machine, address: str) -> None:
        """Its API server is the forward to the one of the cluster."""

    def forward(self) -> Forward | None:
        return Forward(lambda: self.control_plane.endpoint)

    async def read_etcd_members(self) -> None:
        """They are those that this process keeps."""

    async def add_etcd_member(self, name: str, address: str) -> None:
        self.etcd.add(name, address)

    async def start_etcd_members(self) -> None:
        """Let the machines that are on start the etcd members that were added at their addresses."""
        for member in self.members.values():
            added = self.etcd.at(member.address)
            if member.device_id in self.on and added is not None and not added.started:
                member.etcd_id = added.id
                self._save()
                self.etcd.start(added)

    async def remove_etcd_member(self, member: EtcdMember) -> None:
        self.etcd.remove(member.id)

    def etcd_member_of(self, device_id: str) -> EtcdMember | None:
        """Return the etcd member whose data is on the disk of a machine that is on."""
        member = self.members.get(device_id)
        running = member.etcd_id if member is not None and device_id in self.on else 0
        return next((entry for entry in self.etcd if entry.id == running), None)

    def _running_etcd_members(self) -> set[int]:
        return {member.etcd_id for member in self.members.values() if member.device_id in self.on}

    def _apply_quorum(self) -> None:
        self.control_plane.set_quorum(present=self.etcd.has_quorum)


def masters_schedulable(scheduler: Object | None) -> bool:
    """Read the answer from the Scheduler object."""
    return bool(((scheduler or {}).get("spec") or {}).get("mastersSchedulable", False))


def _has_data(directory: Path) -> bool:
    """Return whether a machine's disk has data of an etcd member; from now on it has."""
    mark = directory / "member"
    existed = mark.exists()
    mark.touch()
    return existed


class Clusters:
    """All clusters below ``state_dir``. ``mirror_url`` is where boot images named by the clusters are, ``make`` the kind of clusters."""

    def __init__(
        self,
        state_dir: Path,
        clock: Clock,
        binaries: Binaries,
        *,
        mirror_url: str = "https://mirror.openshift.com/pub/openshift-v4",
        make: type[Cluster] = OneControlPlaneCluster,
    ) -> None:
        self._directory = state_dir / "clusters"
        self._clock = clock
        self._binaries = binaries
        self._mirror_url = mirror_url
        self._make = make
        self._clusters: dict[str, Cluster] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._load()

    def __iter__(self) -> Iterator[Cluster]:
        return iter(list(self._clusters.values()))

    def made_from(self, assets: Assets) -> Cluster:
        """Return the cluster of these assets: a new one at the first boot of its bootstrap machine."""
        self.sweep()
        known = self._clusters.get(assets.cluster_id)
        if known is not None:
            return known
        directory = self._directory / assets.cluster_id
        directory.mkdir(parents=True, mode=0o700)
        assets = assets.with_token()
        pki.write_file(directory / "assets.json", assets.to_json().encode())
        return self._add(directory, assets, self._free_address())

    def trusted_by(self, ca_bundle: bytes) -> Cluster | None:
        """Return the cluster whose API a PEM bundle trusts. A machine has nothing else to identify its cluster."""
        for cluster in self._clusters.values():
            if cluster.assets.certificate("kube-apiserver-lb-signer").strip() in ca_bundle:
                return cluster
        return None

    async def close(self) -> None:
        """End all processes; the next start continues."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        await asyncio.gather(*(cluster.close() for cluster in self._clusters.values()))

    def sweep(self) -> None:
        """Delete clusters all of whose machines have been removed."""
        for cluster in list(self._clusters.values()):
            if cluster.forget_removed_machines():
                _logger.info("all machines of cluster %s are gone, and so is it", cluster.assets.domain)
                del self._clusters[cluster.id]
                shutil.rmtree(cluster.directory)

    def _sweep_soon(self) -> None:
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep_for_a_while(), name="sweep clusters")

    async def _sweep_for_a_while(self) -> None:
        """Sweep several times, since the disks of removed machines are wiped shortly after their power is cut."""
        for _unused in range(_SWEEPS):
            await asyncio.sleep(1.0)
            try:
                self.sweep()
            except OSError:
                _logger.exception("the data of a removed cluster cannot be deleted; tried again at the next start")

    def _add(self, directory: Path, assets: Assets, address: str) -> Cluster:
        cluster = self._make(directory, assets, address=address, clock=self._clock, binaries=self._binaries, mirror_url=self._mirror_url)
        cluster.on_idle = self._sweep_soon
        self._clusters[assets.cluster_id] = cluster
        return cluster

    def _load(self) -> None:
        for record in sorted(self._directory.glob("*/cluster.json")):
            content = json.loads(record.read_bytes())
            assets = Assets.from_json((record.parent / "assets.json").read_text())
            self._add(record.parent, assets, content["address"]).load(content)
        self.sweep()

    def _free_address(self) -> str:
        taken = {cluster.address for cluster in self._clusters.values()}
        for number in range(_INTERNAL_ADDRESSES):
            address = f"{_INTERNAL_NETWORK}.{number // 250}.{number % 250 + 1}"
            if address not in taken:
                return address
        raise RuntimeError(f"all {_INTERNAL_ADDRESSES} internal addresses are taken")
