# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the devices of Nodes, and delete the Nodes of machines that no longer exist. The device of each Node: ``nodes/identity``.

A Node outlives its machine, and as long as it is there another machine of its name is refused its first certificate. A Node is left by its
machine when all of this holds; each rule is one function or one condition of :func:`judge`:

- it is no control plane Node, or the caller names it as one (``terminated`` with ``control_plane``);
- the caller names it (``nodes``, ``terminated``), or an annotation says that it was on a device of this collection;
- it is of no device with the cluster's ownership tags;
- no device of the whole project is its device or has its name, whatever tags it has;
- its kubelet is unreachable (Ready is Unknown), or the caller has just deleted its device (``terminated``).

Nothing is written while a device has another name than its Node: the device of a Node would be mistaken for none, and ordered again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..base.argspec import Options
from ..base.diff import shown
from ..base.errors import ClusterRefusedError, ClusterUnreachableError, CollectionError, MetalError, together
from ..base.kubernetes_objects import DEVICE, PROVIDER
from ..base.wait import WaitTimeout
from ..machines.device import find_devices
from .identity import Device, Identities, is_older, read_devices
from .node import Node, read_node

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient
    from ..clients.metal import MetalClient

NODE_OWNERSHIP_OPTIONS = Options(
    {
        "nodes": {"type": "list", "elements": "str", "default": []},
        "terminated": {"type": "list", "elements": "str", "default": []},
        "ownership_tags": {"type": "list", "elements": "str", "required": True},
        "control_plane": {"type": "bool", "default": False},
        "prune": {"type": "bool", "default": False},
    }
)

PAUSE = 3.0
"""Seconds until the second list of devices: a list may miss one for a moment (service's known behaviour)."""

DELETED = "deleted"
"""What the diff says of a Node that is deleted, in place of its device's id."""

Verdict = Literal["other", "current", "left"]


def judge(
    node: Node, identities: Identities, hostnames: Collection[str], nodes: Collection[str], control_plane: Collection[str] = ()
) -> Verdict:
    """Return whether a Node is of one of the devices (``current``), was left by one (``left``), or is none of ours (``other``).

    ``hostnames``: those of the devices. ``control_plane``: names of the control plane Nodes that may have been left.
    """
    if identities.device_of(node.name) is not None:
        return "current"
    if node.control_plane and node.name not in control_plane:
        return "other"
    if node.name in hostnames or node.name in nodes or node.device_id or node.cordoned_here:
        return "left"
    return "other"


class Ownership:
    """Records the devices of Nodes, and with ``prune`` deletes the Nodes that machines have left."""

    def __init__(
        self, cluster: ClusterClient, metal: MetalClient, params: Mapping[str, Any], *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._cluster = cluster
        self._metal = metal
        self._params = params
        self._sleep = sleep
        self._before: dict[str, str] = {}
        self._after: dict[str, str] = {}
        self._recorded: list[str] = []
        self._deleted: list[str] = []
        self._unsure: list[tuple[Node, str]] = []
        """Writes whose answer was lost, each a Node and what it was to become."""
        self._kept: list[dict[str, str]] = []
        self._foreign: list[dict[str, str]] = []
        self._is_known = False
        """Whether the last poll has read Nodes and devices."""

    def poll(self) -> list[str]:
        """Do what can be done now; return one text for each Node that cannot be deleted yet."""
        self._is_known = False
        waiting = self._step()
        self._is_known = True
        return waiting

    def _step(self) -> list[str]:
        nodes = [read_node(obj) for obj in self._cluster.nodes()]
        self._settle(nodes)
        devices = read_devices(self._devices(self._params["ownership_tags"]))
        identities = Identities(nodes, devices)
        if identities.renamed:
            problems = [problem.text for problem in identities.renamed]
            raise self._metal.add_origin(CollectionError(together("Cannot determine the devices of nodes", problems)))
        ours = {*self._params["nodes"], *self._params["terminated"]}
        control_plane = self._params["terminated"] if self._params["control_plane"] else ()
        hostnames = {device.hostname for device in devices}
        self._foreign = [
            {"name": node.name, "provider_id": node.foreign_provider_id}
            for node in nodes
            if node.foreign_provider_id and identities.device_of(node.name) is not None
        ]
        for node in nodes:
            if (device := identities.device_of(node.name)) is not None:
                self._record(node, device)
        left = [node for node in nodes if judge(node, identities, hostnames, ours, control_plane) == "left"]
        if not self._params["prune"] or not left:
            return []
        if not devices:
            tags = ", ".join(self._params["ownership_tags"])
            text = (
                f"Cannot determine which nodes have no device: project {self._params['project_id']} has no device with the tags {tags}. "
                "Is project_id (metal_project_id in the playbooks) the project of this cluster?"
            )
            raise self._metal.add_origin(CollectionError(text))
        return self._prune(self._confirmed(left))

    def _confirmed(self, left: list[Node]) -> list[Node]:
        """Return those that a second list, of all devices of the project, confirms.

        Raises CollectionError for a Node of ``nodes`` whose device exists by another name, without the tags: it would be ordered again.
        """
        self._sleep(PAUSE)
        devices = read_devices(self._devices([]))
        identities, named = Identities(left, devices), {device.hostname: device for device in devices}
        confirmed = []
        self._kept = []
        problems = []
        for node in left:
            device, namesake = identities.device_of(node.name), named.get(node.name)
            if device is not None and device.hostname != node.name and node.name in self._params["nodes"]:
                tags = ", ".join(self._params["ownership_tags"])
                problems.append(
                    f"node {node.name} is of device {device.id}, which is named {device.hostname} and lacks the tags {tags}. "
                    "Restore its name and tags, or delete the device and the node"
                )
            elif device is not None and device.hostname != node.name:
                self._kept.append({"name": node.name, "reason": f"its device {device.id} exists, by another name or without the tags"})
            elif namesake is not None and not is_older(node, namesake):
                self._kept.append({"name": node.name, "reason": f"device {namesake.id} has its name and not the ownership tags"})
            else:
                confirmed.append(node)
        if problems:
            raise self._metal.add_origin(CollectionError(together("Cannot determine the devices of nodes", problems)))
        return confirmed

    def _prune(self, left: Iterable[Node]) -> list[str]:
        waiting = []
        for node in left:
            if node.unreachable or node.name in self._params["terminated"]:
                self._delete(node)
            else:
                state = "Ready" if node.ready else f"not Ready ({node.message})"
                waiting.append(f"node {node.name} has no device any more, but its kubelet still reports: it is {state}")
        return waiting

    def _record(self, node: Node, device: Device) -> None:
        """Record a device in the annotation and in ``spec.providerID``, which can be set once and never be changed."""
        if node.is_annotated and node.provider_id:
            return
        patch: dict[str, Any] = {"metadata": {"annotations": {DEVICE: device.id}}}
        if not node.provider_id:
            patch["spec"] = {"providerID": f"{PROVIDER}{device.id}"}
        self._write(node, device.id, lambda: self._cluster.change_node(node.name, node.uid, patch))

    def _delete(self, node: Node) -> None:
        try:
            self._write(node, DELETED, lambda: self._cluster.delete_node(node.name, node.uid))
        except ClusterRefusedError as refused:
            # 404: another client has deleted it.
            if refused.status != 404:
                raise

    def _write(self, node: Node, after: str, call: Callable[[], None]) -> None:
        """Write and remember what a Node has become: DELETED, or on the device with this id."""
        if not self._cluster.read_only:
            try:
                call()
            except ClusterUnreachableError:
                # It may have had its effect; the list that is read next says so.
                self._unsure.append((node, after))
                raise
        self._count(node, after)

    def _count(self, node: Node, after: str) -> None:
        (self._deleted if after == DELETED else self._recorded).append(node.name)
        before = "no device recorded" if not node.device_id else node.device_id if node.provider_id else f"{node.device_id}, no provider ID"
        self._before[node.name], self._after[node.name] = before, after

    def _settle(self, nodes: Iterable[Node]) -> None:
        """Count writes whose answers were lost, and that were made."""
        by_uid = {node.uid: node for node in nodes}
        for node, after in self._unsure:
            current = by_uid.get(node.uid)
            if (current is None) if after == DELETED else (current is not None and current.is_annotated and current.provider_id != ""):
                self._count(node, after)
        self._unsure.clear()

    def _devices(self, tags: list[str]) -> list[dict[str, Any]]:
        filters = {"project_id": self._params["project_id"], "tags": tags, "ids": None, "hostnames": None, "states": None}
        devices: list[dict[str, Any]] = find_devices(self._metal, filters)["devices"]
        return devices

    def carry_out(self, wait_for: Callable[..., None], result: dict[str, Any]) -> None:
        """Wait until no Node is left by its machine, with what is returned in ``result``."""
        try:
            wait_for(self.poll, "Deletion of nodes without a device")
        except WaitTimeout as problem:
            if self._is_known:
                problem.message = (
                    f"Cannot delete nodes without a device: {'; '.join(problem.waiting)}. Either their machines run outside of project "
                    f"{self._params['project_id']}, or it is not the project of this cluster (metal_project_id in the playbooks)."
                )
            self._cluster.add_origin(problem)
            raise
        except MetalError as problem:
            problem.message = f"Cannot determine which nodes have no device. {problem.message}"
            raise
        finally:
            result.update(
                changed=bool(self._recorded or self._deleted),
                diff=shown(self._before, self._after, "devices of nodes"),
                recorded=sorted(self._recorded),
                deleted=sorted(self._deleted),
                kept=self._kept,
                foreign_provider_ids=self._foreign,
            )
