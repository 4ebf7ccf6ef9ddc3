#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_vlan
short_description: Create, change and delete a VLAN
version_added: 0.1.0
description:
  - Manages a VLAN (virtual network) of a project in a metro.
  - A VLAN is found by O(id), otherwise by its number O(vxlan), otherwise by O(tags), otherwise by O(description).
  - A VLAN is found by O(tags) if it has exactly these tags. If none has, one with further tags is found if O(description) is equal.
  - With O(ownership_tags) and O(description), a VLAN is found by both, so O(tags) can be changed. Otherwise other O(tags) create another
    VLAN; set O(id) or O(vxlan) to change them.
  - With O(state=absent), a VLAN that is found by its tags or description is deleted only if all other options match.
options:
  vxlan:
    description:
      - Number of the VLAN, 2 to 3999. By default the next free number.
      - The number of a VLAN cannot be changed.
    type: int
  metro:
    description: Code of the metro, for example V(da). Required to create a VLAN, and with O(vxlan).
    type: str
  description:
    description: Any text.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.id
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._metal.ownership
notes:
  - A VLAN in use is not deleted. The error names its users.
"""

EXAMPLES = r"""
- name: Create a VLAN with a number
  equinix_metal.openshift.metal_vlan:
    vxlan: 1100
    metro: da
    description: storage
  register: storage

- name: Delete the first VLAN
  equinix_metal.openshift.metal_vlan:
    id: "{{ storage.virtual_network.id }}"
    state: absent
"""

RETURN = r"""
virtual_network:
  description: The VLAN. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id: {description: ID of the VLAN., type: str, sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f}
    vxlan: {description: Number of the VLAN., type: int, sample: 1100}
    metro: {description: Code of the metro., type: str, sample: da}
    description: {description: Description., type: str, sample: storage}
    tags: {description: "Tags, sorted.", type: list, elements: str, sample: []}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    devices: {description: IDs of the devices that use the VLAN., type: list, elements: str, sample: []}
    metal_gateways: {description: IDs of the gateways that use the VLAN., type: list, elements: str, sample: []}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.vlan import VLAN_OPTIONS, Vlan


def main() -> None:
    with MetalModule(VLAN_OPTIONS, in_project=True) as module:
        module.converge(lambda: Vlan(module.client, module.params))


if __name__ == "__main__":
    main()
