#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_ip_assignment
short_description: Assign an address of a block to a device
version_added: 0.1.0
description:
  - Assigns an address, or a subnet, of a reserved block of the project to a device, moves it to another device, or takes it off.
  - An O(address) is found on any device of the project.
  - With O(device_id) the project is that of the device, whatever O(project_id) and E(METAL_PROJECT_ID) say.
  - Instead of an address its block can be given. Then it is any address of the block that is free, and at the next run the one that the
    device has already.
  - The address is not configured on the machine itself. The API only routes it there.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The assignment's id. One that does not exist is an error with O(state=present).
      - One of this, O(address), O(ip_reservation_id), O(ip_reservation_tags) and O(ip_reservation_details) is needed.
    type: str
  address:
    description:
      - The address with its prefix, for example V(198.51.100.4/32). Without a prefix it is one address.
      - A block of it has to be reserved, see M(equinix_metal.openshift.metal_ip_reservation), in the metro of the device or globally.
    type: str
  ip_reservation_id:
    description:
      - Id of the block to take any free address of.
      - A block that waits for approval is waited for, with O(wait=true). When another takes the address first, the next free one is tried.
    type: str
  ip_reservation_tags:
    description:
      - All these tags has the block to take any free address of. It has to be the only one, or the only one that has no others.
    type: list
    elements: str
  ip_reservation_details:
    description:
      - The text for people of the block to take any free address of. With O(ip_reservation_tags) both have to fit.
    type: str
  cidr:
    description:
      - Length of the prefix, to take a free subnet of the block. Without it it is one address.
    type: int
  device_id:
    description:
      - Id of the device it is to be on. Needed with O(state=present), and with a block.
      - With O(state=absent) the address is only taken off this device, and stays when it is on another.
    type: str
  customdata:
    description:
      - Data of your own. Not for secrets, since everyone in the project can read it. A diff shows its size and SHA-256.
      - An address that has some is moved only with this option given, since the API forgets it on the way; V({}) is for none.
    type: dict
  manageable:
    description:
      - Whether the assignment may be changed. The API sets it, so another value than the current one is refused.
    type: bool
  move:
    description:
      - Whether an address that is on another device is taken off it. Otherwise that is an error.
    type: bool
    default: false
  state:
    description:
      - Whether the object exists.
    type: str
    choices:
      - present
      - absent
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_ip_reservation
  - module: equinix_metal.openshift.metal_available_addresses_info
notes:
  - A move takes the address off one device before it puts it on the other, since the API has no call that does both. When it ends between
    the two, the error says so, and the same task run again puts it on the other.
"""

EXAMPLES = r"""
- name: Put an address on a device, from wherever it is now
  equinix_metal.openshift.metal_ip_assignment:
    address: 198.51.100.4/32
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    move: true

- name: Give a device any address of a block, and the same one at the next run
  equinix_metal.openshift.metal_ip_assignment:
    ip_reservation_tags:
      - openshift-cluster=demo.metal.test
      - openshift-role=load-balancer
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
  register: given

- name: Show it
  ansible.builtin.debug:
    var: given.ip_assignment.address

- name: Take it off whatever device it is on
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
    id:
      description: The assignment's id. A move gives it a new one.
      type: str
      sample: 1b9c6b7e-3ba3-4b7e-8c5a-6c9f1f0e2d3c
    address:
      description: The address.
      type: str
      sample: 198.51.100.4
    network:
      description: First address of the subnet.
      type: str
      sample: 198.51.100.4
    netmask:
      description: Network mask.
      type: str
      sample: 255.255.255.255
    gateway:
      description: Gateway.
      type: str
      sample: 198.51.100.4
    cidr:
      description: Prefix length.
      type: int
      sample: 32
    address_family:
      description: V(4) or V(6).
      type: int
      sample: 4
    public:
      description: Whether it is public.
      type: bool
      sample: true
    management:
      description: Whether it is the device's own.
      type: bool
      sample: false
    manageable:
      description: Whether it may be changed.
      type: bool
      sample: true
    global_ip:
      description: Whether it is global.
      type: bool
      sample: false
    metro:
      description: Code of its metro.
      type: str
      sample: da
    device_id:
      description: Id of the device it is on.
      type: str
      sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    ip_reservation_id:
      description: Id of the block it is of.
      type: str
      sample: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {}
    after: {address: 198.51.100.4/32}
    before_header: the assignment of 198.51.100.4/32
    after_header: the assignment of 198.51.100.4/32
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ip_assignment import IP_ASSIGNMENT_OPTIONS, IpAssignment


def main() -> None:
    with MetalModule(IP_ASSIGNMENT_OPTIONS, in_project=True, unless=("id", "device_id")) as module:
        module.converge(lambda: IpAssignment(module.client, module.params))


if __name__ == "__main__":
    main()
