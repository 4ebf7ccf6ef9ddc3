# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods without containers: placed on nodes that take them, running at once, gone after their grace period.

Enough for what is asked of a node that is to leave: cordon, eviction, disruption budgets (the real controllers look after
these) and pods that come up elsewhere. It stands for the scheduler and for the part of pretended kubelets that runs pods.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import httpx

from sandbox.openshift.api import APIError, Object
from sandbox.openshift.control_plane import ControlPlaneError
from sandbox.openshift.kubelet import CONTAINER_RUNTIME
from sandbox.openshift.resources import is_ready, labels_of

if TYPE_CHECKING:
    from sandbox.openshift.cluster import Cluster

_logger = logging.getLogger(__name__)

PODS: Final = "/api/v1/pods"

_FAILURES: Final = (APIError, ControlPlaneError, httpx.HTTPError)
# Real seconds between looks at what could not be done when it came up.
_LOOK_AGAIN: Final = 2.0


class Workloads:
    """All pods of one cluster; ``nodes`` gives the Node objects by name as they are now."""

    def __init__(self, cluster: Cluster, nodes: Callable[[], Mapping[str, Object]]) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._pods: dict[str, Object] = {}
        self._changed = asyncio.Event()
        self._endings: dict[str, asyncio.Task[None]] = {}
        self._addresses = itertools.count(int(ipaddress.IPv4Address("10.128.0.10")))

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow())
                group.create_task(self._work())
        finally:
            for task in self._endings.values():
                task.cancel()

    async def _follow(self) -> None:
        while True:
            try:
                items, version = await self._cluster.api.list_at(PODS)
                self._pods = {item["metadata"]["uid"]: item for item in items}
                self._changed.set()
                async for kind, item in self._cluster.api.watch(PODS, version):
                    if kind == "DELETED":
                        self._pods.pop(item["metadata"]["uid"], None)
                    elif kind != "BOOKMARK":
                        self._pods[item["metadata"]["uid"]] = item
                    self._changed.set()
            except _FAILURES as error:
                if not (isinstance(error, APIError) and error.status == 410):
                    _logger.warning("pods of %s cannot be followed: %r", self._cluster.assets.domain, error)
                await asyncio.sleep(1.0)

    async def _work(self) -> None:
        while True:
            self._changed.clear()
            for uid, pod in list(self._pods.items()):
                try:
                    await self._attend(uid, pod)
                except _FAILURES as error:
                    if not (isinstance(error, APIError) and error.status in {404, 409}):
                        _logger.warning("pod %s of %s: %r", pod["metadata"]["name"], self._cluster.assets.domain, error)
            try:
                # Without pods there is nothing to look at again.
                await asyncio.wait_for(self._changed.wait(), _LOOK_AGAIN if self._pods else None)
            except TimeoutError:
                continue

    async def _attend(self, uid: str, pod: Object) -> None:
        node = self._nodes().get(pod["spec"].get("nodeName", ""))
        if node is not None and not _is_played(node):
            return
        if pod["metadata"].get("deletionTimestamp"):
            # A node that is not ready does not tell of the end of its pods: they stay, terminating.
            if node is not None and is_ready(node) and uid not in self._endings:
                self._endings[uid] = asyncio.create_task(self._end(uid, pod))
        elif not pod["spec"].get("nodeName"):
            await self._place(pod)
        elif node is not None and is_ready(node) and (pod.get("status") or {}).get("phase", "Pending") == "Pending":
            await self._cluster.api.patch(f"{_path(pod)}/status", {"status": self._running(pod, node)})

    async def _place(self, pod: Object) -> None:
        load = Counter(item["spec"].get("nodeName") for item in self._pods.values())
        fitting = [name for name, node in self._nodes().items() if _fits(pod, node)]
        if not fitting:
            return
        name = min(fitting, key=lambda name: (load[name], name))
        target = {"apiVersion": "v1", "kind": "Node", "name": name}
        metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
        await self._cluster.api.create(
            f"{_path(pod)}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        )
        pod["spec"]["nodeName"] = name

    async def _end(self, uid: str, pod: Object) -> None:
        """Delete a terminating pod after its grace period, as its kubelet would once the containers have stopped."""
        try:
            await self._cluster.clock.sleep(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))
            await self._cluster.api.delete(_path(pod), grace_seconds=0)
        except _FAILURES as error:
            _logger.warning("pod %s of %s does not end: %r", pod["metadata"]["name"], self._cluster.assets.domain, error)
        finally:
            self._endings.pop(uid, None)

    def _running(self, pod: Object, node: Object) -> Object:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        host = next((entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP"), "")
        address = host if pod["spec"].get("hostNetwork") else str(ipaddress.IPv4Address(next(self._addresses)))
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": now}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
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
            "conditions": conditions,
            "hostIP": host,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": now,
            "containerStatuses": containers,
        }


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _is_played(node: Object) -> bool:
    """Whether nobody else runs the node's pods: a real kubelet does it by itself."""
    return bool(node["status"]["nodeInfo"]["containerRuntimeVersion"] == CONTAINER_RUNTIME)


def _fits(pod: Object, node: Object) -> bool:
    """Whether a node takes a pod: ready, not cordoned, its labels as selected, all its taints tolerated."""
    labels, spec = labels_of(node), pod["spec"]
    if not is_ready(node) or node["spec"].get("unschedulable"):
        return False
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    taints = [taint for taint in node["spec"].get("taints") or [] if taint["effect"] != "PreferNoSchedule"]
    return all(any(_tolerates(toleration, taint) for toleration in spec.get("tolerations") or []) for taint in taints)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in {None, "", taint["key"]}
    same_key: bool = toleration.get("key") == taint["key"]
    return same_key and str(toleration.get("value", "")) == str(taint.get("value", ""))
