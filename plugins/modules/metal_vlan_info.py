#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_vlan_info
short_description: List VLANs
version_added: 0.1.0
description:
  - Lists the VLANs (virtual networks) of a project, filtered by IDs, metro, numbers, tags and description.
options:
  vxlans:
    description: List only VLANs with one of these numbers.
    type: list
    elements: int
  description:
    description: List only VLANs with this description.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.filters
"""

EXAMPLES = r"""
- name: List the VLANs of a cluster
  equinix_metal.openshift.metal_vlan_info:
    metro: da
    tags: [openshift-cluster=demo.metal.test]
"""

RETURN = r"""
virtual_networks:
  description: The VLANs, by metro and number. Each with the fields of RV(equinix_metal.openshift.metal_vlan#module:virtual_network).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.vlan import VLAN_INFO_OPTIONS, find_vlans


def main() -> None:
    with MetalModule(VLAN_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_vlans(module.client, module.params))


if __name__ == "__main__":
    main()
