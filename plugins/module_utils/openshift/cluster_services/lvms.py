# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LVM Storage: volumes on disks of the nodes on which nothing is installed.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mapping, mappings

DEVICE_CLASS = "vg1"
"""Name of the volume group. Its storage class is ``lvms-vg1``."""


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


def lvm_progress(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``ready``, whether the volume groups exist, and ``message``, the state of the LVMCluster and of its nodes."""
    status = mapping(next((each.get("status") for each in objects if each.get("kind") == "LVMCluster"), {}))
    nodes = [node for each in mappings(status.get("deviceClassStatuses")) for node in mappings(each.get("nodeStatus"))]
    reports = [
        f"{node.get('node')}: {node.get('status')}{' (' + str(node['reason']) + ')' if node.get('reason') else ''}"
        for node in nodes
        if node.get("status") != "Ready"
    ]
    state = str(status.get("state") or "no state")
    return {"ready": state == "Ready", "message": "; ".join([state, *reports])}
