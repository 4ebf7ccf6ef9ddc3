#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_gateway_info
short_description: List Metal gateways
version_added: 0.1.0
description:
  - Lists the Metal gateways of a project, filtered by IDs, VLAN and block.
options:
  ids:
    description: List only gateways with one of these IDs.
    type: list
    elements: str
  virtual_network_id:
    description: List only gateways of the VLAN with this ID.
    type: str
  ip_reservation_id:
    description: List only gateways with the block of this ID.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
"""

EXAMPLES = r"""
- name: List the gateways of a VLAN
  equinix_metal.openshift.metal_gateway_info:
    virtual_network_id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
"""

RETURN = r"""
metal_gateways:
  description: The gateways. Each with the fields of RV(equinix_metal.openshift.metal_gateway#module:metal_gateway).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.gateway import GATEWAY_INFO_OPTIONS, find_gateways


def main() -> None:
    with MetalModule(GATEWAY_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_gateways(module.client, module.params))


if __name__ == "__main__":
    main()
