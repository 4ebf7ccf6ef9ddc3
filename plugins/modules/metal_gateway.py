#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_gateway
short_description: Create and delete a Metal gateway
version_added: 0.1.0
description:
  - Manages the Metal gateway of a VLAN, with an IP reservation (block) of the project or with a private subnet that is created with it.
  - A gateway is found by O(id), otherwise by its VLAN, otherwise by its block.
  - A gateway cannot be changed. Another VLAN, block or size is an error.
options:
  virtual_network_id:
    description: ID of the VLAN, see M(equinix_metal.openshift.metal_vlan). Required to create a gateway.
    type: str
  ip_reservation_id:
    description:
      - ID of a public block of 8 to 128 addresses in the metro of the VLAN, or of a VRF block.
      - Either O(ip_reservation_id) or O(private_ipv4_subnet_size) is required to create a gateway.
      - In a VLAN with several gateways, it selects one of them. O(private_ipv4_subnet_size) does so if their sizes differ.
    type: str
  private_ipv4_subnet_size:
    description: Number of addresses of the private subnet to create for the gateway. It is deleted with the gateway.
    type: int
    choices: [8, 16, 32, 64, 128]
  wait_timeout:
    aliases: [timeout]
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.id
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_gateway_info
  - module: equinix_metal.openshift.metal_vlan
  - module: equinix_metal.openshift.metal_ip_reservation
notes:
  - With O(state=absent) the module waits until the gateway is gone, since its VLAN cannot be deleted before.
"""

EXAMPLES = r"""
- name: Create a gateway with a private subnet of eight addresses
  equinix_metal.openshift.metal_gateway:
    virtual_network_id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    private_ipv4_subnet_size: 8

- name: Delete the gateway and wait until it is gone
  equinix_metal.openshift.metal_gateway:
    virtual_network_id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    state: absent
"""

RETURN = r"""
metal_gateway:
  description: The gateway. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id: {description: ID of the gateway., type: str, sample: 2c8e2d1c-8a4e-4a61-9b93-8a8f0d4b1f10}
    state:
      description: V(ready) until a port of a device is in the VLAN, then V(active). V(deleting) during a deletion.
      type: str
      sample: ready
    gateway_address: {description: "Address of the gateway in the VLAN, with the prefix length.", type: str, sample: 10.70.4.1/29}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    virtual_network_id: {description: ID of the VLAN., type: str, sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f}
    vxlan: {description: Number of the VLAN., type: int, sample: 1100}
    ip_reservation_id: {description: "ID of the block, or of the private subnet.", type: str, sample: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10}
    private_ipv4_subnet_size:
      description: Number of addresses of the private subnet. V(null) for a gateway with a block of the project.
      type: int
      sample: 8
    vrf_id: {description: "ID of the VRF of the block, or V(null).", type: str}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.gateway import GATEWAY_OPTIONS, Gateway


def main() -> None:
    with MetalModule(GATEWAY_OPTIONS, in_project=True) as module:
        module.converge(lambda: Gateway(module.client, module.params))


if __name__ == "__main__":
    main()
