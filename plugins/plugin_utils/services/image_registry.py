# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The internal image registry: what has to be written so that it is as chosen.

On bare metal the registry operator begins with managementState Removed, since there is no storage that all nodes share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.base.json_objects import mapping

CLAIM = "image-registry-storage"
NAMESPACE = "openshift-image-registry"

# One replica: an emptyDir is of one pod, and most volumes can be mounted by one node only, so the old pod has to end first.
_ALONE = {"managementState": "Managed", "replicas": 1, "rolloutStrategy": "Recreate"}

SPECS: Mapping[str, dict[str, Any]] = {
    "removed": {"managementState": "Removed"},
    "emptydir": {**_ALONE, "storage": {"emptyDir": {}, "pvc": None}},
    "pvc": {**_ALONE, "storage": {"emptyDir": None, "pvc": {"claim": CLAIM}}},
}
"""``spec`` of the registry operator's Config by choice; None removes a field."""


def registry_changes(choice: str, current: Iterable[Mapping[str, Any]], size: str, storage_class: str = "") -> list[dict[str, Any]]:
    """Return the objects to create or patch. ``current``: the operator's Config and the PersistentVolumeClaims of its namespace.

    A claim that exists is not changed, since most of its fields are immutable.
    """
    existing = {(item.get("kind"), mapping(item.get("metadata")).get("name")): item for item in current}
    objects: list[dict[str, Any]] = []
    if choice == "pvc" and ("PersistentVolumeClaim", CLAIM) not in existing:
        objects.append(_claim(size, storage_class))
    spec = SPECS.get(choice)
    if spec is not None and not _has(mapping(existing.get(("Config", "cluster"))).get("spec"), spec):
        objects.append(
            {"apiVersion": "imageregistry.operator.openshift.io/v1", "kind": "Config", "metadata": {"name": "cluster"}, "spec": dict(spec)}
        )
    return objects


def _claim(size: str, storage_class: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **({"storageClassName": storage_class} if storage_class else {}),
        },
    }


def _has(current: Any, desired: Any) -> bool:
    """Return whether an object has these fields; a desired None is a field that it does not have."""
    if isinstance(desired, Mapping):
        return isinstance(current, Mapping) and all(_has(current.get(key), value) for key, value in desired.items())
    return bool(current == desired)
