#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_port
short_description: Bring a network port of a device to a state
version_added: 0.1.0
description:
  - Brings a port of a device to the bond, the layer, the VLANs and the native VLAN that are given, by whatever steps that takes, in the
    order that the API allows.
  - What is not given stays, the native VLAN as well. VLANs that have to be taken off for a moment, while a bond goes back to layer 3, are
    put on again.
  - A state that no order of steps leads to is an error before the first step.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The port's id. Either this, or O(device_id) and O(name), is needed.
    type: str
    aliases:
      - port_id
  device_id:
    description:
      - Id of the port's device.
    type: str
  name:
    description:
      - The port's name, for example V(bond0) or V(eth1).
    type: str
  bonded:
    description:
      - Whether the port is in its bond.
      - Of a bond port, whether there is a bond. V(false) takes all its ports out, which is possible in layer 2 only.
      - V(true) puts a bond that was taken apart together again. VLANs of its ports are taken off then, since a port in a bond has none of
        its own. A single port that was taken out of a bond which goes on without it (hybrid) stays out, and is put back by its own name.
    type: bool
  layer2:
    description:
      - Whether a bond is in layer 2, which takes the addresses off the device, the management addresses as well. For bond ports only.
      - In layer 3 with VLANs a bond is what is called hybrid.
    type: bool
  vlan_ids:
    description:
      - All VLANs of the port, by their numbers or by their ids. V([]) takes all of them off.
      - The VLANs have to be in the project and the metro of the device.
    type: list
    elements: str
  native_vlan_id:
    description:
      - The VLAN whose frames are untagged, by number or id as in O(vlan_ids). An empty text means none.
      - It has to be one of at least two VLANs of the port. A bond in layer 3 has none.
    type: str
  request_ips:
    description:
      - The addresses to ask for when a bond goes to layer 3. Without it the API decides. Used for that step only.
    type: list
    elements: dict
    suboptions:
      address_family:
        description:
          - V(4) or V(6).
        type: int
        choices:
          - 4
          - 6
        required: true
      public:
        description:
          - Whether the address is public.
        type: bool
        default: true
  state:
    description:
      - A port comes and goes with its device, so there is no other state.
    type: str
    choices:
      - present
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_port_info
  - module: equinix_metal.openshift.metal_vlan
notes:
  - Several VLANs are changed in one batch, which is waited for. A batch that is under way already is waited for as well.
  - With O(wait=false) a batch is not waited for. A change that has to wait for a batch before its next step is refused then.
  - When it ends on its way, RV(failure) has the steps that were C(done) and those that were C(not_done), and C(changed) says whether
    anything was changed by then. The same task run again goes on from there.
  - The native VLAN of a bond in layer 3, and with a single VLAN, is refused before the first step.
"""

EXAMPLES = r"""
- name: A VLAN beside the public network (hybrid bonded)
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: bond0
    layer2: false
    vlan_ids:
      - "1100"

- name: Layer 2 only, with two VLANs, one of them untagged
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: bond0
    bonded: true
    layer2: true
    vlan_ids:
      - "1100"
      - "1101"
    native_vlan_id: "1100"

- name: Each port by itself, in layer 2 (layer 2 individual)
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: bond0
    bonded: false
    layer2: true
    vlan_ids: []
    native_vlan_id: ""

- name: One port in VLANs, the bond goes on without it (hybrid)
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: eth1
    bonded: false
    vlan_ids:
      - "1100"
      - "1101"
    native_vlan_id: "1100"

- name: Back to how the device was delivered, first the bond
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: bond0
    bonded: true
    layer2: false
    vlan_ids: []
    native_vlan_id: ""

- name: Back to how the device was delivered, then a port that was taken out
  equinix_metal.openshift.metal_port:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    name: eth1
    bonded: true
    vlan_ids: []
    native_vlan_id: ""
"""

RETURN = r"""
port:
  description: The port. In check mode the predicted one.
  returned: success
  type: dict
  contains:
    id:
      description: The port's id.
      type: str
      sample: 0b9c6b7e-3ba3-4b7e-8c5a-6c9f1f0e2d3c
    name:
      description: The port's name.
      type: str
      sample: bond0
    type:
      description: V(NetworkBondPort) or V(NetworkPort).
      type: str
      sample: NetworkBondPort
    network_type:
      description: Type of a bond, such as V(layer3), V(hybrid-bonded) or V(layer2-individual). Null for other ports.
      type: str
      sample: layer3
    mac:
      description: MAC address. Null for a bond.
      type: str
      sample: null
    bonded:
      description: Whether it is bonded.
      type: bool
      sample: true
    bond:
      description: Name of the bond it belongs to. Null for a bond.
      type: str
      sample: null
    virtual_networks:
      description: Its VLANs, each with C(id) and C(vxlan).
      type: list
      elements: dict
      sample: [{id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f, vxlan: 1100}]
    native_virtual_network:
      description: Id of the native VLAN, or null.
      type: str
      sample: null
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {}
    after: {layer2: true}
    before_header: port bond0 of device 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    after_header: port bond0 of device 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.port import PORT_OPTIONS, Port


def main() -> None:
    with MetalModule(PORT_OPTIONS) as module:
        module.converge(lambda: Port(module.client, module.params, module.waiter))


if __name__ == "__main__":
    main()
