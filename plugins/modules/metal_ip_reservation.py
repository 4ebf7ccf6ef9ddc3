#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_ip_reservation
short_description: Reserve, change and release a block of IP addresses of the Metal API
version_added: 0.1.0
description:
  - Manages a reserved block of elastic IPv4 addresses of a project, or a block of a VRF.
  - It is found by its O(id), else by its O(tags), else by its O(details), among the blocks of its O(type) and in its O(metro).
  - By its tags means that it has all of them and no others. One that has others beside them is another block, unless O(details) is given
    as well and is the same.
  - So another value of O(tags) names another object. To change the tags of one, give O(id), too.
  - With O(state=absent), one that is found by its tags or details is released only if all other given attributes are equal, except
    O(customdata).
  - Several blocks with the same tags are distinguished by O(details), then by O(quantity), as long as one matches. To reserve several
    blocks of a kind, give each of them tags of its own.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The block's id. One that does not exist is an error, not a reason to reserve.
    type: str
  type:
    description:
      - The kind of addresses. Those of V(global_ipv4) are in no metro.
    type: str
    choices:
      - public_ipv4
      - global_ipv4
      - vrf
    default: public_ipv4
  vrf_id:
    description:
      - Id of the VRF the block is of, see M(equinix_metal.openshift.metal_vrf). Needed with O(type=vrf) to reserve a block.
    type: str
  network:
    description:
      - First address of a block of a VRF, in one of its ranges. Needed with O(type=vrf) to reserve a block.
    type: str
  cidr:
    description:
      - Prefix length of the block, which says its size as O(quantity) does.
      - Of a block of a VRF it is V(22) to V(29), or V(64) for IPv6, and needed to reserve one.
    type: int
  netmask:
    description:
      - Network mask of the block, for example V(255.255.255.252), which says its size as O(quantity) does.
    type: str
  quantity:
    description:
      - How many addresses, a power of two up to 256, or up to 4 with O(type=global_ipv4). Needed to reserve a block,
        unless O(cidr) or O(netmask) says its size.
      - A block keeps its size, so another one is refused.
    type: int
  metro:
    description:
      - Code of the metro, for example V(da). Needed to reserve public addresses.
    type: str
  details:
    description:
      - A free text.
    type: str
  comments:
    description:
      - A text for the approval of the request. Used at creation only.
    type: str
  tags:
    description:
      - All tags of the block. Order and repetition are ignored.
    type: list
    elements: str
  customdata:
    description:
      - Data of your own. Not for secrets, since everyone in the project can read it. A diff shows its size and SHA-256.
    type: dict
  fail_on_approval_required:
    description:
      - Whether a request that a person would have to approve fails at once, also one that was made before and is still pending.
        Otherwise it is waited for.
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
  - equinix_metal.openshift._metal.ownership
  - equinix_metal.openshift._wait
notes:
  - A block with addresses that are assigned, or with a gateway, is not deleted. The error says to which devices they are assigned.
"""

EXAMPLES = r"""
- name: Reserve two addresses for a load balancer
  equinix_metal.openshift.metal_ip_reservation:
    quantity: 2
    metro: da
    tags:
      - openshift-cluster=demo.metal.test
      - openshift-role=load-balancer
    details: api and ingress
    fail_on_approval_required: true
  register: block

- name: Show the block
  ansible.builtin.debug:
    msg: "{{ block.ip_reservation.network }}/{{ block.ip_reservation.cidr }}"

- name: Release it
  equinix_metal.openshift.metal_ip_reservation:
    id: "{{ block.ip_reservation.id }}"
    state: absent
"""

RETURN = r"""
ip_reservation:
  description: The block. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id:
      description: The block's id.
      type: str
      sample: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10
    type:
      description: The kind of addresses.
      type: str
      sample: public_ipv4
    state:
      description: V(created), or V(pending) while it waits for approval.
      type: str
      sample: created
    network:
      description: First address of the block.
      type: str
      sample: 198.51.100.4
    address:
      description: The block's own address as the API gives it.
      type: str
      sample: 198.51.100.4
    netmask:
      description: Network mask of the block.
      type: str
      sample: 255.255.255.254
    gateway:
      description: Gateway of the block.
      type: str
      sample: 198.51.100.4
    vrf_id:
      description: Id of the VRF it is of, or null.
      type: str
      sample: null
    cidr:
      description: Prefix length of the block.
      type: int
      sample: 31
    address_family:
      description: V(4) or V(6).
      type: int
      sample: 4
    public:
      description: Whether the addresses are public.
      type: bool
      sample: true
    global_ip:
      description: Whether the addresses are global.
      type: bool
      sample: false
    details:
      description: The free text.
      type: str
      sample: api and ingress
    created_at:
      description: When it was reserved, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    quantity:
      description: How many addresses it has, null while it waits for approval.
      type: int
      sample: 2
    metro:
      description: Code of its metro, null for global addresses.
      type: str
      sample: da
    tags:
      description: Tags, sorted.
      type: list
      elements: str
      sample: [openshift-cluster=demo.metal.test, openshift-role=load-balancer]
    assignments:
      description: Ids of the assignments of its addresses.
      type: list
      elements: str
      sample: []
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {tags: [a]}
    after: {tags: [a, b]}
    before_header: IP reservation pool=build
    after_header: IP reservation pool=build
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ip_reservation import IP_RESERVATION_OPTIONS, IpReservation


def main() -> None:
    with MetalModule(IP_RESERVATION_OPTIONS, in_project=True) as module:
        module.converge(lambda: IpReservation(module.client, module.params))


if __name__ == "__main__":
    main()
