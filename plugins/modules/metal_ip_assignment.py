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
  - It is found by its address on any device of the project, so that assigning it to another device moves it.
  - The address is not configured on the machine itself. The service only routes it there.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The assignment's id. One that does not exist is an error with O(state=present).
      - Either this or O(address) is needed.
    type: str
  address:
    description:
      - The address with its prefix, for example V(198.51.100.4/32). Without a prefix it is one address.
      - A block of it has to be reserved, see M(equinix_metal.openshift.metal_ip_reservation), in the metro of the device or globally.
    type: str
  device_id:
    description:
      - Id of the device it is to be on. Needed with O(state=present).
      - With O(state=absent) the address is only taken off this device, and stays when it is on another.
    type: str
  state:
    description:
      - Whether it is to be there.
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
seealso:
  - module: equinix_metal.openshift.metal_ip_reservation
  - module: equinix_metal.openshift.metal_available_addresses_info
notes:
  - A move takes the address off one device before it puts it on the other, since the API has no call that does both.
"""

EXAMPLES = r"""
- name: Put an address on a device, or move it there
  equinix_metal.openshift.metal_ip_assignment:
    address: 198.51.100.4/32
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11

- name: Take it off whatever device it is on
  equinix_metal.openshift.metal_ip_assignment:
    address: 198.51.100.4/32
    state: absent
"""

RETURN = r"""
ip_assignment:
  description: The assignment. In check mode what it will be, as far as that can be known.
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
  description: The attributes that were given, as they were and as they are now. Secrets are told by size and SHA-256.
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

from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_ip_assignment import IP_ASSIGNMENT_OPTIONS, IpAssignment
from ansible_collections.equinix_metal.openshift.plugins.module_utils._module import MetalModule


def main() -> None:
    with MetalModule(IP_ASSIGNMENT_OPTIONS, in_project=True) as module:
        module.converge(IpAssignment(module.client, module.params))


if __name__ == "__main__":
    main()
