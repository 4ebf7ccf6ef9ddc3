#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_ip_reservation_info
short_description: List blocks of IP addresses
version_added: 0.1.0
description:
  - Lists the IP reservations (blocks) of a project, including those that the API created itself, filtered by IDs, types, metro, tags,
    details and states.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  ids:
    description: List only blocks with one of these IDs.
    type: list
    elements: str
  types:
    description: List only blocks of one of these types.
    type: list
    elements: str
    aliases: [type]
    choices: [public_ipv4, global_ipv4, private_ipv4, public_ipv6, vrf]
  metro:
    description: List only blocks in the metro with this code.
    type: str
  tags:
    description: List only blocks with all of these tags.
    type: list
    elements: str
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
  - equinix_metal.openshift._metal.project
seealso:
  - module: equinix_metal.openshift.metal_ip_reservation
  - module: equinix_metal.openshift.metal_available_addresses_info
"""

EXAMPLES = r"""
- name: List the public blocks of a cluster
  equinix_metal.openshift.metal_ip_reservation_info:
    types: [public_ipv4]
    tags: [openshift-cluster=demo.metal.test]
"""

RETURN = r"""
ip_reservations:
  description: The blocks in the order of the API.
  returned: success
  type: list
  elements: dict
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
failure:
  description: Details of the error for programs. The keys depend on its type.
  returned: failed
  type: dict
  sample: {type: ValidationError, method: POST, path: devices, status: 422, errors: [no capacity], request_id: 1f4c1e6a0b6d4c0b}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.network_info import IP_RESERVATION_INFO_OPTIONS, find_ip_reservations


def main() -> None:
    with MetalModule(IP_RESERVATION_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_ip_reservations(module.client, module.params))


if __name__ == "__main__":
    main()
