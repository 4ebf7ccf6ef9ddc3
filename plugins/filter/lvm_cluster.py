# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: lvm_cluster
short_description: LVMCluster with the disks of the nodes
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the LVMCluster of LVM Storage, with one volume group on each node.
positional: namespace, node_labels
options:
  _input:
    description:
      - Paths of disks. A node uses those that it has. Without paths it uses all empty disks.
    type: list
    elements: str
    required: true
  namespace:
    description:
      - Namespace of LVM Storage.
    type: str
    required: true
  node_labels:
    description:
      - Labels of the nodes with a volume group. Without labels these are the nodes without NoSchedule taints.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Create the LVMCluster
  kubernetes.core.k8s:
    definition: "{{ [] | equinix_metal.openshift.lvm_cluster('openshift-lvm-storage') }}"
"""

RETURN = r"""
_value:
  description: The LVMCluster.
  type: dict
  sample: {kind: LVMCluster, metadata: {name: lvmcluster}}
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_services.lvms import lvm_cluster


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"lvm_cluster": lvm_cluster}
