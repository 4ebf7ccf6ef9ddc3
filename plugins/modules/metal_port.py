#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_port
short_description: Configure bonding, layer and VLANs of a device's network port
version_added: 0.1.0
description:
  - Configures the bond, the layer, the VLANs and the native VLAN of a port. The module plans the steps in the order that the API allows.
  - Options that are not set keep their value. VLANs that have to be removed while a bond changes to layer 3 are added again.
  - If no order of steps leads to the requested state, the module fails before the first step.
options:
  id:
    description: ID of the port. Required, unless O(device_id) and O(name) are set.
    type: str
    aliases: [port_id]
  device_id:
    description: ID of the device of the port.
    type: str
  name:
    description: Name of the port, for example V(bond0) or V(eth1).
    type: str
  bonded:
    description:
      - Whether the port is a member of its bond.
      - For a bond port, whether the bond exists. V(false) removes all its members, which requires layer 2.
      - V(true) creates a bond again that was dissolved. The VLANs of its members are removed, since a member has no VLANs of its own. A
        port that was removed from a bond (hybrid mode) stays removed. To add it again, name the port.
    type: bool
  layer2:
    description:
      - Whether a bond is in layer 2. The device loses its addresses then, including the management addresses. For bond ports only.
      - A bond in layer 3 with VLANs is in hybrid mode.
    type: bool
  vlan_ids:
    description:
      - All VLANs of the port, as numbers or IDs. V([]) removes all VLANs.
      - The VLANs have to be in the project and the metro of the device.
    type: list
    elements: str
  native_vlan_id:
    description:
      - The VLAN whose frames are untagged, as a number or ID. An empty string removes the native VLAN.
      - Requires that the port has at least two VLANs, of which it is one. A bond in layer 3 has no native VLAN.
    type: str
  request_ips:
    description: Addresses to request when a bond is converted to layer 3. By default the API decides.
    type: list
    elements: dict
    suboptions:
      address_family:
        description: V(4) or V(6).
        type: int
        choices: [4, 6]
        required: true
      public:
        description: Whether the address is public.
        type: bool
        default: true
  state:
    description: The API creates and deletes ports with their device, so V(present) is the only state.
    type: str
    choices: [present]
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_port_info
  - module: equinix_metal.openshift.metal_vlan
notes:
  - Several VLANs are changed in one batch. The module waits for it, and for a batch of the port that is already in progress.
  - With O(wait=false) the module does not wait for a batch, and refuses a change that has further steps after it.
  - If a step fails, C(failure) returns the steps that are C(done) and C(not_done), and C(changed) returns whether anything was changed.
    Run the task again to continue.
"""

EXAMPLES = r"""
- name: Add a VLAN beside the public network (hybrid bonded)
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: bond0
    layer2: false
    vlan_ids: ["1100"]

- name: Convert the bond to layer 2 with two VLANs, one of them untagged
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: bond0
    bonded: true
    layer2: true
    vlan_ids: ["1100", "1101"]
    native_vlan_id: "1100"

- name: Remove one port from the bond and assign VLANs to it (hybrid)
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: eth1
    bonded: false
    vlan_ids: ["1100", "1101"]
    native_vlan_id: "1100"
"""

RETURN = r"""
port:
  description: The port. In check mode the predicted one.
  returned: success
  type: dict
  contains:
    id: {description: ID of the port., type: str, sample: 0b9c6b7e-3ba3-4b7e-8c5a-6c9f1f0e2d3c}
    name: {description: Name of the port., type: str, sample: bond0}
    type: {description: V(NetworkBondPort) or V(NetworkPort)., type: str, sample: NetworkBondPort}
    network_type:
      description: Type of a bond, such as V(layer3), V(hybrid-bonded) or V(layer2-individual). V(null) for other ports.
      type: str
      sample: layer3
    mac: {description: "MAC address, V(null) for a bond.", type: str}
    bonded: {description: Whether the port is bonded., type: bool, sample: true}
    bond: {description: "Name of the bond of the port, V(null) for a bond.", type: str}
    virtual_networks:
      description: VLANs of the port, each with C(id) and C(vxlan).
      type: list
      elements: dict
      sample: [{id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f, vxlan: 1100}]
    native_virtual_network: {description: "ID of the native VLAN, or V(null).", type: str}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.port import PORT_OPTIONS, Port


def main() -> None:
    with MetalModule(PORT_OPTIONS) as module:
        module.converge(lambda: Port(module.client, module.params, module.waiter))


if __name__ == "__main__":
    main()
