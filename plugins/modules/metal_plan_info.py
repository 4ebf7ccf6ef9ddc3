#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_plan_info
short_description: List the server plans of the Metal API
version_added: 0.1.0
description:
  - Lists server plans with their hardware, price and the metros that offer them.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  slugs:
    description:
      - Only plans with one of these slugs.
    type: list
    elements: str
    aliases:
      - slug
  metro:
    description:
      - Only plans that are offered in this metro.
    type: str
  categories:
    description:
      - Only plans of one of these categories, for example V(compute), V(storage), V(current_gen) or V(legacy_gen).
    type: list
    elements: str
  type:
    description:
      - Only plans of this type, for example V(standard) or V(workload_optimized).
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
notes:
  - O(project_id) is taken for the sake of C(module_defaults) and not used, since the answer is the same for all projects.
"""

EXAMPLES = r"""
- name: What can be had in Dallas?
  equinix_metal.openshift.metal_plan_info:
    metro: da
  register: offer

- name: Show the cheapest
  ansible.builtin.debug:
    msg: "{{ (offer.plans | sort(attribute='price_per_hour') | first).slug }}"
"""

RETURN = r"""
plans:
  description: The plans, by slug. Empty when none matches.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The plan's id.
      type: str
      sample: e69c0169-4726-46ea-98f1-939c9e8a3607
    slug:
      description: What it is ordered by.
      type: str
      sample: c3.small.x86
    name:
      description: The plan's name.
      type: str
      sample: c3.small.x86
    description:
      description: A text for people.
      type: str
      sample: Our c3.small.x86 configuration
    line:
      description: The line of products, V(baremetal) for servers.
      type: str
      sample: baremetal
    class:
      description: The class of hardware.
      type: str
      sample: c3.small.x86
    type:
      description: V(standard), V(workload_optimized) or V(custom).
      type: str
      sample: standard
    categories:
      description: Categories, such as V(compute) and V(current_gen).
      type: list
      elements: str
      sample: [compute, current_gen]
    deployment_types:
      description: How it can be ordered, such as V(on_demand).
      type: list
      elements: str
      sample: [on_demand]
    specs:
      description: Processors, memory, drives and network cards as the API gives them.
      type: dict
      sample: {memory: {total: 32GB}}
    price_per_hour:
      description: Price in US dollars. Null when the API returns none.
      type: float
      sample: 0.75
    metros:
      description: Codes of the metros that offer it.
      type: list
      elements: str
      sample: [am, da, sv]
failure:
  description: The error for programs. Its keys depend on the kind of error.
  returned: failed
  type: dict
  sample:
    type: ValidationError
    method: POST
    path: projects/2b70eb8f-fa18-47c0-aba7-222a842362fd/devices
    status: 422
    errors: [There aren't available servers in that metro]
    request_id: 1f4c1e6a0b6d4c0b
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import PLAN_OPTIONS, plans


def main() -> None:
    with MetalModule(PLAN_OPTIONS, reading=True) as module:
        module.report(plans(module.client, module.params))


if __name__ == "__main__":
    main()
