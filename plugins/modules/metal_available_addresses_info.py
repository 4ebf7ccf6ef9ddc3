#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_available_addresses_info
short_description: List free addresses of IP reservations
version_added: 0.1.0
description:
  - Lists the free subnets of a size in one IP reservation (block), or in all public and global blocks of the project.
options:
  ip_reservation_id:
    description: ID of the block. By default all blocks of the types V(public_ipv4) and V(global_ipv4), with a request for each.
    type: str
    aliases: [reserved_ip_block_id]
  cidr:
    description: Prefix length of the subnets, V(20) to V(128). V(32) lists single IPv4 addresses.
    type: int
    default: 32
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
seealso:
  - module: equinix_metal.openshift.metal_ip_assignment
  - module: equinix_metal.openshift.metal_ip_reservation_info
"""

EXAMPLES = r"""
- name: List the free addresses of a block
  equinix_metal.openshift.metal_available_addresses_info:
    ip_reservation_id: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10
"""

RETURN = r"""
available:
  description: Free subnets with their prefix length.
  returned: success
  type: list
  elements: str
  sample: [198.51.100.4/32, 198.51.100.5/32]
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.ip_reservation import AVAILABLE_ADDRESSES_INFO_OPTIONS, find_available_addresses


def main() -> None:
    with MetalModule(AVAILABLE_ADDRESSES_INFO_OPTIONS, reading=True, in_project=True, unless=("ip_reservation_id",)) as module:
        module.report(find_available_addresses(module.client, module.params))


if __name__ == "__main__":
    main()
