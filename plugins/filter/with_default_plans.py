# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: with_default_plans
short_description: Machines with their default plans
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the machines, those without a plan with their default plan.
positional: _input, plans
options:
  _input:
    description: Machines, as the filter P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    required: true
  plans:
    description: The default plans, as the lookup P(equinix_metal.openshift.default_plans#lookup) returns them.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the plans of the workers
  ansible.builtin.debug:
    msg: "{{ workers | equinix_metal.openshift.with_default_plans(plans) | map(attribute='plan') }}"
  vars:
    workers: "{{ groups['workers'] | equinix_metal.openshift.machines(hostvars) }}"
    plans: "{{ lookup('equinix_metal.openshift.default_plans', settings) }}"
"""

RETURN = r"""
_value:
  description: The machines. One with a default plan has it as C(plan), and C(has_default_plan). One that needs a plan and has none has
    C(plan_problem), which says why.
  type: list
  elements: dict
  sample: [{hostname: worker-0.demo.metal.test, plan: c3.small.x86, has_default_plan: true}]
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError


def with_default_plans(machines: Any, plans: Any) -> list[dict[str, Any]]:
    """Return the machines with their default plans. Raises AnsibleFilterError for malformed input."""
    if isinstance(machines, str) or not isinstance(machines, Sequence) or not isinstance(plans, Mapping):
        raise AnsibleFilterError("with_default_plans: the input has to be a list of machines, and plans a mapping by host name")
    return [{**machine, **plans.get(machine["hostname"], {})} for machine in machines]


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"with_default_plans": with_default_plans}
