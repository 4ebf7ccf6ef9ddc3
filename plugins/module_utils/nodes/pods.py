# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Return the state of a Pod, for a report: where it runs and why it does not. Nothing of its spec, which may hold secrets, is returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.json_objects import mapping, mappings, text


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
