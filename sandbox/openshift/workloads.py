# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated pods without containers: scheduled on fitting nodes, running at once, deleted when their containers have stopped.

Enough for the removal of a node: cordon, eviction, disruption budgets, daemon sets and stateful sets (by the real controllers) and pods
that start on other nodes. It replaces the part of simulated kubelets that runs pods, and the scheduler where none runs.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sandbox.openshift import backup
from sandbox.openshift.api import APIError, Object
from sandbox.openshift.control_plane import PASSING_FAILURES
from sandbox.openshift.etcd_operator import MIRROR
from sandbox.openshift.kubelet import CONTAINER_RUNTIME
from sandbox.openshift.resources import annotations_of, condition_of, is_ready, labels_of, selects

if TYPE_CHECKING:
    from sandbox.openshift.cluster import Cluster

_logger = logging.getLogger(__name__)

PODS: Final = "/api/v1/pods"

STOPS_AFTER: Final = "sandbox/stops-after"
"""Annotation of a pod: simulated seconds that its containers need to stop (a kubelet kills them at the end of the grace period), or
``never`` (they cannot be killed, as a process that waits for a dead disk). Without it they need the whole grace period."""

ROUTER_LABEL: Final = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
"""Label of the pods of an IngressController."""

# Real seconds until a failed step is tried again.
_RETRY_PAUSE: Final = 2.0


@dataclass(frozen=True)
class _Ending:
    """A pod that is being stopped, and the grace period that it was stopped with."""

    grace: float
    task: asyncio.Task[None]


async def follow(cluster: Cluster, path: str, key: str, objects: dict[str, Object], changed: asyncio.Event) -> None:
    """Keep in ``objects`` those of a collection, by ``key`` of their metadata, and set ``changed`` with each change; until cancelled."""
    while True:
        try:
            items, version = await cluster.api.list_at(path)
            objects.clear()
            objects |= {item["metadata"][key]: item for item in items}
            changed.set()
            async for kind, item in cluster.api.watch(path, version):
                if kind == "BOOKMARK":
                    continue
                if kind == "DELETED":
                    objects.pop(item["metadata"][key], None)
                else:
                    objects[item["metadata"][key]] = item
                changed.set()
        except PASSING_FAILURES as error:
            if not (isinstance(error, APIError) and error.status == 410):
                _logger.warning("%s of %s cannot be followed: %r", path, cluster.assets.domain, error)
            await asyncio.sleep(1.0)


class Workloads:
    """All pods of one cluster; ``nodes``: the current Node objects by name."""

    def __init__(self, cluster: Cluster, nodes: Mapping[str, Object]) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._pods: dict[str, Object] = {}
        self._changed = asyncio.Event()
        self._endings: dict[str, _Ending] = {}
        self._backups: dict[str, asyncio.Task[None]] = {}
        self._addresses = itertools.count(int(ipaddress.IPv4Address("10.128.0.10")))

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(follow(self._cluster, PODS, "uid", self._pods, self._changed))
                group.create_task(self._work())
        finally:
            for ending in self._endings.values():
                ending.task.cancel()
            for task in self._backups.values():
                task.cancel()

    async def _work(self) -> None:
        while True:
            self._changed.clear()
            self._cluster.routers.place(pod for pod in self._pods.values() if ROUTER_LABEL in labels_of(pod))
            for uid, pod in list(self._pods.items()):
                try:
                    await self._attend(uid, pod)
                except PASSING_FAILURES as error:
                    if not (isinstance(error, APIError) and error.status in {404, 409}):
                        _logger.warning("pod %s of %s: %r", pod["metadata"]["name"], self._cluster.assets.domain, error)
            try:
                # Without pods there is nothing to try again.
                async with asyncio.timeout(_RETRY_PAUSE if self._pods else None):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _attend(self, uid: str, pod: Object) -> None:
        node = self._nodes.get(pod["spec"].get("nodeName", ""))
        if MIRROR in annotations_of(pod) and not pod["metadata"].get("deletionTimestamp"):
            # A static pod: what shows it also writes its status.
            return
        if node is not None and not _is_played(node):
            return
        if pod["metadata"].get("deletionTimestamp"):
            # A node that is not ready does not report the end of its pods: they remain terminating.
            if node is not None and is_ready(node):
                self._stop(uid, pod)
        elif not pod["spec"].get("nodeName"):
            if not self._cluster.has_scheduler:
                await self._place(pod)
        elif node is not None and is_ready(node) and (pod.get("status") or {}).get("phase", "Pending") == "Pending":
            await self._cluster.api.patch(f"{_path(pod)}/status", {"status": self._running(pod, node)})
        elif node is not None and is_ready(node) and _was_lost(pod):
            await self._cluster.api.patch(f"{_path(pod)}/status", {"status": {"conditions": _ready_conditions()}})
        elif node is not None and is_ready(node):
            self._begin_backup(uid, pod)

    def _begin_backup(self, uid: str, pod: Object) -> None:
        if uid not in self._backups and pod["status"]["phase"] == "Running" and backup.is_backup(pod):
            self._backups[uid] = asyncio.create_task(self._back_up(uid, pod))

    async def _back_up(self, uid: str, pod: Object) -> None:
        """Run the pod's script on its machine, and report its end as the kubelet does."""
        try:
            await self._cluster.clock.sleep(backup.SECONDS)
            address = pod["status"]["hostIP"]
            is_member = any(member.address == address for member in self._cluster.etcd.healthy)
            try:
                names = await asyncio.to_thread(backup.run, pod, self._cluster.disk_of(address), is_member=is_member)
                status = backup.ended(pod["status"], 0, f"snapshot db and kube resources are successfully saved: {', '.join(names)}")
            except backup.BackupError as error:
                status = backup.ended(pod["status"], 1, str(error))
            await self._cluster.api.patch(f"{_path(pod)}/status", {"status": status})
        except PASSING_FAILURES as error:
            _logger.warning("the end of pod %s of %s is not reported: %r", pod["metadata"]["name"], self._cluster.assets.domain, error)
            self._backups.pop(uid, None)

    async def _place(self, pod: Object) -> None:
        load = Counter(item["spec"].get("nodeName") for item in self._pods.values())
        ports = _host_ports(pod)
        taken = {item["spec"].get("nodeName") for item in self._pods.values() if ports & _host_ports(item)}
        fitting = [name for name, node in self._nodes.items() if name not in taken and _fits(pod, node)]
        if not fitting:
            return
        name = min(fitting, key=lambda name: (load[name], name))
        target = {"apiVersion": "v1", "kind": "Node", "name": name}
        metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
        await self._cluster.api.create(
            f"{_path(pod)}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        )
        pod["spec"]["nodeName"] = name

    def _stop(self, uid: str, pod: Object) -> None:
        """Begin to stop a terminating pod, or begin anew when another request has shortened its grace period."""
        grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        current = self._endings.get(uid)
        if current is not None and current.grace <= grace:
            return
        if current is not None:
            current.task.cancel()
        seconds = _seconds_to_stop(pod, grace)
        if seconds is not None:
            self._endings[uid] = _Ending(grace, asyncio.create_task(self._end(uid, pod, seconds)))

    async def _end(self, uid: str, pod: Object, seconds: float) -> None:
        """Delete a terminating pod as its kubelet would once the containers have stopped: this pod, and not another of its name."""
        try:
            await self._cluster.clock.sleep(seconds)
            await self._cluster.api.delete(_path(pod), grace_seconds=0, uid=uid)
        except PASSING_FAILURES as error:
            # 409: the pod is gone, and another has its name.
            if not (isinstance(error, APIError) and error.status == 409):
                _logger.warning("pod %s of %s cannot be removed: %r", pod["metadata"]["name"], self._cluster.assets.domain, error)
        # A cancelled one has made room for another, which must not lose its place.
        self._endings.pop(uid, None)

    def _running(self, pod: Object, node: Object) -> Object:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        host = next((entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP"), "")
        address = host if pod["spec"].get("hostNetwork") else str(ipaddress.IPv4Address(next(self._addresses)))
        containers = [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": container["image"],
                "containerID": f"cri-o://{pod['metadata']['uid']}-{container['name']}",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for container in pod["spec"]["containers"]
        ]
        return {
            "phase": "Running",
            "conditions": _ready_conditions(),
            "hostIP": host,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": now,
            "containerStatuses": containers,
        }


def _ready_conditions() -> list[Object]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [
        {"type": kind, "status": "True", "lastTransitionTime": now} for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]


def _was_lost(pod: Object) -> bool:
    """Return whether a running pod is not Ready since its node was not: the kubelet reports it when it is back."""
    running = (pod.get("status") or {}).get("phase") == "Running"
    return running and (condition_of(pod, "Ready") or {}).get("status") == "False"


def _host_ports(pod: Object) -> set[int]:
    """Return the ports of its node that a pod occupies until it has ended."""
    if (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        return set()
    return {port["hostPort"] for container in pod["spec"]["containers"] for port in container.get("ports") or [] if port.get("hostPort")}


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _seconds_to_stop(pod: Object, grace: float) -> float | None:
    """Return the simulated seconds until the containers of a pod have stopped; None when they never do."""
    if (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        return 0.0
    stops_after = annotations_of(pod).get(STOPS_AFTER, "")
    if stops_after == "never":
        return None
    try:
        return min(float(stops_after), grace) if stops_after else grace
    except ValueError:
        return grace


def _is_played(node: Object) -> bool:
    """Return whether the node's pods are simulated: a real kubelet runs its own."""
    return bool(node["status"]["nodeInfo"]["containerRuntimeVersion"] == CONTAINER_RUNTIME)


def _fits(pod: Object, node: Object) -> bool:
    """Return whether a node accepts a pod: its labels and name as selected, all its taints tolerated.

    A node that is cordoned or not ready counts as tainted, as it is a moment later by the node lifecycle controller: daemon sets tolerate
    the first.
    """
    labels, spec = labels_of(node), pod["spec"]
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if affinity and not any(_matches(term, node) for term in affinity["nodeSelectorTerms"]):
        return False
    taints = [taint for taint in node["spec"].get("taints") or [] if taint["effect"] != "PreferNoSchedule"]
    if node["spec"].get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    if not is_ready(node):
        taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    return all(any(_tolerates(toleration, taint) for toleration in spec.get("tolerations") or []) for taint in taints)


def _matches(term: Mapping[str, Any], node: Object) -> bool:
    """Whether a node fits one term of a node affinity; ``matchFields`` has the name alone (Kubernetes API, NodeSelectorTerm)."""
    fields = {"metadata.name": node["metadata"]["name"]}
    by_label, by_field = ({"matchExpressions": term.get(name)} for name in ("matchExpressions", "matchFields"))
    chosen = [(by_label, labels_of(node)), (by_field, fields)]
    return all(selects(selector, values) for selector, values in chosen if selector["matchExpressions"])


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in {None, "", taint["key"]}
    same_key: bool = toleration.get("key") == taint["key"]
    return same_key and str(toleration.get("value", "")) == str(taint.get("value", ""))
