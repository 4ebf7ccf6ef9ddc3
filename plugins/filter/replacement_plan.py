# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: replacement_plan
short_description: Machines to replace, in their order
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Selects the machines to replace by name or by pool, without those that an earlier run has replaced.
positional: machines, nodes
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
  nodes:
    description:
      - The Nodes of the cluster, as M(equinix_metal.openshift.node_info) returns them.
    type: list
    elements: dict
    required: true
  names:
    description:
      - Host names or inventory names of the machines to replace.
    type: list
    elements: str
    default: []
  pool:
    description:
      - The pool whose workers are replaced, instead of O(names).
    type: str
    default: ""
  older_than:
    description:
      - A time in ISO 8601. Machines whose device was provisioned later, and that have joined, are skipped.
    type: str
    default: ""
  at_most:
    description:
      - Number of workers that are replaced at the same time.
    type: int
    default: 1
  window:
    description:
      - Time in seconds after its creation within which a device without a Node may still join; V(0) is without limit.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Print which workers are replaced
  ansible.builtin.debug:
    msg: "{{ (found.devices | equinix_metal.openshift.replacement_plan(machines, cluster.nodes, names=['worker-1'])).workers }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    workers:
      description: Host names of the workers to replace, in their order.
      type: list
      elements: str
      sample: [worker-1.demo.metal.test]
    control_plane:
      description: Host names of the control plane machines to replace, in their order.
      type: list
      elements: str
      sample: []
    removed:
      description: The workers of these whose device is deleted before another one is ordered. The others have no device, or one that may
        still join.
      type: list
      elements: str
      sample: [worker-1.demo.metal.test]
    batches:
      description: The workers that are replaced together, one list after the other.
      type: list
      elements: list
      sample: [[worker-1.demo.metal.test]]
    skipped:
      description: Why a machine is not replaced, a line each.
      type: list
      elements: str
      sample: []
    problems:
      description: Why nothing can be replaced, a sentence each.
      type: list
      elements: str
      sample: []
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.replacement import Fleet, plan_replacement


def replacement_plan(  # noqa: PLR0913 - the options of the filter, passed by keyword
    devices: Iterable[Mapping[str, Any]],
    machines: Mapping[str, Sequence[Mapping[str, Any]]],
    nodes: Iterable[Mapping[str, Any]],
    *,
    names: Any = (),
    pool: str = "",
    older_than: str = "",
    at_most: int = 1,
    window: int = 0,
) -> dict[str, Any]:
    """Return ``workers``, ``control_plane``, ``removed``, ``batches``, ``skipped`` and ``problems``."""
    try:
        fleet = Fleet(devices, nodes, machines)
        chosen = {"names": names, "pool": pool, "older_than": older_than}
        return plan_replacement(fleet, **chosen, at_most=int(at_most), window=int(window), now=datetime.now(UTC))
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        needed = "the input has to be devices, machines and nodes as this collection returns them"
        raise AnsibleFilterError(f"replacement_plan: {needed}: {problem!r}") from problem


class FilterModule:
    """Offers replacement_plan."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"replacement_plan": replacement_plan}
