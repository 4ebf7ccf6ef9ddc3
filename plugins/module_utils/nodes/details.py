# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node object cut down to what a person wants to know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.json_objects import mapping, mappings, text
from .node import ROLE, read_node


def node_details(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Node as ``cluster_wait`` returns it. Malformed and missing fields become empty ones, never an error."""
    state = read_node(node)
    metadata, spec, status = (mapping(node.get(part)) for part in ("metadata", "spec", "status"))
    information = mapping(status.get("nodeInfo"))
    return {
        "name": state.name,
        "device_id": state.device_id,
        "roles": sorted(str(label).removeprefix(ROLE) for label in mapping(metadata.get("labels")) if str(label).startswith(ROLE)),
        "ready": state.ready,
        "message": state.message,
        "unschedulable": not state.schedulable,
        "kubelet_version": text(information.get("kubeletVersion")),
        "os_image": text(information.get("osImage")),
        "created_at": text(metadata.get("creationTimestamp")),
        "addresses": list(state.addresses),
        "taints": [
            {name: text(taint.get(name)) for name in ("key", "value", "effect") if taint.get(name)}
            for taint in mappings(spec.get("taints"))
        ],
        "conditions": [
            {name: text(condition.get(name)) for name in ("type", "status", "reason", "message", "lastTransitionTime")}
            for condition in mappings(status.get("conditions"))
        ],
    }
