# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a Node as the wait for the cluster, the approval of CSRs and the status read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..base.json_objects import mapping, mappings, text
from ..base.kubernetes_objects import recorded_device
from ..base.printable import printable
from ..base.times import time_of


@dataclass(frozen=True)
class NodeState:
    """The used attributes of a Node: times, whether it is Ready, and if not why.

    ``silent``: its Ready condition is Unknown, since its kubelet has not reported for a while (node lifecycle controller).
    """

    name: str
    ready: bool
    message: str
    created_at: datetime | None
    silent: bool
    since: datetime | None = None
    """Since when it is Ready or not."""
    heard_at: datetime | None = None
    """Time of its kubelet's last report."""
    device_id: str = ""
    """The device that it records, see ``nodes/identity``; empty without one."""
    uid: str = ""
    labels: frozenset[tuple[str, str]] = frozenset()


def node_state(obj: Any) -> NodeState:
    """Return the state of a Node object; with malformed or missing fields it is not Ready."""
    metadata = mapping(mapping(obj).get("metadata"))
    ready, silent, message, since, heard_at = False, False, "it has not reported its state yet", None, None
    for condition in mappings(mapping(mapping(obj).get("status")).get("conditions")):
        if condition.get("type") == "Ready":
            ready, silent = condition.get("status") == "True", condition.get("status") == "Unknown"
            message = printable(condition.get("message") or condition.get("reason") or "no reason given")
            since, heard_at = time_of(condition.get("lastTransitionTime")), time_of(condition.get("lastHeartbeatTime"))
    labels = frozenset((str(label), text(value)) for label, value in mapping(metadata.get("labels")).items())
    name, uid, created_at = text(metadata.get("name")), text(metadata.get("uid")), time_of(metadata.get("creationTimestamp"))
    return NodeState(name, ready, message, created_at, silent, since, heard_at, recorded_device(obj), uid, labels)
