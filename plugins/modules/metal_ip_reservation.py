#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_ip_reservation
short_description: Reserve, change and release a block of IP addresses
version_added: 0.1.0
description:
  - Manages an IP reservation, which is a block of elastic IPv4 addresses of a project or a block of a VRF.
  - A block is found by O(id), otherwise by O(tags), otherwise by O(details), of its O(type) and in its O(metro).
  - A block is found by O(tags) if it has exactly these tags. If none has, one with further tags is found if O(details) is equal.
  - With O(ownership_tags) and O(details), a block is found by both, so O(tags) can be changed. Otherwise other O(tags) reserve another
    block; set O(id) to change them.
  - With O(state=absent), a block that is found by its tags or details is released only if all other options match, except O(customdata).
  - If several blocks match, O(details) and then O(quantity) select one. To reserve several blocks of a kind, set different tags.
options:
  type:
    description: Type of the addresses. V(global_ipv4) addresses are in no metro.
    type: str
    choices: [public_ipv4, global_ipv4, vrf]
    default: public_ipv4
  vrf_id:
    description: ID of the VRF, see M(equinix_metal.openshift.metal_vrf). Required with O(type=vrf) to reserve a block.
    type: str
  network:
    description: First address of a VRF block, in one of the ranges of the VRF. Required with O(type=vrf) to reserve a block.
    type: str
  cidr:
    description:
      - Prefix length of the block, instead of O(quantity).
      - For a VRF block V(22) to V(29), or V(64) for IPv6, and required to reserve one.
    type: int
  netmask:
    description: Network mask of the block, for example V(255.255.255.252), instead of O(quantity).
    type: str
  quantity:
    description:
      - Number of addresses, a power of two up to 256, or up to 4 with O(type=global_ipv4). It, O(cidr) or O(netmask) is required to reserve
        a block.
      - The size of a block cannot be changed.
    type: int
  metro:
    description: Code of the metro, for example V(da). Required to reserve public addresses.
    type: str
  details:
    description: Any text.
    type: str
  comments:
    description: Text for the approval of the request. Only used during creation.
    type: str
  customdata:
    description: Custom data. Every member of the project can read it, so store no secrets. A diff shows its size and SHA-256.
    type: dict
  fail_on_approval_required:
    description: Fail at once if Equinix Metal has to approve the request, or an earlier one that is still pending. Otherwise wait for the
      approval.
    type: bool
    default: false
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.id
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._metal.ownership
  - equinix_metal.openshift._wait
notes:
  - A block with assigned addresses or a gateway is not deleted. The error names the devices.
"""

EXAMPLES = r"""
- name: Reserve two addresses for a load balancer
  equinix_metal.openshift.metal_ip_reservation:
    quantity: 2
    metro: da
    tags: [openshift-cluster=demo.metal.test, openshift-role=load-balancer]
    details: api and ingress
    fail_on_approval_required: true
  register: block

- name: Release the block
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
    id: {description: ID of the block., type: str, sample: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10}
    type: {description: Type of the addresses., type: str, sample: public_ipv4}
    state: {description: "V(created), or V(pending) until the request is approved.", type: str, sample: created}
    network: {description: First address of the block., type: str, sample: 198.51.100.4}
    address: {description: Address of the block as the API returns it., type: str, sample: 198.51.100.4}
    netmask: {description: Network mask of the block., type: str, sample: 255.255.255.254}
    gateway: {description: Gateway of the block., type: str, sample: 198.51.100.4}
    vrf_id: {description: "ID of the VRF, or V(null).", type: str}
    cidr: {description: Prefix length of the block., type: int, sample: 31}
    address_family: {description: V(4) or V(6)., type: int, sample: 4}
    public: {description: Whether the addresses are public., type: bool, sample: true}
    global_ip: {description: Whether the addresses are global., type: bool, sample: false}
    details: {description: Description., type: str, sample: api and ingress}
    created_at: {description: "Time of the reservation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    quantity: {description: "Number of addresses, V(null) until the request is approved.", type: int, sample: 2}
    metro: {description: "Code of the metro, V(null) for global addresses.", type: str, sample: da}
    tags:
      description: Tags, sorted.
      type: list
      elements: str
      sample: [openshift-cluster=demo.metal.test, openshift-role=load-balancer]
    assignments: {description: IDs of the assignments of addresses., type: list, elements: str, sample: []}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.ip_reservation import IP_RESERVATION_OPTIONS, IpReservation


def main() -> None:
    with MetalModule(IP_RESERVATION_OPTIONS, in_project=True) as module:
        module.converge(lambda: IpReservation(module.client, module.params))


if __name__ == "__main__":
    main()
