# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_changes
short_description: Labels and taints to set on nodes
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Compares the nodes of a cluster with the machines of the inventory. Other labels and taints of a node are not changed.
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
- name: Set the labels of the nodes
  kubernetes.core.k8s:
    state: patched
    definition: "{{ (workers | equinix_metal.openshift.node_changes(cluster.resources)).labels }}"
"""

RETURN = r"""
_value:
  description: Labels and taints to set.
  type: dict
  contains:
    labels:
      description: Definitions of nodes with all labels of their machine, of those where a label is pending or has another value.
      type: list
      elements: dict
      sample: [{apiVersion: v1, kind: Node, metadata: {name: worker-0.demo.metal.test, labels: {pool: infra}}}]
    taints:
      description: Nodes with all taints of their machine, of those where one is pending.
      type: list
      elements: dict
      sample: [{hostname: worker-0.demo.metal.test, taints: [{key: pool, value: infra, effect: NoSchedule}]}]
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def node_changes(machines: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return ``labels`` and ``taints`` to set."""
    current = {node["metadata"]["name"]: node for node in nodes}
    labels, taints = [], []
    for machine in machines:
        name = machine["hostname"]
        if name not in current:
            continue
        desired_labels = dict(machine.get("labels") or {})
        current_labels = current[name]["metadata"].get("labels") or {}
        if any(current_labels.get(label) != value for label, value in desired_labels.items()):
            labels.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": desired_labels}})
        desired_taints = [_comparable(taint) for taint in machine.get("taints") or []]
        current_taints = [_comparable(taint) for taint in current[name]["spec"].get("taints") or []]
        if any(taint not in current_taints for taint in desired_taints):
            taints.append({"hostname": name, "taints": desired_taints})
    return {"labels": labels, "taints": taints}


def _comparable(taint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a taint without the time it was added, and without an empty value, which the API does not keep."""
    return {name: value for name, value in taint.items() if name != "timeAdded" and value not in ("", None)}


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"node_changes": node_changes}
