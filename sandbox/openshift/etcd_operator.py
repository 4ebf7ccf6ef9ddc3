# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The etcd operator's work on members: their certificates, their static pods, and which master may become a member.

A master becomes a member when all of this holds (OpenShift, "Replacing an unhealthy etcd member"): no member has its name any more, every
voting member is healthy, its secrets name its address, and after the bootstrap at least three members are healthy, or the quorum guard is
off (``useUnsupportedUnsafeNonHANonProductionUnstableEtcd``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sandbox.openshift import pki, resources
from sandbox.openshift.api import Object
from sandbox.openshift.etcd import BOOTSTRAP
from sandbox.openshift.kubelet import CONTAINER_RUNTIME
from sandbox.openshift.resources import ETCD_NAMESPACE, ETCD_PODS, ETCD_SECRETS, ROLE_LABEL, condition_of, is_ready, labels_of

if TYPE_CHECKING:
    from sandbox.openshift.cluster import Cluster

GUARD_OFF: Final = "useUnsupportedUnsafeNonHANonProductionUnstableEtcd"
MIRROR: Final = "kubernetes.io/config.mirror"

_GUARDED_MEMBERS: Final = 3
_ROLLOUT: Final = 60.0
"""Simulated seconds until the operator has added a member for a master that may become one."""
_SECRETS: Final = ("etcd-peer", "etcd-serving", "etcd-serving-metrics")
_CONTAINERS: Final = ("etcdctl", "etcd", "etcd-metrics", "etcd-readyz", "etcd-rev")
_LIFETIME: Final = timedelta(days=1095)


@dataclass
class Report:
    """The result of a round."""

    blocked: dict[str, str] = field(default_factory=dict)
    """Why a master is no member yet, by its node's name."""
    unhealthy: list[str] = field(default_factory=list)
    voting: int = 0
    healthy: int = 0

    @property
    def members(self) -> str:
        """The message of EtcdMembersAvailable."""
        if not self.unhealthy:
            return f"{self.healthy} members are available"
        names = ", ".join(f"{name} is unhealthy" for name in self.unhealthy)
        return f"{self.healthy} of {self.voting} members are available, {names}"

    @property
    def problem(self) -> str:
        """The reason why the operator is degraded, empty if it is not."""
        if self.unhealthy:
            return f"EtcdMembersDegraded: {self.members}"
        return "; ".join(f"ClusterMemberControllerDegraded: {name}: {reason}" for name, reason in sorted(self.blocked.items()))


class EtcdOperator:
    """The members of one cluster. ``after`` returns whether a simulated time is over since its first call, ``forget`` restarts it."""

    def __init__(self, cluster: Cluster, after: Callable[[str, float], bool], forget: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._after = after
        self._forget = forget

    async def round(self, nodes: Iterable[Object], operator: Object | None, *, bootstrap_complete: bool) -> Report:
        """Update secrets, members and pods for these nodes; ``operator`` is the Etcd object."""
        masters = [node for node in nodes if f"{ROLE_LABEL}master" in labels_of(node) and _address(node)]
        await self._cluster.read_etcd_members()
        await self._drop_lost_learners(masters)
        secrets = await self._secrets(masters)
        guarded = bootstrap_complete and self._cluster.assets.control_plane_replicas >= _GUARDED_MEMBERS and not _is_guard_off(operator)
        report = Report()
        for node in masters:
            await self._admit(node, secrets, report, guarded=guarded)
        await self._cluster.start_etcd_members()
        await self._pods(masters)
        etcd = self._cluster.etcd
        report.unhealthy = sorted(member.name for member in etcd.unhealthy)
        report.voting, report.healthy = len(etcd.voting), len(etcd.healthy)
        return report

    async def remove_bootstrap(self) -> None:
        """Remove the bootstrap machine's member."""
        for member in self._cluster.etcd:
            if member.name == BOOTSTRAP:
                await self._cluster.remove_etcd_member(member)

    async def _drop_lost_learners(self, masters: list[Object]) -> None:
        """Remove learners whose node was deleted before they started."""
        known = {_address(node) for node in masters}
        for member in self._cluster.etcd:
            if not member.started and member.name != BOOTSTRAP and member.address not in known:
                await self._cluster.remove_etcd_member(member)

    async def _admit(self, node: Object, secrets: Mapping[str, Object], report: Report, *, guarded: bool) -> None:
        name, address, etcd = node["metadata"]["name"], _address(node), self._cluster.etcd
        key = f"etcd member {name} {address}"
        if etcd.at(address) is not None or not is_ready(node):
            self._forget(key)
            return
        reason = self._refusal(name, address, secrets, guarded=guarded)
        if reason:
            report.blocked[name] = reason
            self._forget(key)
        elif self._after(key, _ROLLOUT):
            await self._cluster.add_etcd_member(name, address)

    def _refusal(self, name: str, address: str, secrets: Mapping[str, Object], *, guarded: bool) -> str:
        etcd = self._cluster.etcd
        if any(member.name == name for member in etcd):
            return "a member of this name and another address exists"
        if etcd.unhealthy:
            return f"unhealthy members: {', '.join(member.name for member in etcd.unhealthy)}"
        for kind in _SECRETS:
            secret = secrets.get(f"{kind}-{name}")
            if secret is None or address not in pki.addresses_of(resources.secret_data(secret)["tls.crt"]):
                return f"the certificate in secret {kind}-{name} is not valid for {address}"
        if guarded and len(etcd.healthy) < _GUARDED_MEMBERS:
            return f"{_GUARDED_MEMBERS} nodes are required, but only {len(etcd.healthy)} are available"
        return ""

    async def _secrets(self, masters: list[Object]) -> dict[str, Object]:
        """Return the secrets of all members by name; create the missing ones of a node. An existing one is not changed."""
        secrets = {item["metadata"]["name"]: item for item in await self._cluster.api.items(ETCD_SECRETS)}
        if "etcd-signer" not in secrets:
            secrets["etcd-signer"] = await self._create("etcd-signer", self._cluster.etcd_signer)
        data = resources.secret_data(secrets["etcd-signer"])
        signer = pki.KeyPair(data["tls.crt"], data["tls.key"])
        for node in masters:
            name, address = node["metadata"]["name"], _address(node)
            for kind in _SECRETS:
                if f"{kind}-{name}" not in secrets:
                    pair = pki.server(signer, f"system:{kind}:{name}", ("localhost", name, address, "127.0.0.1"), _LIFETIME)
                    secrets[f"{kind}-{name}"] = await self._create(f"{kind}-{name}", pair)
        return secrets

    async def _create(self, name: str, pair: pki.KeyPair) -> Object:
        content = {"tls.crt": pair.certificate, "tls.key": pair.key}
        return await self._cluster.api.create(ETCD_SECRETS, resources.secret(ETCD_NAMESPACE, name, content, "kubernetes.io/tls"))

    async def _pods(self, masters: list[Object]) -> None:
        """Show the static pod of each machine that has started a member, with its state."""
        etcd, now = self._cluster.etcd, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        shown = {item["metadata"]["name"]: item for item in await self._cluster.api.items(ETCD_PODS)}
        healthy = {member.address for member in etcd.healthy}
        started = {member.address for member in etcd.voting}
        for node in masters:
            name, address = f"etcd-{node['metadata']['name']}", _address(node)
            if not is_ready(node) or node["status"]["nodeInfo"]["containerRuntimeVersion"] != CONTAINER_RUNTIME:
                continue
            pod = shown.get(name)
            if pod is not None and any(owner["uid"] != node["metadata"]["uid"] for owner in pod["metadata"]["ownerReferences"]):
                # Of an earlier machine of this name: a kubelet deletes mirror pods that are not of its own static pods.
                await self._cluster.api.delete(f"{ETCD_PODS}/{name}", grace_seconds=0, uid=pod["metadata"]["uid"])
                continue
            if pod is None and address in started:
                pod = await self._cluster.api.create(ETCD_PODS, _pod(name, node, self._cluster.assets.version))
            if pod is not None and (condition_of(pod, "Ready") or {}).get("status") != str(address in healthy):
                status = _pod_status(pod, address, now, is_running=address in healthy)
                await self._cluster.api.patch(f"{ETCD_PODS}/{name}/status", {"status": status})


def _is_guard_off(operator: Object | None) -> bool:
    overrides = ((operator or {}).get("spec") or {}).get("unsupportedConfigOverrides") or {}
    return overrides.get(GUARD_OFF) is True


def _address(node: Object) -> str:
    entries = (node.get("status") or {}).get("addresses") or []
    return next((str(entry["address"]) for entry in entries if entry["type"] == "InternalIP"), "")


def _pod(name: str, node: Object, version: str) -> Object:
    metadata = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    image = f"quay.io/openshift-release-dev/ocp-v4.0-art-dev:{version}-etcd"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": ETCD_NAMESPACE,
            "labels": {"app": "etcd", "etcd": "true", "k8s-app": "etcd", "revision": "8"},
            "annotations": {MIRROR: metadata["uid"], "kubernetes.io/config.source": "file"},
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": metadata["name"],
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": container, "image": image} for container in _CONTAINERS],
        },
    }


def _pod_status(pod: Object, address: str, now: str, *, is_running: bool) -> dict[str, Any]:
    ready = str(is_running)
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in ("PodScheduled", "Initialized")]
    conditions += [{"type": kind, "status": ready, "lastTransitionTime": now} for kind in ("ContainersReady", "Ready")]
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": container["image"],
            "containerID": f"cri-o://{pod['metadata']['uid']}-{container['name']}",
            "ready": is_running or container["name"] == "etcdctl",
            "restartCount": 0,
            "state": {"running": {"startedAt": now}}
            if is_running or container["name"] == "etcdctl"
            else {"waiting": {"reason": "CrashLoopBackOff"}},
        }
        for container in pod["spec"]["containers"]
    ]
    return {
        "phase": "Running",
        "conditions": conditions,
        "hostIP": address,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now,
        "containerStatuses": containers,
    }
