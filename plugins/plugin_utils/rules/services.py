# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the services in a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..services import image_registry, olm
from ..services.lvms import lvm_cluster
from ..services.metallb import metallb_changes

__all__ = ["lvm_cluster", "metallb_changes", "operator_subscription", "registry_changes"]

Result = Mapping[str, Any]


def operator_subscription(service: str, results: Sequence[Result], catalog: str, channel: str = "") -> dict[str, Any]:
    """Return the operator of a service and the objects that install it, see ``olm.operator_subscription``.

    ``results``: those of ``k8s_info``, of the ClusterVersion first, then of what OLM has installed in all namespaces.
    """
    version = str(results[0]["resources"][0]["status"]["desired"]["version"])
    return olm.operator_subscription(service, _objects(results), version, catalog, channel)


def registry_changes(choice: str, results: Iterable[Result], size: str, storage_class: str = "") -> list[dict[str, Any]]:
    """Return the objects to create or patch, see ``image_registry.registry_changes``.

    ``results``: those of ``k8s_info``, of the registry operator's Config and the PersistentVolumeClaims of its namespace.
    """
    return image_registry.registry_changes(choice, _objects(results), size, storage_class)


def _objects(results: Iterable[Result]) -> list[Mapping[str, Any]]:
    return [manifest for result in results for manifest in result.get("resources") or ()]
