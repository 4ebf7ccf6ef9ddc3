# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read which cluster the kubeconfig in the cluster folder is for, and its nodes.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mapping
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import KUBERNETES_IMPORT_ERROR, ClusterClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.etcd import read_operator
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_settings import settable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.nodes import node_rows, read_node
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.operators import cluster_id_of, version_of


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``kubeconfig``: ``cluster_id`` and ``version`` of the cluster, its ``nodes`` as ``node_info`` returns them, their ``objects``
    with names, labels, annotations and taints only, and the names of its ``control_plane`` nodes.

    If the request failed it has ``msg`` instead. Empty without a kubeconfig.
    """
    path = Path(str(settings["directory"])).expanduser() / "kubeconfig"
    if not settings.get("bootstrap_over"):
        return {}
    if KUBERNETES_IMPORT_ERROR:
        return {"kubeconfig": {"msg": "the Python library kubernetes is not installed on the controller"}}
    try:
        client = ClusterClient(str(path), timeout=float(settings["timeout"]))
        version = client.cluster_version()
        replaced = read_operator(client.etcd()).replacing.node
        objects = sorted(client.nodes(), key=lambda node: str(mapping(node.get("metadata")).get("name")))
        nodes = node_rows(map(read_node, objects))
    except CollectionError as problem:
        return {"kubeconfig": {"msg": problem.message}}
    # Also one whose replacement is not complete: it may have no Node now.
    members = sorted({node["name"] for node in nodes if node["control_plane"]} | ({replaced} if replaced else set()))
    return {
        "kubeconfig": {
            "cluster_id": cluster_id_of(version) or "",
            "version": version_of(version) or "",
            "nodes": nodes,
            "objects": [settable(node) for node in objects],
            "control_plane": members,
        },
    }
