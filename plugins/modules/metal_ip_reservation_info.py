#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_ip_reservation_info
short_description: List blocks of IP addresses
version_added: 0.1.0
description:
  - Lists the IP reservations (blocks) of a project, including those that the API created itself, filtered by IDs, types, metro, tags,
    details and states.
options:
  types:
    description: List only blocks of one of these types.
    type: list
    elements: str
    aliases: [type]
    choices: [public_ipv4, global_ipv4, private_ipv4, public_ipv6, vrf]
  details:
    description: List only blocks with these details.
    type: str
  states:
    description: List only blocks in one of these states, for example V(created) or V(pending).
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.filters
"""

EXAMPLES = r"""
- name: List the public blocks of a cluster
  equinix_metal.openshift.metal_ip_reservation_info:
    types: [public_ipv4]
    tags: [openshift-cluster=demo.metal.test]
"""

RETURN = r"""
ip_reservations:
  description: The blocks in the order of the API. Each with the fields of
    RV(equinix_metal.openshift.metal_ip_reservation#module:ip_reservation).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.ip_reservation import IP_RESERVATION_INFO_OPTIONS, find_ip_reservations


def main() -> None:
    with MetalModule(IP_RESERVATION_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_ip_reservations(module.client, module.params))


if __name__ == "__main__":
    main()
