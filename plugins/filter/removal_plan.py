# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: removal_plan
short_description: Workers to remove, and what blocks their removal
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Compares the devices of a cluster with the machines of the inventory, and returns which of the other workers are removed. A host can be
    absent from an inventory for other reasons than its removal, so it depends on O(request).
positional: machines
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  machines:
    description:
      - The machines of the inventory, C(control_plane) and C(workers), each a list as P(equinix_metal.openshift.machines#filter) returns
        them.
    type: dict
    required: true
  cluster:
    description:
      - Name of the cluster, for messages.
    type: str
    required: true
  request:
    description:
      - Which removals were asked for, C(names) and C(sizes) as in the variables C(openshift_remove) and C(openshift_pool_sizes), C(at_most)
        the maximum number of other workers, C(in_job) whether only these named ones are removed.
    type: dict
    default: {}
  nodes:
    description:
      - The Nodes of the cluster, as M(equinix_metal.openshift.node_info) returns them. Unset, Nodes are not checked.
    type: list
    elements: dict
  least_workers:
    description:
      - Minimum number of remaining workers that are Ready and not cordoned.
    type: int
    default: 0
  replaced:
    description:
      - Host names of workers that are replaced. Set, only these are removed. If none of them can run pods, O(least_workers) is not
        required, since their removal changes nothing.
    type: list
    elements: str
  joining:
    description:
      - Whether workers without a Node count, too, since they join before any worker is removed.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Fail if workers cannot be removed now
  ansible.builtin.assert:
    that: plan.blockers | length == 0
    fail_msg: "{{ plan.blockers | join(' ') }}"
  vars:
    plan: >-
      {{ found.devices | equinix_metal.openshift.removal_plan({'control_plane': masters, 'workers': workers}, cluster='demo.metal.test',
      nodes=cluster.nodes, least_workers=2, request={'at_most': 5}) }}
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    removed:
      description: Host names of the workers to remove.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test]
    ids:
      description: Ids of their devices.
      type: list
      elements: str
      sample: [7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11]
    nodes:
      description: Names of their Nodes, by the ids that these record; of devices without a Node the host names in lower case.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test]
    blockers:
      description: Why these workers cannot be removed, a sentence each. Empty when they can.
      type: list
      elements: str
      sample: [worker-2.demo.metal.test is locked against deletion.]
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.removal import removal_request
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.removal_plan import plan_removal


def removal_plan(  # noqa: PLR0913 - the options of the filter, passed by keyword
    devices: Iterable[Mapping[str, Any]],
    machines: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    cluster: str,
    request: Mapping[str, Any] = MappingProxyType({}),
    nodes: Sequence[Mapping[str, Any]] | None = None,
    least_workers: int = 0,
    replaced: Collection[str] | None = None,
    joining: bool = False,
) -> dict[str, list[Any]]:
    """Return ``removed``, ``ids``, ``nodes`` and ``blockers``."""
    try:
        return plan_removal(
            list(devices),
            machines,
            cluster=cluster,
            request=removal_request(request),
            nodes=nodes,
            least_workers=int(least_workers),
            replaced=replaced,
            joining=joining,
        )
    except CollectionError as problem:
        raise AnsibleFilterError(str(problem)) from problem
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        needed = "the input has to be devices, machines and nodes as this collection returns them"
        raise AnsibleFilterError(f"removal_plan: {needed}: {problem!r}") from problem


class FilterModule:
    """Offers removal_plan."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"removal_plan": removal_plan}
