# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: destroy_plan
short_description: What destroy.yml deletes
version_added: 1.0.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the plan of destroy.yml, in the shape of the key RV(equinix_metal.openshift.preflight#filter:_value.plan) of the other
    playbooks' reports.
positional: _input
options:
  _input:
    description:
      - The cluster, of the result of M(equinix_metal.openshift.metal_cluster_info).
    type: dict
    required: true
  records:
    description:
      - DNS records of the cluster, each with C(name) and the values C(before).
    type: list
    elements: dict
    default: []
  by_hand:
    description:
      - Whether the DNS records have to be deleted by hand.
    type: bool
    default: false
  files:
    description:
      - Where the files of the cluster are, by what they are.
    type: dict
    default: {}
  project:
    description:
      - C(name) and C(id) of the project that install.yml created, else empty.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Print what destroy.yml would delete
  equinix_metal.openshift.print_lines:
    lines: "{{ (found.clusters[0] | equinix_metal.openshift.destroy_plan).lines }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    steps:
      description: A step for each object.
      type: list
      elements: dict
      sample: [{phase: Delete devices, verb: remove, kind: device, object: worker-0.demo.metal.test}]
    lines:
      description: The plan for people.
      type: list
      elements: str
      sample: ["demo.metal.test, destroy.yml: 1 to remove; 1.30 -> 0.00 USD an hour"]
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.plan.destroy import plan_destroy

EMPTY: Mapping[str, Any] = MappingProxyType({})


def destroy_plan(
    cluster: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]] = (),
    *,
    by_hand: bool = False,
    files: Mapping[str, str] = EMPTY,
    project: Mapping[str, Any] = EMPTY,
) -> dict[str, Any]:
    """Return the plan as data. Raises AnsibleFilterError for a malformed input."""
    try:
        return plan_destroy(cluster, records, by_hand=by_hand, files=files, project=project).data()
    except (KeyError, TypeError, AttributeError) as problem:
        needed = "the input has to be a cluster as metal_cluster_info returns it"
        raise AnsibleFilterError(f"destroy_plan: {needed}: {problem!r}") from problem


class FilterModule:
    """Offers destroy_plan."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"destroy_plan": destroy_plan}
