# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LVM Storage: volumes on disks of the nodes on which nothing is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DEVICE_CLASS = "vg1"
"""Name of the volume group."""

STORAGE_CLASS = f"lvms-{DEVICE_CLASS}"
"""The storage class that LVM Storage creates for it."""


def lvm_cluster(paths: Sequence[str], namespace: str, node_labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the LVMCluster with one device class, the default one.

    ``paths``: disks; a node uses those that it has, without paths all its empty disks. ``node_labels``: labels of the nodes, which may have
    any taint; without labels they are the nodes without NoSchedule taints.
    """
    selector: dict[str, Any] = {}
    if paths:
        selector["deviceSelector"] = {"optionalPaths": list(paths)}
    if node_labels:
        expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(node_labels.items())]
        selector["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    device_class = {
        "name": DEVICE_CLASS,
        "default": True,
        "fstype": "xfs",
        "thinPoolConfig": {"name": "thin-pool-1", "sizePercent": 90, "overprovisionRatio": 10},
        **selector,
    }
    return {
        "apiVersion": "lvm.topolvm.io/v1alpha1",
        "kind": "LVMCluster",
        "metadata": {"name": "lvmcluster", "namespace": namespace},
        "spec": {
            "storage": {"deviceClasses": [device_class]},
            **({"tolerations": [{"operator": "Exists"}]} if node_labels else {}),
        },
    }
