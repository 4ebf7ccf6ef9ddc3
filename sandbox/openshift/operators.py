# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators of a cluster: statuses that follow from the nodes.

Each cluster operator waits for its requirement (control plane, schedulable nodes), becomes available some time after it is met, and
degrades when it is lost. ClusterVersion, machine config pools and the etcd operator's status follow. After a restart the state is read from
the API, so that a settled cluster remains settled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sandbox.openshift import resources
from sandbox.openshift.api import NODES, APIError, Object
from sandbox.openshift.control_plane import PASSING_FAILURES
from sandbox.openshift.etcd_operator import EtcdOperator, Report
from sandbox.openshift.ingress import IngressOperator, IngressReport
from sandbox.openshift.installer import catalogue
from sandbox.openshift.resources import (
    APPLIES_CONFIGS,
    MACHINE_CONFIG_ANNOTATION,
    ROLE_LABEL,
    annotations_of,
    condition_of,
    is_ready,
    labels_of,
    selects,
)
from sandbox.openshift.workloads import Workloads, follow

if TYPE_CHECKING:
    from sandbox.openshift.cluster import Cluster

_logger = logging.getLogger(__name__)

_CUSTOM_POOLS_SINCE: Final = (4, 22)
"""The first release whose machine config operator knows custom pools at the first boot of a node."""

# Simulated seconds.
_ROUND: Final = 20.0
_ETCD_MEMBER_REMOVAL: Final = 120.0
_VERSION_SETTLES: Final = 60.0
_FAILING_AFTER: Final = 40 * 60.0
_POOL_REBOOT: Final = 8 * 60.0

# Real seconds between rounds, whatever the speed.
_ROUND_LIMITS: Final = (0.5, 10.0)
_AFTER_CHANGE: Final = 0.2


@dataclass(frozen=True)
class Facts:
    """The state of the cluster that the operators of one round use."""

    domain: str
    masters: int
    ready_masters: int
    desired_masters: int
    serving_masters: int
    schedulable: int
    nodes: int
    not_ready: tuple[str, ...]
    bootstrap_complete: bool
    etcd: Report
    registry: str
    """Why the image registry is not available, empty if it is or if there is none."""
    registry_state: str
    registry_generation: int
    """The message of the operator when nothing is missing."""
    ingress: IngressReport
    unreachable: str
    """Why routes cannot be reached by their names, empty if they can."""


@dataclass(frozen=True)
class ClusterOperator:
    """One operator: its unmet requirement ("" for none), its duration after that, and its message meanwhile."""

    name: str
    misses: Callable[[Facts], str]
    settles: float
    reason: str
    message: str
    """Of Available=False; ``{missing}`` and ``{domain}`` are filled in."""
    per_node: str = ""
    """Name of its daemon set: progressing while a node is not ready."""
    done: str = "All is well"


def _control_plane(facts: Facts) -> str:
    if facts.serving_masters >= facts.desired_masters and facts.ready_masters > 0:
        return ""
    return f"{facts.serving_masters} nodes are active; {facts.desired_masters - facts.serving_masters} nodes are at revision 0"


def _any_master(facts: Facts) -> str:
    return "" if facts.ready_masters else "no control plane node is ready"


def _registry(facts: Facts) -> str:
    return _any_master(facts) or facts.registry


def _all_masters(facts: Facts) -> str:
    missing = facts.desired_masters - facts.ready_masters
    return "" if missing <= 0 else f"{missing} of {facts.desired_masters} control plane nodes are not ready"


def _workers(facts: Facts) -> str:
    return "" if facts.schedulable else f"0/{facts.nodes} nodes are available: {facts.nodes} node(s) had untolerated taint(s)"


def _routers(facts: Facts) -> str:
    return facts.ingress.problem


def _routes(facts: Facts) -> str:
    return _workers(facts) or facts.unreachable


_CATALOGUE: Final = (
    ClusterOperator(
        "authentication",
        _routes,
        270,
        "OAuthServerRouteEndpointAccessibleController_EndpointUnavailable",
        'OAuthServerRouteEndpointAccessibleControllerAvailable: Get "https://oauth-openshift.apps.{domain}/healthz": EOF ({missing})',
    ),
    ClusterOperator("config-operator", _any_master, 30, "FeatureGatesUpgradeable_NoData", "FeatureGateControllerAvailable: {missing}"),
    ClusterOperator(
        "console",
        _routes,
        330,
        "RouteHealth_FailedGet",
        "RouteHealthAvailable: failed to GET route (https://console-openshift-console.apps.{domain}): EOF ({missing})",
    ),
    ClusterOperator("dns", _any_master, 90, "DNSUnavailable", 'DNS "default" is unavailable: {missing}', per_node="dns-default"),
    ClusterOperator(
        "etcd",
        _control_plane,
        120,
        "StaticPods_ZeroNodesActive",
        "StaticPodsAvailable: {missing}",
        done="StaticPodsAvailable: {masters} nodes are active; {masters} nodes are at revision 8\nEtcdMembersAvailable: {members}",
    ),
    ClusterOperator("image-registry", _registry, 150, "NoReplicasAvailable", "Available: {missing}", done="Available: {registry}"),
    ClusterOperator(
        "ingress",
        _routers,
        150,
        "IngressUnavailable",
        'The "default" ingress controller reports Available=False: IngressControllerUnavailable: One or more status conditions indicate '
        "unavailable: DeploymentAvailable=False (DeploymentUnavailable: The deployment has Available status condition set to False "
        "(reason: MinimumReplicasUnavailable) with message: Deployment does not have minimum availability: {missing}.)",
        done='The "default" ingress controller reports Available=True.',
    ),
    ClusterOperator(
        "kube-apiserver",
        _control_plane,
        240,
        "StaticPods_ZeroNodesActive",
        "StaticPodsAvailable: {missing}",
        done="StaticPodsAvailable: {masters} nodes are active; {masters} nodes are at revision 6",
    ),
    ClusterOperator(
        "kube-controller-manager",
        _control_plane,
        150,
        "StaticPods_ZeroNodesActive",
        "StaticPodsAvailable: {missing}",
        done="StaticPodsAvailable: {masters} nodes are active; {masters} nodes are at revision 6",
    ),
    ClusterOperator(
        "kube-scheduler",
        _control_plane,
        150,
        "StaticPods_ZeroNodesActive",
        "StaticPodsAvailable: {missing}",
        done="StaticPodsAvailable: {masters} nodes are active; {masters} nodes are at revision 5",
    ),
    ClusterOperator(
        "machine-config",
        _all_masters,
        120,
        "MachineConfigPoolNotAvailable",
        "Cluster not available: required pool master: {missing}",
        done="Cluster has deployed [{{operator {version}}}]",
    ),
    ClusterOperator(
        "monitoring",
        _workers,
        330,
        "UpdatingPrometheusFailed",
        'UpdatingPrometheus: Prometheus "openshift-monitoring/k8s": NoPodReady: shard 0: pod prometheus-k8s-0: {missing}',
        done="Successfully rolled out the stack.",
    ),
    ClusterOperator("network", _any_master, 60, "Startup", "The network is starting up: {missing}", per_node="ovnkube-node"),
    ClusterOperator(
        "node-tuning",
        _any_master,
        60,
        "TunedUnavailable",
        'DaemonSet "tuned" has no available Pod(s): {missing}',
        done="Cluster has deployed {version}",
    ),
    ClusterOperator("openshift-apiserver", _control_plane, 210, "APIServerDeployment_NoPod", "APIServerDeploymentAvailable: {missing}"),
    ClusterOperator("storage", _any_master, 120, "AsExpected", "DefaultStorageClassControllerAvailable: {missing}"),
)


@dataclass
class _Progress:
    """The progress of one cluster operator: settled, or progressing, or waiting."""

    settled: bool = False
    version: str = ""
    """The release it runs; empty before it is available."""
    was_available: bool = False


@dataclass
class _State:
    nodes: dict[str, Object] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    written: dict[str, Any] = field(default_factory=dict)


class Operators:
    """All operators of one cluster, from the first manifests on, while its API runs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._clock = cluster.clock
        self._state = _State()
        self._progress = {operator.name: _Progress() for operator in _CATALOGUE}
        self._transition_times: dict[str, str] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._elapsed: set[str] = set()
        self._ingress_operator = IngressOperator(cluster, cluster.assets.domain, self._write_status, self._conditions)
        self._etcd_operator = EtcdOperator(cluster, self._after, self._forget)

    async def run(self) -> None:
        """Work until cancelled."""
        started = datetime.now(UTC)
        while True:
            try:
                await self._recall()
                await self._cluster.clean_requests(started)
                break
            except PASSING_FAILURES as error:
                _logger.warning("operators of %s cannot start yet: %s", self._cluster.assets.domain, error)
                await asyncio.sleep(1.0)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(follow(self._cluster, NODES, "name", self._state.nodes, self._state.changed))
                group.create_task(self._rounds())
                group.create_task(Workloads(self._cluster, self._state.nodes).run())
        finally:
            for task in self._timers.values():
                task.cancel()

    # --- inputs --------------------------------------------------------------------------------------------------------

    async def _recall(self) -> None:
        """Read back what earlier rounds reached."""
        for item in await self._cluster.api.items(resources.CLUSTER_OPERATORS):
            name = item["metadata"]["name"]
            for condition in (item.get("status") or {}).get("conditions") or []:
                self._transition_times[f"{name}/{condition['type']}/{condition['status']}"] = condition["lastTransitionTime"]
                if name in self._progress and condition["type"] == "Available" and condition["status"] == "True":
                    self._elapsed.add(f"operator {name}")
                    self._progress[name].settled = self._progress[name].was_available = True
            versions = (item.get("status") or {}).get("versions") or []
            if name in self._progress and versions:
                self._progress[name].version = versions[0]["version"]
        version = await self._cluster.api.get(resources.CLUSTER_VERSION)
        for condition in ((version or {}).get("status") or {}).get("conditions") or []:
            self._transition_times[f"version/{condition['type']}/{condition['status']}"] = condition["lastTransitionTime"]
        if version is not None and (condition_of(version, "Progressing") or {}).get("status") == "False":
            self._elapsed.add("version")
        etcd = await self._cluster.api.get(resources.ETCD)
        if etcd is not None and (condition_of(etcd, "EtcdBootstrapMemberRemoved") or {}).get("status") == "True":
            self._elapsed.add("etcd member")

    async def _rounds(self) -> None:
        while True:
            self._state.changed.clear()
            try:
                await self._round()
            except PASSING_FAILURES as error:
                _logger.warning("a round of the operators of %s failed: %r", self._cluster.assets.domain, error)
            except Exception:
                # One malformed object (such as a user's pool) must not end the operators.
                _logger.exception("a round of the operators of %s failed", self._cluster.assets.domain)
            pause = min(max(_ROUND / self._clock.speed, _ROUND_LIMITS[0]), _ROUND_LIMITS[1])
            try:
                async with asyncio.timeout(pause):
                    await self._state.changed.wait()
            except TimeoutError:
                continue
            # Let a burst of changes come together.
            await asyncio.sleep(_AFTER_CHANGE)

    async def _round(self) -> None:
        scheduler = await self._cluster.api.get(resources.SCHEDULER)
        schedulable = bool(((scheduler or {}).get("spec") or {}).get("mastersSchedulable", False))
        pools = await self._cluster.api.items(resources.POOLS)
        await self._set_roles(pools, schedulable=schedulable)
        await self._move_pools(pools, schedulable=schedulable)
        await self._update_node_ca_bundle()
        facts = await self._facts()
        waiting = [name for name in [await self._operate(operator, facts) for operator in _CATALOGUE] if name]
        await self._etcd(facts)
        await self._version(facts, waiting)

    async def _facts(self) -> Facts:
        bootstrap = await self._cluster.api.get(resources.BOOTSTRAP_STATUS)
        nodes = list(self._state.nodes.values())
        bootstrap_complete = ((bootstrap or {}).get("data") or {}).get("status") == "complete"
        operator = await self._cluster.api.get(resources.ETCD)
        etcd = await self._etcd_operator.round(nodes, operator, bootstrap_complete=bootstrap_complete)
        registry_config = await self._cluster.api.get(resources.REGISTRY) or {}
        registry = registry_config.get("spec") or {}
        claims = await self._cluster.api.items(resources.REGISTRY_CLAIMS)
        masters = [node for node in nodes if f"{ROLE_LABEL}master" in labels_of(node)]
        ingress = await self._ingress_operator.round(len(nodes))
        unreachable = ingress.problem or await self._cluster.reach_route(f"console-openshift-console.apps.{self._cluster.assets.domain}")
        return Facts(
            domain=self._cluster.assets.domain,
            masters=len(masters),
            ready_masters=sum(is_ready(node) for node in masters),
            desired_masters=self._cluster.assets.control_plane_replicas,
            serving_masters=self._cluster.serving_control_planes,
            schedulable=sum(_takes_pods(node) for node in nodes),
            nodes=len(self._state.nodes),
            not_ready=tuple(sorted(node["metadata"]["name"] for node in nodes if not is_ready(node))),
            bootstrap_complete=bootstrap_complete,
            etcd=etcd,
            registry=_registry_problem(registry, claims),
            registry_state="The registry is ready" if registry.get("managementState") == "Managed" else "The registry is removed",
            registry_generation=(registry_config.get("metadata") or {}).get("generation") or 0,
            ingress=ingress,
            unreachable=unreachable,
        )

    # --- nodes and pools -----------------------------------------------------------------------------------------------

    @property
    def _labels_custom_pools(self) -> bool:
        """Whether the release labels a new node by the custom pool whose config it has; earlier ones move it to the pool worker."""
        return tuple(map(int, self._cluster.version.split(".")[:2])) >= _CUSTOM_POOLS_SINCE

    async def _set_roles(self, pools: list[Object], *, schedulable: bool) -> None:
        """Set the role labels of new nodes, and of masters the taint and labels that the Scheduler object implies."""
        custom = {pool["metadata"]["name"]: pool for pool in pools}
        for node in list(self._state.nodes.values()):
            labels = labels_of(node)
            pool = _pool_of_config(annotations_of(node).get(f"{MACHINE_CONFIG_ANNOTATION}currentConfig", ""))
            changes: dict[str, str | None] = {}
            spec: dict[str, Any] = {}
            roles = _first_roles(pool)
            if not roles.keys() & labels.keys():
                changes |= roles | (_pool_labels(custom.get(pool)) if self._labels_custom_pools else {})
            if pool == "master":
                changed, spec = _master_scheduling(node, schedulable=schedulable)
                changes |= changed
            if changes or spec:
                name = node["metadata"]["name"]
                body: Object = {"metadata": {"labels": changes, "resourceVersion": node["metadata"]["resourceVersion"]}}
                if spec:
                    body["spec"] = spec
                try:
                    self._state.nodes[name] = await self._cluster.api.patch(f"{NODES}/{name}", body)
                except APIError as error:
                    # A conflict with another client, or the node is deleted: the watch reports the current state.
                    if error.status not in {404, 409}:
                        raise

    async def _move_pools(self, pools: list[Object], *, schedulable: bool) -> None:
        """Render every pool, move its nodes to the new config one by one, and write what an administrator sees."""
        configs = await self._cluster.api.items(resources.MACHINE_CONFIGS)
        members = _members(pools, self._state.nodes)
        sources = [{"kind": "MachineConfig", "name": config["metadata"]["name"]} for config in configs]
        for current in pools:
            name = current["metadata"]["name"]
            rendered, _unused = self._cluster.render(current, configs, schedulable=schedulable)
            nodes = members[name]
            configuration = {"name": rendered, "source": sources}
            pool = await self._name_rendered(current, configuration)
            if not (pool.get("spec") or {}).get("paused"):
                await self._roll_out(name, nodes, rendered)
            status = self._pool_status(pool, nodes, configuration)
            await self._write_status(f"{resources.POOLS}/{name}", pool, status)

    async def _name_rendered(self, pool: Object, configuration: Object) -> Object:
        """Write the newest rendered config to a pool's spec, and return the pool."""
        if (pool.get("spec") or {}).get("configuration") == configuration:
            return pool
        path = f"{resources.POOLS}/{pool['metadata']['name']}"
        return await self._cluster.api.patch(path, {"spec": {"configuration": configuration}})

    async def _roll_out(self, pool: str, nodes: list[Object], rendered: str) -> None:
        """Let one node at a time (maxUnavailable 1) change to the pool's config, which needs a reboot."""
        current, desired, state = (MACHINE_CONFIG_ANNOTATION + name for name in ("currentConfig", "desiredConfig", "state"))
        moving = [node for node in nodes if annotations_of(node).get(current) != annotations_of(node).get(desired)]
        for node in moving:
            name = node["metadata"]["name"]
            applies = APPLIES_CONFIGS in annotations_of(node)
            if not applies and self._after(f"reboot {name} {annotations_of(node)[desired]}", _POOL_REBOOT):
                await self._annotate(name, {current: annotations_of(node)[desired], state: "Done"})
        settled = [node for node in nodes if annotations_of(node).get(state) == "Done"]
        waiting = [node for node in settled if annotations_of(node).get(desired) not in {rendered, None}]
        if waiting and not moving:
            name = waiting[0]["metadata"]["name"]
            _logger.info("pool %s of %s: node %s goes over to %s", pool, self._cluster.assets.domain, name, rendered)
            self._forget(f"reboot {name} {rendered}")
            await self._annotate(name, {desired: rendered, state: "Working"})

    async def _annotate(self, node: str, annotations: Mapping[str, str]) -> None:
        try:
            self._state.nodes[node] = await self._cluster.api.patch(f"{NODES}/{node}", {"metadata": {"annotations": dict(annotations)}})
        except APIError as error:
            if error.status != 404:
                raise

    def _pool_status(self, pool: Object, nodes: list[Object], newest: Object) -> Object:
        """Return a pool's status. Its config is the one before until all nodes have the newest."""
        name, rendered = pool["metadata"]["name"], newest["name"]
        updated = [node for node in nodes if _is_updated(node, rendered)]
        ready = [node for node in updated if is_ready(node)]
        done = len(updated) == len(nodes)
        configuration = newest if done else (pool.get("status") or {}).get("configuration") or newest
        return {
            "observedGeneration": pool["metadata"].get("generation", 1),
            "configuration": configuration,
            "machineCount": len(nodes),
            "updatedMachineCount": len(updated),
            "readyMachineCount": len(ready),
            "unavailableMachineCount": len(nodes) - sum(is_ready(node) for node in nodes),
            "degradedMachineCount": 0,
            "conditions": self._conditions(
                f"pool {name}",
                {
                    "NodeDegraded": ("False", "", ""),
                    "RenderDegraded": ("False", "", ""),
                    "Degraded": ("False", "", ""),
                    "Updated": ("True", "", f"All nodes are updated with {rendered}") if done else ("False", "", ""),
                    "Updating": ("False", "", "") if done else ("True", "", f"All nodes are updating to {rendered}"),
                },
            ),
        }

    # --- cluster operators ---------------------------------------------------------------------------------------------

    async def _operate(self, operator: ClusterOperator, facts: Facts) -> str:
        """Write one ClusterOperator; return its name while it is not available or still progressing for the first time."""
        progress = self._progress[operator.name]
        missing = operator.misses(facts)
        key = f"operator {operator.name}"
        if missing:
            self._forget(key)
            progress.settled = False
        else:
            progress.settled = self._after(key, operator.settles)
        version = self._cluster.version
        upgraded = await self._upgrade(operator, progress)
        words = {
            "domain": facts.domain,
            "missing": missing or "starting",
            "masters": facts.desired_masters,
            "members": facts.etcd.members,
            "version": version,
            "registry": facts.registry_state,
        }
        rolling = bool(operator.per_node and facts.not_ready)
        if progress.settled:
            available = ("True", "AsExpected", operator.done.format(**words))
            progressing = ("False", "AsExpected", operator.done.format(**words))
            if rolling:
                text = f'DaemonSet "{operator.per_node}" is not available (awaiting {len(facts.not_ready)} nodes)'
                progressing = ("True", "Deploying", text)
            if not upgraded:
                progressing = ("True", "Upgrading", f"Working towards {version}")
        else:
            available = ("False", operator.reason, operator.message.format(**words))
            progressing = ("True", "Deploying", operator.message.format(**words)) if not missing else ("True", "Waiting", missing)
        lost = progress.was_available and not progress.settled
        degraded = ("True", operator.reason, operator.message.format(**words)) if lost else ("False", "AsExpected", "All is well")
        if progress.settled and operator.name == "etcd" and facts.bootstrap_complete and facts.etcd.problem:
            degraded = ("True", "EtcdMembers_Unhealthy", facts.etcd.problem)
        if progress.settled and operator.name == "ingress" and facts.unreachable:
            text = f"Canary route checks for the default ingress controller are failing: {facts.unreachable}"
            message = 'The "default" ingress controller reports Degraded=True: DegradedConditions: One or more other status conditions '
            message += f"indicate a degraded state: CanaryChecksSucceeding=False (CanaryChecksRepetitiveFailures: {text})"
            degraded = ("True", "IngressDegraded", message)
        progress.was_available = progress.was_available or progress.settled
        status: Object = {
            "conditions": self._conditions(
                operator.name,
                {
                    "Available": available,
                    "Degraded": degraded,
                    "Progressing": progressing,
                    "Upgradeable": ("True", "AsExpected", "All is well"),
                },
            ),
            "extension": None,
            "relatedObjects": [],
            "versions": [{"name": "operator", "version": progress.version}] if progress.was_available else [],
        }
        path = f"{resources.CLUSTER_OPERATORS}/{operator.name}"
        if path not in self._state.written:
            await self._cluster.api.apply(
                path, {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": operator.name}, "spec": {}}
            )
        base = {"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": operator.name}}
        await self._write_status(path, base, status)
        if operator.name == "image-registry" and facts.registry_generation:
            # Its Config has the same conditions, and the generation that they are about.
            config = {"apiVersion": "imageregistry.operator.openshift.io/v1", "kind": "Config", "metadata": {"name": "cluster"}}
            observed = {"observedGeneration": facts.registry_generation, "conditions": status["conditions"]}
            await self._write_status(resources.REGISTRY, config, observed)
        return "" if progress.settled and upgraded else operator.name

    async def _upgrade(self, operator: ClusterOperator, progress: _Progress) -> bool:
        """Return whether an operator runs the cluster's release: at once when it is installed, some time after an upgrade has begun."""
        version = self._cluster.version
        if not progress.was_available or progress.version == version:
            progress.version = version
        elif progress.settled and self._after(f"upgrade of {operator.name} to {version}", operator.settles):
            if operator.name == "machine-config":
                await self._cluster.follow_upgrade()
            progress.version = version
        return progress.version == version

    async def _update_node_ca_bundle(self) -> None:
        """Publish the CA bundle of node certificates; a new signer is added before the old one expires."""
        path, bundle = resources.NODE_CA_BUNDLE, self._cluster.keys.node_certificate_authorities.decode()
        if self._state.written.get(path) != bundle:
            await self._cluster.api.apply(
                path, resources.config_map("openshift-config-managed", "csr-controller-ca", {"ca-bundle.crt": bundle})
            )
            signer = self._cluster.keys.node_certificate_signer
            secret = resources.signer_secret(resources.KUBELET_SIGNER, signer.certificate, signer.key)
            await self._cluster.api.apply(resources.KUBELET_SIGNER, secret)
            self._state.written[path] = bundle

    async def _etcd(self, facts: Facts) -> None:
        if facts.bootstrap_complete and not _control_plane(facts):
            removed = self._after("etcd member", _ETCD_MEMBER_REMOVAL)
        else:
            removed = "etcd member" in self._elapsed
        if removed:
            await self._etcd_operator.remove_bootstrap()
        etcd = facts.etcd
        status = {
            "conditions": self._conditions(
                "etcd operator",
                {
                    "EtcdBootstrapMemberRemoved": ("True", "BootstrapMemberRemoved", "etcd bootstrap member is removed")
                    if removed
                    else ("False", "BootstrapMemberExists", "waiting for all control plane members before the bootstrap member is removed"),
                    "EtcdMembersAvailable": ("True" if etcd.healthy else "False", "EtcdQuorate", etcd.members),
                    "EtcdMembersDegraded": ("True", "UnhealthyMembers", etcd.members)
                    if etcd.unhealthy
                    else ("False", "AsExpected", "No unhealthy members found"),
                    "ClusterMemberControllerDegraded": ("True", "Error", etcd.problem) if etcd.blocked else ("False", "AsExpected", ""),
                },
            )
        }
        base = {"apiVersion": "operator.openshift.io/v1", "kind": "Etcd", "metadata": {"name": "cluster"}}
        await self._write_status(resources.ETCD, base, status)

    async def _version(self, facts: Facts, waiting: list[str]) -> None:
        path = resources.CLUSTER_VERSION
        present = await self._cluster.api.get(path)
        if present is None:
            _logger.warning("cluster %s has no ClusterVersion: its manifest is missing", facts.domain)
            return
        version = self._cluster.version
        recorded = (present.get("status") or {}).get("history") or []
        earlier = [entry for entry in recorded if entry["version"] != version]
        if earlier and recorded[0]["version"] != version:
            self._forget("version")
            self._forget("version fails")
        total = 50 * len(_CATALOGUE) + 100
        done_before = "version" in self._elapsed
        done = done_before or (not waiting and self._after("version", _VERSION_SETTLES))
        failing = bool(waiting) and not done and facts.bootstrap_complete and self._after("version fails", _FAILING_AFTER)
        names = ", ".join(waiting)
        if done:
            progressing = ("False", "", f"Cluster version is {version}")
            available = ("True", "", f"Done applying {version}")
        else:
            count = total - 50 * len(waiting) - 20
            share = f"{count} of {total} done ({count * 100 // total}% complete)"
            text = f"Working towards {version}: {share}" + (f", waiting on {names}" if waiting else "")
            progressing = ("True", "ClusterOperatorsNotAvailable" if waiting else "", text)
            available = ("True", "", f"Done applying {earlier[0]['version']}") if earlier else ("False", "", "")
        if failing:
            progressing = ("True", "ClusterOperatorsNotAvailable", f"Unable to apply {version}: some cluster operators are not available")
        failure = ("True", "ClusterOperatorsNotAvailable", f"Cluster operators {names} are not available") if failing else ("False", "", "")
        history = next((entry for entry in recorded if entry["version"] == version), None) or {
            "startedTime": _now(),
            "state": "Partial",
            "version": version,
            "image": self._image(),
            "verified": False,
            "completionTime": None,
        }
        if done and history["state"] != "Completed":
            history = {**history, "state": "Completed", "completionTime": _now()}
            await self._finish(facts.domain)
        status = {
            "availableUpdates": None,
            "conditions": self._conditions(
                "version",
                {
                    "Available": available,
                    "Failing": failure,
                    "Progressing": progressing,
                    "ReleaseAccepted": ("True", "PayloadLoaded", f'Payload loaded version="{version}" image="{self._image()}"'),
                    "RetrievedUpdates": ("False", "RemoteFailed", "the sandbox has no update service"),
                    "Upgradeable": ("True", "", ""),
                },
            ),
            "desired": {"image": self._image(), "version": version, **({"architecture": "Multi"} if self._is_multi() else {})},
            "history": [history, *earlier],
            "observedGeneration": present["metadata"].get("generation", 1),
            "versionHash": "sandbox",
        }
        await self._write_status(path, present, status)

    async def _finish(self, domain: str) -> None:
        """Add what appears with a finished install: the console's route."""
        route = resources.console_route(domain)
        await self._cluster.api.apply(resources.CONSOLE_ROUTE, route)
        host = route["spec"]["host"]
        admitted = [{"host": host, "routerName": "default", "conditions": [{"type": "Admitted", "status": "True"}]}]
        base = {key: route[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": "console", "namespace": "openshift-console"}}
        await self._cluster.api.apply(resources.CONSOLE_ROUTE, {**base, "status": {"ingress": admitted}}, status=True)

    def _is_multi(self) -> bool:
        return self._cluster.assets.release_architecture == catalogue.MULTI

    def _image(self) -> str:
        version, architecture = self._cluster.version, self._cluster.assets.release_architecture
        try:
            return catalogue.release(version, architecture).image
        except KeyError:
            return f"quay.io/openshift-release-dev/ocp-release:{version}-{architecture}"

    # --- time and writing ----------------------------------------------------------------------------------------------

    def _after(self, key: str, simulated_seconds: float) -> bool:
        """Return whether so much simulated time is over since the first call; the next round starts when it is."""
        if key in self._elapsed:
            return True
        if key not in self._timers:
            self._timers[key] = asyncio.create_task(self._ring(key, simulated_seconds))
        return False

    async def _ring(self, key: str, simulated_seconds: float) -> None:
        await self._clock.sleep(simulated_seconds)
        self._elapsed.add(key)
        self._timers.pop(key, None)
        self._state.changed.set()

    def _forget(self, key: str) -> None:
        """Restart a time whose condition is not met any more."""
        self._elapsed.discard(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _conditions(self, owner: str, desired: Mapping[str, tuple[str, str, str]]) -> list[dict[str, str]]:
        """Return conditions whose transition time changes only with their status."""
        conditions = []
        for kind, (status, reason, message) in desired.items():
            key = f"{owner}/{kind}/{status}"
            other = f"{owner}/{kind}/{'False' if status == 'True' else 'True'}"
            self._transition_times.pop(other, None)
            transition_time = self._transition_times.setdefault(key, _now())
            condition = {"type": kind, "status": status, "lastTransitionTime": transition_time}
            if reason:
                condition["reason"] = reason
            if message:
                condition["message"] = message
            conditions.append(condition)
        return conditions

    async def _write_status(self, path: str, item: Object, status: Object) -> None:
        """Write a status if it is not what was written last."""
        if self._state.written.get(path) == status:
            return
        metadata = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
        body = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata, "status": status}
        await self._cluster.api.apply(path, body, status=True)
        self._state.written[path] = status


def _registry_problem(spec: Mapping[str, Any], claims: list[Object]) -> str:
    """Return why the registry's pod does not run, empty if it does or if there is no registry."""
    if spec.get("managementState") != "Managed":
        return ""
    backends = spec.get("storage") or {}
    storage = {kind: backends[kind] for kind in ("emptyDir", "pvc") if backends.get(kind) is not None}
    if len(storage) != 1:
        return "Error: storage backend not configured" if not storage else "Error: exactly one storage type should be configured"
    if "emptyDir" in storage:
        return ""
    name = storage["pvc"].get("claim")
    claim = next((candidate for candidate in claims if candidate["metadata"]["name"] == name), None)
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    bound = (claim.get("status") or {}).get("phase") == "Bound"
    return "" if bound else "The deployment does not have available replicas: pod has unbound immediate PersistentVolumeClaims"


def _members(pools: list[Object], nodes: Mapping[str, Object]) -> dict[str, list[Object]]:
    """Sort nodes into pools: a custom pool wins over worker, master over all."""
    members: dict[str, list[Object]] = {pool["metadata"]["name"]: [] for pool in pools}
    order = {"master": 0, "worker": 2}
    ranked = sorted(pools, key=lambda pool: (order.get(pool["metadata"]["name"], 1), pool["metadata"]["name"]))
    for node in nodes.values():
        for pool in ranked:
            if selects((pool.get("spec") or {}).get("nodeSelector"), labels_of(node)):
                members[pool["metadata"]["name"]].append(node)
                break
    return members


def _first_roles(pool: str) -> dict[str, str | None]:
    """Return the roles that the kubelet of a node gives itself, by the pool of its first config; a custom pool's nodes are workers."""
    if pool == "master":
        return {f"{ROLE_LABEL}control-plane": "", f"{ROLE_LABEL}master": ""}
    return {f"{ROLE_LABEL}worker": ""} if pool else {}


def _pool_labels(pool: Object | None) -> dict[str, str | None]:
    return (((pool or {}).get("spec") or {}).get("nodeSelector") or {}).get("matchLabels") or {}


def _master_scheduling(node: Object, *, schedulable: bool) -> tuple[dict[str, str | None], dict[str, Any]]:
    """Return the changes of labels and spec that a master needs by the Scheduler object."""
    worker, key = f"{ROLE_LABEL}worker", f"{ROLE_LABEL}master"
    taints = node["spec"].get("taints") or []
    kept = [taint for taint in taints if taint["key"] != key]
    labels: dict[str, str | None] = {}
    if schedulable != (worker in labels_of(node)):
        labels = {worker: "" if schedulable else None}
    if schedulable and len(kept) != len(taints):
        return labels, {"taints": kept}
    if not schedulable and len(kept) == len(taints):
        return labels, {"taints": [*taints, {"key": key, "effect": "NoSchedule"}]}
    return labels, {}


def _pool_of_config(rendered: str) -> str:
    """Return ``worker`` of ``rendered-worker-<hash>``, "" for anything else."""
    if not rendered.startswith("rendered-"):
        return ""
    return rendered.removeprefix("rendered-").rpartition("-")[0]


def _is_updated(node: Object, rendered: str) -> bool:
    current, state = (annotations_of(node).get(MACHINE_CONFIG_ANNOTATION + name) for name in ("currentConfig", "state"))
    return current == rendered and state == "Done"


def _takes_pods(node: Object) -> bool:
    """Whether ordinary pods could run there: ready, not cordoned, no taint that keeps them off."""
    taints = node["spec"].get("taints") or []
    return (
        is_ready(node)
        and not node["spec"].get("unschedulable")
        and not any(taint["effect"] in {"NoSchedule", "NoExecute"} for taint in taints)
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
