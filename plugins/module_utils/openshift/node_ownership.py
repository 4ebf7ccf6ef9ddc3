# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes and the devices they run on: which Node belongs to which device, and which Nodes were left by machines that no longer exist.

A Node outlives its machine, and as long as it is there another machine of its name is refused its first certificate. A Node is left by its
machine when all of this holds; each rule is one function or one condition of :func:`judge`:

- it is no control plane Node, or the caller names it as one (``terminated`` with ``control_plane``);
- the caller names it (``nodes``, ``terminated``), or an annotation says that it was on a device of this collection;
- the project has no device of its name, or only one that was provisioned after the Node was created;
- no device of the whole project has its name or its device's id, whatever tags it has;
- its kubelet is unreachable (Ready is Unknown), or the caller has just deleted its device (``terminated``).

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import shown
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    ClusterConflictError,
    ClusterRefusedError,
    ClusterUnreachableError,
    CollectionError,
    MetalError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import WaitTimeout
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import find_devices
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import DELETING_STATES
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.csr import time_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.nodes import DEVICE, Node, read_node

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import ClusterClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient

NODE_OWNERSHIP_OPTIONS = Options(
    {
        "nodes": {"type": "list", "elements": "str", "default": []},
        "terminated": {"type": "list", "elements": "str", "default": []},
        "ownership_tags": {"type": "list", "elements": "str", "required": True},
        "control_plane": {"type": "bool", "default": False},
        "prune": {"type": "bool", "default": False},
    }
)

CLOCK_SKEW = timedelta(seconds=60)
"""So much the clocks of the two APIs may differ: a machine boots for longer before its Node is there."""

PAUSE = 3.0
"""Seconds until the second list of devices: a list may miss one for a moment (service's known behaviour)."""

DELETED = "deleted"
"""What the diff says of a Node that is deleted, in place of its device's id."""

Verdict = Literal["other", "current", "left"]


@dataclass(frozen=True)
class Machine:
    """A device as far as its Node goes. ``since``: when it was provisioned last."""

    id: str
    hostname: str
    since: datetime | None


def machines_of(devices: Iterable[Mapping[str, Any]]) -> dict[str, Machine]:
    """Return the machines of devices (as ``metal_device_info`` returns them) by host name in lower case, without those being deleted."""
    found = {}
    for device in devices:
        if device["state"] not in DELETING_STATES and isinstance(device["hostname"], str):
            since = time_of(device["provisioning_started_at"] or device["created_at"])
            found[device["hostname"].lower()] = Machine(str(device["id"]), device["hostname"].lower(), since)
    return found


def is_older(node: Node, machine: Machine) -> bool:
    """Return whether a Node was created before its machine was provisioned: another machine of that name had it."""
    return node.created_at is not None and machine.since is not None and node.created_at + CLOCK_SKEW < machine.since


def judge(node: Node, machines: Mapping[str, Machine], nodes: Collection[str], control_plane: Collection[str] = ()) -> Verdict:
    """Return whether a Node is on one of the machines (``current``), was left by one (``left``), or is none of ours (``other``).

    ``control_plane``: names of the control plane Nodes that may have been left.
    """
    machine = machines.get(node.name)
    if machine is not None and not is_older(node, machine):
        return "current"
    if node.control_plane and node.name not in control_plane:
        return "other"
    if machine is not None or node.name in nodes or node.device_id or node.cordoned_here:
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
        self._is_known = False
        """Whether the last poll has read Nodes and devices."""

    def poll(self, *, patient: bool) -> list[str]:
        """Do what can be done now; return one text for each Node that cannot be deleted yet, or for an API server that does not answer."""
        self._is_known = False
        try:
            waiting = self._step()
        except (ClusterUnreachableError, ClusterConflictError) as problem:
            if not patient:
                raise
            return [problem.message]
        self._is_known = True
        return waiting

    def _step(self) -> list[str]:
        nodes = [read_node(obj) for obj in self._cluster.nodes()]
        self._settle(nodes)
        machines = machines_of(self._devices(self._params["ownership_tags"]))
        ours = {*self._params["nodes"], *self._params["terminated"]}
        control_plane = self._params["terminated"] if self._params["control_plane"] else ()
        verdicts = {node.name: judge(node, machines, ours, control_plane) for node in nodes}
        for node in nodes:
            if verdicts[node.name] == "current":
                self._record(node, machines[node.name])
        left = [node for node in nodes if verdicts[node.name] == "left"]
        if not self._params["prune"] or not left:
            return []
        if not machines:
            tags = ", ".join(self._params["ownership_tags"])
            error = CollectionError(
                "Cannot determine which nodes have no device: "
                f"project {self._params['project_id']} has no device with the tags {tags}. "
                "Is project_id (metal_project_id in the playbooks) the project of this cluster?"
            )
            self._metal.add_origin(error)
            raise error
        return self._prune(self._confirmed(left))

    def _confirmed(self, left: list[Node]) -> list[Node]:
        """Return those that a second list, of all devices of the project, confirms."""
        self._sleep(PAUSE)
        devices = self._devices([])
        machines, ids = machines_of(devices), {str(device["id"]) for device in devices if device["state"] not in DELETING_STATES}
        confirmed = []
        self._kept = []
        for node in left:
            machine = machines.get(node.name)
            if machine is not None and not is_older(node, machine):
                self._kept.append({"name": node.name, "reason": f"device {machine.id} has its name and not the ownership tags"})
            elif node.device_id in ids and (machine is None or machine.id != node.device_id):
                self._kept.append({"name": node.name, "reason": f"its device {node.device_id} exists, by another name or without the tags"})
            else:
                confirmed.append(node)
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

    def _record(self, node: Node, machine: Machine) -> None:
        if node.device_id == machine.id:
            return
        self._write(
            node, machine.id, lambda: self._cluster.change_node(node.name, node.uid, {"metadata": {"annotations": {DEVICE: machine.id}}})
        )

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
        self._before[node.name], self._after[node.name] = node.device_id or "no device recorded", after

    def _settle(self, nodes: Iterable[Node]) -> None:
        """Count writes whose answers were lost, and that were made."""
        found = {node.uid: node for node in nodes}
        for node, after in self._unsure:
            current = found.get(node.uid)
            if (current is None) if after == DELETED else (current is not None and current.device_id == after):
                self._count(node, after)
        self._unsure.clear()

    def _devices(self, tags: list[str]) -> list[dict[str, Any]]:
        asked = {"project_id": self._params["project_id"], "tags": tags, "ids": None, "hostnames": None, "states": None}
        devices: list[dict[str, Any]] = find_devices(self._metal, asked)["devices"]
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
            )
