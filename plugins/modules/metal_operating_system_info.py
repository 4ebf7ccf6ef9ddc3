#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_operating_system_info
short_description: List operating systems
version_added: 0.1.0
description:
  - Lists the operating systems that can be installed, with the plans that support them.
options:
  slugs:
    description: List only operating systems with one of these slugs.
    type: list
    elements: str
    aliases: [slug]
  plan:
    description: List only operating systems that can be installed on this plan.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
notes:
  - O(project_id) is accepted for C(module_defaults) and ignored, since the result is the same for all projects.
"""

EXAMPLES = r"""
- name: List the operating systems for a plan
  equinix_metal.openshift.metal_operating_system_info:
    plan: c3.small.x86
"""

RETURN = r"""
operating_systems:
  description: The operating systems, by slug.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: ID of the operating system., type: str, sample: 31d9d9a4-3d3e-4f5a-8d4f-6a3a6f1d2c3b}
    slug:
      description: Slug of the operating system, as O(equinix_metal.openshift.metal_device#module:operating_system) accepts it.
      type: str
      sample: ubuntu_24_04
    name: {description: Name of the operating system., type: str, sample: Ubuntu 24.04 LTS}
    distro: {description: Distribution., type: str, sample: ubuntu}
    version: {description: Version., type: str, sample: "24.04"}
    lifecycle_state: {description: "Support state, as the API returns it.", type: str}
    licensed: {description: Whether a paid licence is required., type: bool, sample: false}
    provisionable_on: {description: Slugs of the plans that support it., type: list, elements: str, sample: [c3.small.x86, m3.small.x86]}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.catalogue import OPERATING_SYSTEM_OPTIONS, operating_systems


def main() -> None:
    with MetalModule(OPERATING_SYSTEM_OPTIONS, reading=True) as module:
        module.report(operating_systems(module.client, module.params))


if __name__ == "__main__":
    main()
