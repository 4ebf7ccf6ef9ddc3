# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systems of installed machines: bootstrap, control plane node, worker, or an idle system for unknown configs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from metal_api.listener import Listener
from sandbox.machines import Machine, System, SystemFactory
from sandbox.machines.firewall import Firewall
from sandbox.machines.firewall import Settings as FirewallSettings
from sandbox.openshift import etcdctl, kube_vip, machine_config_server, resources
from sandbox.openshift.api import NODES
from sandbox.openshift.assets import INSTALL_FOLDER, AssetError, Assets, files_of
from sandbox.openshift.binaries import KUBE_VIP, entry_points
from sandbox.openshift.cluster import BOOTKUBE_DONE, MANIFESTS_APPLIED, Cluster, Clusters, OneControlPlaneCluster
from sandbox.openshift.config_daemon import ConfigDaemon
from sandbox.openshift.control_plane import PASSING_FAILURES
from sandbox.openshift.etcdctl import Completed
from sandbox.openshift.forward import Forward
from sandbox.openshift.kubelet import Container, Kubelet, KubeletConfig
from sandbox.openshift.machine_config_server import KUBECONFIG
from sandbox.openshift.node_network import NetworkScript, NodeNetwork, node_network
from sandbox.openshift.pki import KeyPair
from sandbox.openshift.pull import Puller, component_images, os_component, os_image
from sandbox.openshift.resources import ETCD_NAMESPACE
from sandbox.openshift.router import Routers, serve_routes
from sandbox.openshift.static_pods import API_PORT

_logger = logging.getLogger(__name__)

# Simulated seconds. A worker requests its first certificate some 10 minutes after Ignition, a bootstrap is complete about 40
# minutes after its first boot: openshift-install's own limits are 20 minutes for the API and 45 for the bootstrap.
_IMAGE_PULL: Final = 4 * 60
_BOOTKUBE_START: Final = 2 * 60
_APPROVE_INTERVAL: Final = 20
_CONTROL_PLANE_SETTLES: Final = 10 * 60
_OS_PIVOT: Final = 2.5 * 60
_REBOOT: Final = 4 * 60
_STATIC_PODS: Final = 7 * 60
_RESTARTED_PODS: Final = 60

_RETRY: Final = 1.0

BOOTSTRAPPED: Final = "opt/openshift/cb-bootstrap.done"
"""File on the disk of a bootstrap machine whose control plane is up: bootkube.sh writes it when cluster-bootstrap has ended."""

_BOOTKUBE_IMAGES: Final = (
    "cluster-bootstrap",
    "cluster-config-operator",
    "cluster-etcd-operator",
    "cluster-kube-apiserver-operator",
    "cluster-kube-controller-manager-operator",
    "cluster-kube-scheduler-operator",
    "cluster-version-operator",
    "etcd",
    "hyperkube",
    "machine-config-operator",
)
"""Components whose images bootkube.sh and its static pods run."""


def system_factory(clusters: Clusters) -> SystemFactory:
    """Return the factory of systems for the clusters' machines, which decides by the machine's config."""

    def make(machine: Machine, config: dict[str, Any]) -> System:
        try:
            files = files_of(config)
            if any(path.startswith(f"{INSTALL_FOLDER}/") for path in files):
                return BootstrapSystem(
                    machine, clusters, Assets.from_ignition(config), files, NetworkScript.of(config), _firewall_settings(config, files)
                )
            if KUBECONFIG in files:
                return NodeSystem(
                    machine,
                    clusters,
                    KubeletConfig.read(config),
                    files,
                    script=NetworkScript.of(config),
                    firewall=_firewall_settings(config, files),
                    announced=kube_vip.announced_address(config, files),
                )
        except AssetError as error:
            return IdleSystem(machine, f"the Ignition config cannot be used: {error}", failed=True)
        return IdleSystem(machine, f"nothing of OpenShift in the Ignition config; files: {', '.join(sorted(files)) or 'none'}")

    return make


def _firewall_settings(config: Mapping[str, Any], files: Mapping[str, bytes]) -> FirewallSettings | None:
    units = (config.get("systemd") or {}).get("units") or []
    return FirewallSettings.read(files, {str(unit["name"]) for unit in units if unit.get("enabled")})


class IdleSystem:
    """A machine that only reports what its config contains."""

    def __init__(self, machine: Machine, summary: str, *, failed: bool = False) -> None:
        self._machine = machine
        self._summary = summary
        self._failed = failed

    async def run(self) -> None:
        if self._machine.userland is not None:
            await self._machine.userland.run()
        self._machine.console(self._summary)
        await self._machine.report("failed" if self._failed else "running", self._summary)
        await asyncio.Event().wait()


class BootstrapSystem:
    """The bootstrap machine: a temporary control plane, a machine config server for masters, an approver without checks."""

    def __init__(  # noqa: PLR0913, PLR0917 - what the machine is made of
        self,
        machine: Machine,
        clusters: Clusters,
        assets: Assets,
        files: Mapping[str, bytes],
        script: NetworkScript | None = None,
        firewall: FirewallSettings | None = None,
    ) -> None:
        self._script = script
        self._network = NodeNetwork(machine.hardware.address)
        self._firewall = Firewall(machine, firewall if machine.userland is None else None, lambda: self._network.addresses)
        self._machine = machine
        self._clusters = clusters
        self._assets = assets
        self._files = files

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            if self._machine.userland is not None:
                group.create_task(self._machine.userland.run())
            group.create_task(self._bootstrap())

    async def _bootstrap(self) -> None:
        machine = self._machine
        cluster = self._clusters.made_from(self._assets)
        machine.console("Starting release-image.service, node-image-pull.service")
        if machine.userland is None:
            self._network = await node_network(machine, self._script)
        network = self._network
        async with self._firewall.following(), _membership(cluster, machine, "bootstrap", network):
            if not cluster.has_reached(MANIFESTS_APPLIED):
                await machine.clock.sleep(_IMAGE_PULL)
                await self._pull()
                machine.console("bootkube.sh: starting temporary control plane")
                await machine.clock.sleep(_BOOTKUBE_START)
            await _persist(machine, "run static pods", lambda: cluster.install(machine, network.address))
            async with _serving(cluster, machine, cluster.bootstrap_config, self._firewall):
                machine.console(f"API and machine config server are up at {' and '.join(machine.addresses)}")
                if not cluster.has_reached(MANIFESTS_APPLIED):
                    await _persist(machine, "apply manifests", cluster.set_up)
                if not cluster.has_reached(BOOTKUBE_DONE):
                    # The etcd members of the masters join that of this machine.
                    await network.until_connected(machine)
                    await self._until_control_plane(cluster)
                machine.console("bootkube.service complete")
                if machine.userland is not None:
                    (machine.userland.root / BOOTSTRAPPED).touch()
                await _persist(machine, "report completion", lambda: _complete(cluster))
                await asyncio.Event().wait()

    async def _pull(self) -> None:
        """Pull the release image, the node image and the images of the control plane that this machine runs."""
        puller = Puller(self._machine, self._files)
        assets = self._assets
        if assets.available_image != assets.release_image:
            self._machine.console(f"The mirror does not have {assets.release_image}; OpenShift {assets.version} stands in for it")
        layer = await puller.until_pulled("release-image.service", assets.available_image)
        components = component_images(layer)
        await puller.until_pulled("node-image-pull.service", components[os_component(components)])
        for name in _BOOTKUBE_IMAGES:
            await puller.until_pulled("bootkube.service", components[name])

    async def _until_control_plane(self, cluster: Cluster) -> None:
        approver = asyncio.create_task(self._approve(cluster))
        try:
            while not await _persist(self._machine, "read nodes", lambda: _control_plane_is_up(cluster)):  # noqa: ASYNC110 - it is polled
                await asyncio.sleep(_RETRY)
            self._machine.console("bootkube.sh: all control plane nodes are ready, waiting for their static pods to settle")
            await self._machine.clock.sleep(_CONTROL_PLANE_SETTLES)
            cluster.reach(BOOTKUBE_DONE)
        finally:
            approver.cancel()
            await asyncio.gather(approver, return_exceptions=True)

    async def _approve(self, cluster: Cluster) -> None:
        while True:
            try:
                for name in await cluster.approve_pending():
                    self._machine.console(f"approve-csr.sh: certificatesigningrequest.certificates.k8s.io/{name} approved")
            except PASSING_FAILURES as error:
                self._machine.console(f"approve-csr.sh: {error}")
            await self._machine.clock.sleep(_APPROVE_INTERVAL)


class NodeSystem:
    """A control plane node or a worker: pivot to the cluster's OS image, two reboots, kubelet, and for masters static pods."""

    def __init__(  # noqa: PLR0913 - what a node is made of
        self,
        machine: Machine,
        clusters: Clusters,
        config: KubeletConfig,
        files: Mapping[str, bytes],
        *,
        script: NetworkScript | None = None,
        firewall: FirewallSettings | None = None,
        announced: str = "",
    ) -> None:
        self._announced = announced
        self._script = script
        self._network = NodeNetwork(machine.hardware.address)
        self._firewall = Firewall(machine, firewall if machine.userland is None else None, lambda: self._network.addresses)
        self._machine = machine
        self._files = files
        self._clusters = clusters
        self._config = config
        self._pivoted = machine.directory / "machine-config-daemon-firstboot.done"
        self._static_pods = machine.directory / "static-pods.done"

    async def run(self) -> None:
        machine = self._machine
        if machine.userland is None:
            await self._boot()
        async with self._firewall.following():
            await self._services()

    async def _boot(self) -> None:
        """Simulate the boots until the kubelet starts."""
        machine = self._machine
        if not self._pivoted.exists():
            machine.console("machine-config-daemon-firstboot: rebasing to the cluster's OS image")
            await Puller(machine, self._files).until_pulled("machine-config-daemon-firstboot.service", os_image(self._files))
            await machine.clock.sleep(_OS_PIVOT)
            machine.console("machine-config-daemon-firstboot: rebooting")
            await machine.clock.sleep(_REBOOT)
            self._pivoted.touch()
            await machine.clock.sleep(_REBOOT / 2)
        self._network = await node_network(machine, self._script)
        self._config = replace(self._config, network=self._network, firewall=self._firewall)
        machine.console("Starting kubelet.service")

    async def _services(self) -> None:
        machine, ready = self._machine, asyncio.Event()
        async with asyncio.TaskGroup() as group:
            if machine.userland is None:
                group.create_task(Kubelet(machine, self._config, ready, self._execute).run())
            else:
                # The kubelet is one of its units.
                group.create_task(machine.userland.run())
                group.create_task(ConfigDaemon(machine, machine.userland, self._config, self._clusters, ready).run())
            if self._config.is_control_plane:
                group.create_task(self._control_plane(ready))
            group.create_task(serve_routes(machine, self._routers))

    def _routers(self) -> Routers | None:
        cluster = self._clusters.trusted_by(self._config.ca_bundle)
        return cluster.routers if cluster is not None else None

    def _execute(self, target: Container, command: Sequence[str]) -> Completed:
        """Run a command in a container of this machine's etcd pod. Raises ``LookupError`` for every other container."""
        cluster = self._clusters.trusted_by(self._config.ca_bundle)
        if (
            not isinstance(cluster, OneControlPlaneCluster)
            or target.pod != f"etcd-{self._machine.hardware.hostname.lower()}"
            or target.namespace != ETCD_NAMESPACE
        ):
            raise LookupError(f"no command can be run in pod {target.namespace}/{target.pod} of this sandbox")
        member = cluster.etcd_member_of(self._machine.hardware.device_id)
        if target.container == "etcd" and member is None:
            raise LookupError(f"container not found ({target.container!r}): it does not run")
        if target.container not in {"etcd", "etcdctl"}:
            raise LookupError(f"container not found ({target.container!r})")
        return etcdctl.run(cluster.etcd, member, command)

    async def _control_plane(self, ready: asyncio.Event) -> None:
        """Run this master's part of the control plane: at first when its node is ready, later by itself at every boot."""
        machine = self._machine
        if self._static_pods.exists():
            await machine.clock.sleep(_RESTARTED_PODS)
        else:
            await ready.wait()
            machine.console("static pods: installing etcd, kube-apiserver")
            await machine.clock.sleep(_STATIC_PODS)
        cluster = self._clusters.trusted_by(self._config.ca_bundle)
        if cluster is not None and not self._static_pods.exists():
            await self._until_member(cluster)
        if cluster is None:
            machine.console("static pods: the cluster with the CA that this machine trusts does not exist any more")
            await machine.report("failed", "no etcd data of this cluster is left")
            return
        # Its etcd member reaches the others at its node address.
        await self._network.until_connected(machine)
        async with (
            _membership(cluster, machine, "control-plane", self._network),
            _serving(cluster, machine, cluster.cluster_config, self._firewall),
        ):
            await _persist(machine, "run static pods", lambda: cluster.install(machine, self._network.address))
            self._static_pods.touch()
            cluster.mark_serving(machine.hardware.device_id)
            machine.console(f"API and machine config server are up at {' and '.join(machine.addresses)}")
            if self._announced and machine.userland is None:
                async with cluster.keys.client(machine.address, API_PORT) as api:
                    await kube_vip.run(machine, self._announced, self._files, self._network, api)
            elif self._announced and not (entry_points() / KUBE_VIP).exists():
                machine.console("kube-vip: its pod has no program. Run python -m sandbox build --kube-vip, and install the cluster anew")
            await asyncio.Event().wait()

    async def _until_member(self, cluster: Cluster) -> None:
        """Wait until the etcd operator has added this machine's etcd member."""
        address = self._network.address
        if cluster.etcd.at(address) is None:
            self._machine.console("etcd: waiting for the etcd operator to add this member")
        while cluster.etcd.at(address) is None:  # noqa: ASYNC110 - as the container of a static pod does
            await asyncio.sleep(_RETRY)
        self._machine.console("etcd: added as a member")


@contextlib.asynccontextmanager
async def _membership(cluster: Cluster, machine: Machine, role: Any, network: NodeNetwork) -> AsyncIterator[None]:
    """Count the machine as on while inside; a control plane that will not start is tried again."""
    # Of this system alone: a machine that is installed anew as something else is no member any more.
    data = machine.directory / "etcd"
    data.mkdir(exist_ok=True)
    while True:
        async with contextlib.AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(cluster.member(machine, role, data, network.address))
            except PASSING_FAILURES as error:
                _logger.warning("cluster %s does not start: %s", cluster.assets.domain, error)
                machine.console(f"control plane does not start: {error}")
            else:
                yield
                return
        await asyncio.sleep(_RETRY)


async def _control_plane_is_up(cluster: Cluster) -> bool:
    """Whether as many control plane nodes as planned are Ready and have static pods."""
    desired = cluster.assets.control_plane_replicas
    nodes = await cluster.api.items(NODES, labelSelector=f"{resources.ROLE_LABEL}master")
    return sum(resources.is_ready(node) for node in nodes) >= desired and cluster.serving_control_planes >= desired


async def _complete(cluster: Cluster) -> None:
    """End the overrides of ClusterVersion, then write what ``openshift-install wait-for bootstrap-complete`` waits for."""
    await cluster.api.patch(resources.CLUSTER_VERSION, cluster.assets.original_overrides)
    await cluster.api.apply(resources.BOOTSTRAP_STATUS, resources.config_map("kube-system", "bootstrap", {"status": "complete"}))


async def _persist(machine: Machine, purpose: str, action: Callable[[], Awaitable[Any]]) -> Any:
    """Repeat an action until it succeeds, and print each new error."""
    reported = ""
    while True:
        try:
            return await action()
        except PASSING_FAILURES as error:
            text = str(error) or type(error).__name__
            if text != reported:
                machine.console(f"cannot {purpose}, trying again: {text}")
                _logger.warning("%s cannot %s, trying again: %s", machine.hardware.hostname, purpose, text)
                reported = text
        await asyncio.sleep(_RETRY)


# --- ports -----------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _serving(
    cluster: Cluster, machine: Machine, config_for: Callable[[str], Awaitable[machine_config_server.Config]], firewall: Firewall
) -> AsyncIterator[None]:
    """Serve 22623, and 6443 where it is a forward, at all addresses of the machine while inside."""
    pair = KeyPair(cluster.assets.certificate("machine-config-server"), cluster.assets.key("machine-config-server"))
    address, *others = machine.addresses
    listener, port = Listener(machine_config_server.application(config_for)), machine_config_server.PORT
    forwards, to_api = {port: Forward(lambda: (address, port))}, cluster.forward()
    if to_api is not None:
        forwards[API_PORT] = to_api

    async def serve(forward: Forward, own: str, number: int) -> None:
        await forward.serve(await machine.listen(own, number))

    async def serve_configs() -> None:
        listener.serve(await machine.listen(address, port), pair.server_context())

    async def open_ports() -> None:
        if to_api is not None:
            await _until_open(machine, API_PORT, partial(serve, to_api, address, API_PORT))
        await _until_open(machine, port, serve_configs)
        for other, (number, forward) in itertools.product(others, forwards.items()):
            await _until_open(machine, number, partial(serve, forward, other, number))
        firewall.guard(*listener.sockets, *(sock for forward in forwards.values() for sock in forward.sockets))

    async def close_ports() -> None:
        await listener.close()
        for forward in forwards.values():
            await forward.close()

    async def follow_connection() -> None:
        """Close the ports while no packet to the address arrives. The switch port changes without an event."""
        while True:
            while machine.is_connected():  # noqa: ASYNC110 - it is polled
                await asyncio.sleep(_RETRY)
            machine.console(f"no packets to {address} arrive")
            await close_ports()
            while not machine.is_connected():  # noqa: ASYNC110 - it is polled
                await asyncio.sleep(_RETRY)
            machine.console(f"packets to {address} arrive")
            await open_ports()

    while not machine.is_connected():  # noqa: ASYNC110 - it is polled
        await asyncio.sleep(_RETRY)
    following = None
    try:
        await open_ports()
        following = asyncio.create_task(follow_connection())
        yield
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await close_ports()


async def _until_open(machine: Machine, port: int, listen: Callable[[], Awaitable[None]]) -> None:
    reported = False
    while True:
        try:
            await listen()
        except OSError as error:
            if not reported:
                reported = True
                machine.console(f"port {port} cannot be opened, trying again: {error}")
                await machine.report(
                    "failed", f"port {port} cannot be opened ({error.strerror}): does another sandbox run on this computer?"
                )
                _logger.warning("%s: port %d cannot be opened, trying again: %s", machine.hardware.hostname, port, error)
        else:
            return
        await asyncio.sleep(_RETRY)
