# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pool_changes
short_description: MachineConfigPools, kernel arguments and time servers to write to a running cluster
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the MachineConfigPools of pools with C(openshift_pool_machine_config), and the MachineConfigs with
    C(openshift_kernel_arguments), as far as the cluster does not have them; and MachineConfigs with kernel arguments that the inventory no
    longer has. The same for the MachineConfigs with time servers.
  - No MachineConfigPool is deleted.
positional: control_plane, current, time_servers
options:
  _input:
    description:
      - Workers, as P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    required: true
  control_plane:
    description:
      - Control plane machines. Without any, kernel arguments of the control plane are not deleted.
    type: list
    elements: dict
    required: true
  current:
    description:
      - MachineConfigPools and MachineConfigs of the cluster.
    type: list
    elements: dict
    required: true
  time_servers:
    description:
      - Time servers of all nodes.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Create MachineConfigPools
  kubernetes.core.k8s:
    definition: "{{ (workers | equinix_metal.openshift.pool_changes(control_plane, cluster.resources)).present }}"
"""

RETURN = r"""
_value:
  description: Objects to create or change, and objects to delete.
  type: dict
  contains:
    present:
      description: Objects to create or change.
      type: list
      elements: dict
      sample: [{kind: MachineConfigPool, metadata: {name: infra}}]
    absent:
      description: Objects to delete, with C(apiVersion), C(kind) and C(metadata.name).
      type: list
      elements: dict
      sample: [{kind: MachineConfig, metadata: {name: 98-worker-kernel-arguments}}]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.pools import config_changes


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"pool_changes": config_changes}
