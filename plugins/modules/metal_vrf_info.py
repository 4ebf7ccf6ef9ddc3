#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_vrf_info
short_description: List VRFs
version_added: 0.1.0
description:
  - Lists the VRFs of a project, filtered by IDs, names, metro and tags.
options:
  ids:
    aliases: [vrf_id]
  names:
    description: List only VRFs with one of these names.
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.filters
"""

EXAMPLES = r"""
- name: List the VRFs in a metro
  equinix_metal.openshift.metal_vrf_info:
    metro: da
"""

RETURN = r"""
vrfs:
  description: The VRFs. Each with the fields of RV(equinix_metal.openshift.metal_vrf#module:vrf).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.vrf import VRF_INFO_OPTIONS, find_vrfs


def main() -> None:
    with MetalModule(VRF_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_vrfs(module.client, module.params))


if __name__ == "__main__":
    main()
