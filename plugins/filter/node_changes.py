# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_changes
short_description: Labels, annotations and taints to write on nodes
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Compares the nodes of a cluster with the machines of the inventory, and returns what has to be written so that each node has the labels,
    annotations and taints of its machine.
  - What was written is recorded on the node, in the annotation C(equinix-metal.openshift/managed). What is recorded there and is no longer
    in the inventory is removed, unless its value was changed since. Everything else on a node is not changed.
positional: nodes
options:
  _input:
    description:
      - Machines, as P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    required: true
  nodes:
    description:
      - The Node objects of the cluster. Machines without one are left out.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Set the labels, annotations and taints of the nodes
  kubernetes.core.k8s:
    state: patched
    definition: "{{ workers | equinix_metal.openshift.node_changes(cluster.resources) }}"
"""

RETURN = r"""
_value:
  description:
    - Definitions of the nodes to patch, with what changes on each. A label or annotation to remove has no value. A node whose taints change
      has all its taints and its resource version.
  type: list
  elements: dict
  sample:
    - apiVersion: v1
      kind: Node
      metadata:
        name: worker-0.demo.metal.test
        labels: {pool: infra}
        annotations: {equinix-metal.openshift/managed: '{"labels": {"pool": "infra"}}'}
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_settings import node_changes


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"node_changes": node_changes}
