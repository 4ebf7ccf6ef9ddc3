#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_vrf
short_description: Create, change and delete a VRF
version_added: 0.1.0
description:
  - Manages a VRF, which is a routing table of a project with its own address ranges in a metro.
  - A VRF is found by O(id), otherwise by O(name), in O(metro) if it is set.
options:
  name:
    description: Name of the VRF. Required to create a VRF. With O(id), the VRF is renamed to it.
    type: str
  metro:
    description: Code of the metro, for example V(da). Required to create a VRF. It cannot be changed.
    type: str
  local_asn:
    description: Autonomous system number of the VRF. By default the API sets 65000.
    type: int
  ip_ranges:
    description:
      - All subnets of the VRF, IPv4 from /8 to /29 and IPv6 from /56 to /64. Order and duplicates are ignored.
      - A subnet with reserved blocks cannot be removed.
    type: list
    elements: str
  description:
    description: Any text.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.id
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._metal.ownership
seealso:
  - module: equinix_metal.openshift.metal_vrf_info
  - module: equinix_metal.openshift.metal_gateway
notes:
  - A VRF with reserved blocks or gateways is not deleted. The error names them.
"""

EXAMPLES = r"""
- name: Create a VRF
  equinix_metal.openshift.metal_vrf:
    name: storage
    metro: da
    local_asn: 65000
    ip_ranges: [192.168.100.0/24]

- name: Delete the VRF
  equinix_metal.openshift.metal_vrf:
    name: storage
    metro: da
    state: absent
"""

RETURN = r"""
vrf:
  description: The VRF. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id: {description: ID of the VRF., type: str, sample: 3d9f3e2d-9b5f-4b72-8c04-9b9f1e5c2a21}
    name: {description: Name of the VRF., type: str, sample: storage}
    description: {description: Description., type: str}
    local_asn: {description: Autonomous system number., type: int, sample: 65000}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    metro: {description: Code of the metro., type: str, sample: da}
    ip_ranges: {description: "Subnets, sorted.", type: list, elements: str, sample: [192.168.100.0/24]}
    tags: {description: "Tags, sorted.", type: list, elements: str, sample: []}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.vrf import VRF_OPTIONS, Vrf


def main() -> None:
    with MetalModule(VRF_OPTIONS, in_project=True) as module:
        module.converge(lambda: Vrf(module.client, module.params))


if __name__ == "__main__":
    main()
