# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cluster the kubeconfig in the cluster's folder leads to.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import KUBERNETES_IMPORT_ERROR, ClusterClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.operators import cluster_id_of


def look(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """``kubeconfig``: the ``cluster_id`` of the cluster that answers, or ``msg`` when none does. Nothing without such a file."""
    path = Path(str(wanted["directory"])).expanduser() / "kubeconfig"
    if not wanted.get("bootstrap_over"):
        return {}
    if KUBERNETES_IMPORT_ERROR:
        return {"kubeconfig": {"msg": "the Python library kubernetes is missing"}}
    try:
        version = ClusterClient(str(path), timeout=float(wanted["timeout"])).cluster_version()
    except CollectionError as problem:
        return {"kubeconfig": {"msg": problem.message}}
    return {"kubeconfig": {"cluster_id": cluster_id_of(version) or ""}}
