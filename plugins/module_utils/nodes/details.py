# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes and Pods for a report: their state, and nothing of a Pod's spec, which may hold secrets."""

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


def pod_details(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Pod as ``cluster_wait`` returns it. Malformed and missing fields become empty ones, never an error."""
    metadata, spec, status = (mapping(pod.get(part)) for part in ("metadata", "spec", "status"))
    containers = [*mappings(status.get("initContainerStatuses")), *mappings(status.get("containerStatuses"))]
    return {
        "namespace": text(metadata.get("namespace")),
        "name": text(metadata.get("name")),
        "node": text(spec.get("nodeName")),
        "phase": text(status.get("phase")),
        "reason": text(status.get("reason")),
        "is_deleting": bool(metadata.get("deletionTimestamp")),
        "containers": [_container(container) for container in containers],
    }


def pod_is_well(pod: Mapping[str, Any]) -> bool:
    """Return whether the Pod has succeeded, or runs with all its containers ready."""
    status = mapping(pod.get("status"))
    if mapping(pod.get("metadata")).get("deletionTimestamp"):
        return False
    ready = all(container.get("ready") is True for container in mappings(status.get("containerStatuses")))
    return status.get("phase") == "Succeeded" or (status.get("phase") == "Running" and ready)


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    states = mapping(container.get("state"))
    name = next(iter(states), "")
    state = mapping(states.get(name))
    restarts, exit_code = container.get("restartCount"), state.get("exitCode")
    return {
        "name": text(container.get("name")),
        "ready": container.get("ready") is True,
        "restarts": restarts if isinstance(restarts, int) else 0,
        "state": text(name),
        "reason": text(state.get("reason")),
        "exit_code": exit_code if isinstance(exit_code, int) else None,
    }
