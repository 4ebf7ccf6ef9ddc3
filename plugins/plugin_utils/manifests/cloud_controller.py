# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cloud controller manager among manifests.

Kubelets with an external cloud provider register their nodes with a taint, which the cloud controller manager removes. A workload that does
that tolerates this taint, or it would never start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...module_utils.base.json_objects import mapping, mappings

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
"""The taint of a node that waits for its cloud provider (k8s.io/cloud-provider/api)."""

WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet")


def has_cloud_controller(objects: Iterable[Any]) -> bool:
    """Return whether one of these Kubernetes objects is a workload that tolerates the taint of uninitialized nodes."""
    return any(_tolerates(item) for item in all_items(objects))


def all_items(objects: Iterable[Any]) -> Iterable[Any]:
    """Yield the objects, with those in lists."""
    for item in objects:
        yield from all_items(mapping(item)["items"]) if isinstance(mapping(item).get("items"), list) else [item]


def _tolerates(item: Any) -> bool:
    pod: Any = item
    if mapping(item).get("kind") in WORKLOADS:
        pod = mapping(mapping(item).get("spec")).get("template")
    elif mapping(item).get("kind") != "Pod":
        return False
    tolerations = mappings(mapping(mapping(pod).get("spec")).get("tolerations"))
    return any(
        toleration.get("key") == UNINITIALIZED or (not toleration.get("key") and toleration.get("operator") == "Exists")
        for toleration in tolerations
        if toleration.get("effect") in (None, "", "NoSchedule")
    )
