# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects cut down to what the collection reads of them, and the annotation of those that it has cordoned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..base.errors import ClusterUnreachableError
from ..base.json_objects import mapping, mappings, text
from ..base.kubernetes_objects import DEVICE, FIELD_OWNER, conditions_of, device_of_provider_id, recorded_device
from ..base.printable import printable
from ..base.times import time_of, timestamp
from .routers import read_routers

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

CORDONED = "equinix-metal.openshift/cordoned"
"""Annotation of a Node that was cordoned here in order to remove its machine; its value is the time (RFC 3339)."""

ROLE = "node-role.kubernetes.io/"
CONTROL_PLANE = frozenset({f"{ROLE}control-plane", f"{ROLE}master"})


@dataclass(frozen=True)
class Node:
    """A Node. ``unreachable``: the node lifecycle controller has not heard from its kubelet for so long that Ready is Unknown."""

    name: str
    uid: str = ""
    created_at: datetime | None = None
    control_plane: bool = False
    ready: bool = False
    unreachable: bool = False
    message: str = ""
    """Of the Ready condition, fit to be printed."""
    since: datetime | None = None
    """Since when Ready has its present status."""
    heard_at: datetime | None = None
    """Time of its kubelet's last report."""
    schedulable: bool = True
    cordoned_here: bool = False
    """Whether it is cordoned, and by this collection."""
    device_id: str = ""
    """Of the device that it records, see ``nodes/identity``; empty without one."""
    provider_id: str = ""
    """Its ``spec.providerID``, of any provider."""
    is_annotated: bool = False
    """Whether the annotation records its device, and not ``spec.providerID`` alone."""
    addresses: tuple[str, ...] = ()
    labels: frozenset[tuple[str, str]] = frozenset()

    @property
    def foreign_provider_id(self) -> str:
        """Its ``spec.providerID`` if that is of another provider, or names another device than the annotation; else empty."""
        return "" if self.device_id and device_of_provider_id(self.provider_id) == self.device_id else self.provider_id


def read_node(obj: Any) -> Node:
    """Return what is needed of a Node object. Malformed or missing fields make it not Ready, never an error."""
    metadata, spec, status = (mapping(mapping(obj).get(part)) for part in ("metadata", "spec", "status"))
    ready = conditions_of(obj).get("Ready")
    message = "it has not reported its state yet"
    if ready is not None:
        message = printable(ready.get("message") or ready.get("reason") or "no reason given")
    schedulable = spec.get("unschedulable") is not True
    return Node(
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        created_at=time_of(metadata.get("creationTimestamp")),
        control_plane=bool(CONTROL_PLANE & mapping(metadata.get("labels")).keys()),
        ready=mapping(ready).get("status") == "True",
        unreachable=mapping(ready).get("status") == "Unknown",
        message=message,
        since=time_of(mapping(ready).get("lastTransitionTime")),
        heard_at=time_of(mapping(ready).get("lastHeartbeatTime")),
        schedulable=schedulable,
        cordoned_here=not schedulable and _is_cordoned_here(metadata),
        device_id=recorded_device(obj),
        provider_id=text(spec.get("providerID")),
        is_annotated=DEVICE in mapping(metadata.get("annotations")),
        addresses=tuple(text(address.get("address")) for address in mappings(status.get("addresses"))),
        labels=frozenset((str(label), text(value)) for label, value in mapping(metadata.get("labels")).items()),
    )


def known_as(name: str, obj: Any) -> Node:
    """Return what is needed of the Node that was asked for by name; raise ClusterUnreachableError when the answer is another object."""
    node = read_node(obj)
    if node.name != name or not node.uid:
        raise ClusterUnreachableError(f"Cannot read the node {name}: the answer is not this node")
    return node


def _is_cordoned_here(metadata: Mapping[str, Any]) -> bool:
    """Return whether a cordoned Node was cordoned by this collection.

    The annotation alone would be wrong once a user has uncordoned the Node and cordons it again: then another field manager owns
    ``spec.unschedulable`` (Kubernetes, "Server-Side Apply", managed fields of updates). Without managed fields the annotation counts.
    """
    if CORDONED not in mapping(metadata.get("annotations")):
        return False
    owners = {
        text(entry.get("manager"))
        for entry in mappings(metadata.get("managedFields"))
        if "f:unschedulable" in mapping(mapping(entry.get("fieldsV1")).get("f:spec"))
    }
    return not owners or FIELD_OWNER in owners


def cordon(now: datetime) -> dict[str, Any]:
    """Return the merge patch that cordons a Node and remembers by whom."""
    return {"metadata": {"annotations": {CORDONED: timestamp(now)}}, "spec": {"unschedulable": True}}


UNCORDON: Mapping[str, Any] = {"metadata": {"annotations": {CORDONED: None}}, "spec": {"unschedulable": None}}
"""The merge patch that uncordons a Node."""


def list_nodes(client: ClusterClient, *, routers: bool = False) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the Nodes as ``node_info`` returns them, and what is waited for.

    ``routers``: also where routers run and may run; then they are waited for.
    """
    objects = list(client.nodes())
    nodes = sorted((read_node(obj) for obj in objects), key=lambda node: node.name)
    placed, waiting = read_routers(client, objects) if routers else ({}, [])
    return node_rows(nodes, placed), waiting


def node_rows(nodes: Iterable[Node], placed: Mapping[str, Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
    """Return Nodes as ``node_info`` returns them. ``placed``: of each what :func:`read_routers` has found."""
    shown = ("name", "control_plane", "ready", "unreachable", "message", "schedulable", "device_id", "provider_id")
    return [
        {
            **{name: getattr(node, name) for name in shown},
            "since": None if node.since is None else timestamp(node.since),
            "created_at": None if node.created_at is None else timestamp(node.created_at),
            "addresses": list(node.addresses),
            "cordoned_for_removal": node.cordoned_here,
            **(placed or {}).get(node.name, {}),
        }
        for node in nodes
    ]
