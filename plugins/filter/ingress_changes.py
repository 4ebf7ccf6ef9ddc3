# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ingress_changes
short_description: What to write to the default IngressController of a running cluster
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the merge patches that give the IngressController replicas and node placement of the inventory, as far as it does not have
    them. What was set for the inventory before and no longer is gets the defaults of the ingress operator again.
positional: workers, pool, replicas
options:
  _input:
    description:
      - The IngressController, in a list; without any there is nothing to write.
    type: list
    elements: dict
    required: true
  workers:
    description:
      - All workers of the inventory, as P(equinix_metal.openshift.machines#filter) returns them. Routers tolerate the taints of their pool.
    type: list
    elements: dict
    required: true
  pool:
    description:
      - Name of the pool whose nodes run the routers, or V(control_plane). Empty, the ingress operator chooses the nodes.
    type: str
    default: ""
  replicas:
    description:
      - Number of routers. Without it the ingress operator chooses the number.
    type: int
"""

EXAMPLES = r"""
- name: Place the routers on the pool infra
  kubernetes.core.k8s:
    state: patched
    merge_type: [merge]
    definition: "{{ found.resources | equinix_metal.openshift.ingress_changes(workers, 'infra', 3) }}"
"""

RETURN = r"""
_value:
  description: The patches, none if nothing changes.
  type: list
  elements: dict
  sample: [{kind: IngressController, metadata: {name: default, namespace: openshift-ingress-operator}, spec: {replicas: 3}}]
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.ingress_controller import (
    ingress_changes as changes_of,
)

Objects = Sequence[Mapping[str, Any]]


def ingress_changes(controllers: Objects, workers: Objects, pool: str = "", replicas: int | str | None = None) -> list[dict[str, Any]]:
    """Return a patch for each IngressController that has to change."""
    found = (changes_of(controller, pool, replicas, workers) for controller in controllers)
    return [change for change in found if change]


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"ingress_changes": ingress_changes}
