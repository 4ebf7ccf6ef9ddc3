#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_plan_info
short_description: List server plans
version_added: 0.1.0
description:
  - Lists server plans with their hardware, their price and the metros that offer them.
options:
  slugs:
    description: List only plans with one of these slugs.
    type: list
    elements: str
    aliases: [slug]
  metro:
    description: List only plans that this metro offers.
    type: str
  categories:
    description: List only plans of one of these categories, for example V(compute), V(storage), V(current_gen) or V(legacy_gen).
    type: list
    elements: str
  type:
    description: List only plans of this type, for example V(standard) or V(workload_optimized).
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
notes:
  - O(project_id) is accepted for C(module_defaults) and ignored, since the result is the same for all projects.
"""

EXAMPLES = r"""
- name: List the plans of a metro
  equinix_metal.openshift.metal_plan_info:
    metro: da
"""

RETURN = r"""
plans:
  description: The plans, by slug.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: ID of the plan., type: str, sample: e69c0169-4726-46ea-98f1-939c9e8a3607}
    slug:
      description: Slug of the plan, as O(equinix_metal.openshift.metal_device#module:plan) accepts it.
      type: str
      sample: c3.small.x86
    name: {description: Name of the plan., type: str, sample: c3.small.x86}
    description: {description: Description., type: str, sample: Our c3.small.x86 configuration}
    line: {description: "Product line, V(baremetal) for servers.", type: str, sample: baremetal}
    class: {description: Hardware class., type: str, sample: c3.small.x86}
    type: {description: "V(standard), V(workload_optimized) or V(custom).", type: str, sample: standard}
    categories:
      description: Categories, such as V(compute) and V(current_gen).
      type: list
      elements: str
      sample: [compute, current_gen]
    deployment_types: {description: "How the plan can be ordered, such as V(on_demand).", type: list, elements: str, sample: [on_demand]}
    specs:
      description: Processors, memory, drives and network cards, as the API returns them.
      type: dict
      sample: {memory: {total: 32GB}}
    price_per_hour: {description: Price per hour in USD. V(null) when the API does not return it., type: float, sample: 0.75}
    metros: {description: Codes of the metros that offer the plan., type: list, elements: str, sample: [am, da, sv]}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.catalogue import PLAN_OPTIONS, plans


def main() -> None:
    with MetalModule(PLAN_OPTIONS, reading=True) as module:
        module.report(plans(module.client, module.params))


if __name__ == "__main__":
    main()
