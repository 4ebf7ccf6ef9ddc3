#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_ip_assignment
short_description: Assign an address of an IP reservation to a device
version_added: 0.1.0
description:
  - Assigns an address or a subnet of an IP reservation (block) to a device, moves it to another device, or removes the assignment.
  - An assignment of O(address) is found on any device of the project.
  - With O(device_id) the project is that of the device, and O(project_id) and E(METAL_PROJECT_ID) are ignored.
  - If a block is set instead of an address, the device gets any free address of the block. The next run returns the same address.
  - The API routes the address to the device. It is not configured on the machine itself.
options:
  id:
    description:
      - ID of the assignment. With O(state=present) it has to exist.
      - One of O(id), O(address), O(ip_reservation_id), O(ip_reservation_tags) and O(ip_reservation_details) is required.
    type: str
  address:
    description:
      - The address with its prefix length, for example V(198.51.100.4/32). Without a prefix length it is a single address.
      - It has to belong to a block in the metro of the device or a global one, see M(equinix_metal.openshift.metal_ip_reservation).
    type: str
  ip_reservation_id:
    description:
      - ID of a block. Assign any free address of it.
      - With O(wait=true) the module waits until a pending block is approved. If the address was assigned elsewhere meanwhile, the module
        tries the next free one.
    type: str
  ip_reservation_tags:
    description: Take any free address of the block that has all these tags. If several blocks have them, the one without further tags is
      used.
    type: list
    elements: str
  ip_reservation_details:
    description: Take any free address of the block with this description. With O(ip_reservation_tags) both have to match.
    type: str
  cidr:
    description: Prefix length of a free subnet to take from the block. By default a single address is taken.
    type: int
  device_id:
    description:
      - ID of the device. Required with O(state=present), and with a block.
      - With O(state=absent) the assignment is removed from this device only.
    type: str
  customdata:
    description:
      - Arbitrary data of the assignment. Every member of the project can read it, so store no secrets. A diff shows its size and SHA-256.
      - Required to move an address that has custom data, since the API does not keep it in a move; V({}) removes it.
    type: dict
  manageable:
    description: Whether the assignment may be changed. The API sets this attribute; a value other than the current one is an error.
    type: bool
  move:
    description: Whether to move an address that is assigned to another device. Otherwise such an address is an error.
    type: bool
    default: false
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_ip_reservation
  - module: equinix_metal.openshift.metal_available_addresses_info
notes:
  - A move removes the assignment before it creates the other one, since the API has no request for both. If the module ends between the
    two, the error names the address. Run the task again to assign it.
"""

EXAMPLES = r"""
- name: Assign an address to a device, and move it if it is assigned elsewhere
  equinix_metal.openshift.metal_ip_assignment:
    address: 198.51.100.4/32
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    move: true

- name: Assign any free address of a block
  equinix_metal.openshift.metal_ip_assignment:
    ip_reservation_tags: [openshift-cluster=demo.metal.test, openshift-role=load-balancer]
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
  register: assigned

- name: Remove the assignment
  equinix_metal.openshift.metal_ip_assignment:
    address: 198.51.100.4/32
    state: absent
"""

RETURN = r"""
ip_assignment:
  description: The assignment. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id: {description: ID of the assignment. A move changes it., type: str, sample: 1b9c6b7e-3ba3-4b7e-8c5a-6c9f1f0e2d3c}
    address: {description: The address., type: str, sample: 198.51.100.4}
    network: {description: First address of the subnet., type: str, sample: 198.51.100.4}
    netmask: {description: Network mask., type: str, sample: 255.255.255.255}
    gateway: {description: Gateway., type: str, sample: 198.51.100.4}
    cidr: {description: Prefix length., type: int, sample: 32}
    address_family: {description: V(4) or V(6)., type: int, sample: 4}
    public: {description: Whether the address is public., type: bool, sample: true}
    management: {description: Whether the API assigned the address when it created the device., type: bool, sample: false}
    manageable: {description: Whether the assignment may be changed., type: bool, sample: true}
    global_ip: {description: Whether the address is global., type: bool, sample: false}
    metro: {description: Code of the metro., type: str, sample: da}
    device_id: {description: ID of the device., type: str, sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11}
    ip_reservation_id: {description: ID of the block., type: str, sample: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.ip_assignment import IP_ASSIGNMENT_OPTIONS, IpAssignment


def main() -> None:
    with MetalModule(IP_ASSIGNMENT_OPTIONS, in_project=True, unless=("id", "device_id")) as module:
        module.converge(lambda: IpAssignment(module.client, module.params))


if __name__ == "__main__":
    main()
