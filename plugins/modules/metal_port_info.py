#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_port_info
short_description: List network ports of devices
version_added: 0.1.0
description:
  - Lists ports by their IDs, of one device, or of all devices of the project.
options:
  ids:
    description: Return the ports with these IDs. Each has to exist.
    type: list
    elements: str
  device_id:
    description: List only the ports of this device.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
seealso:
  - module: equinix_metal.openshift.metal_port
"""

EXAMPLES = r"""
- name: List the ports of a device
  equinix_metal.openshift.metal_port_info:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
"""

RETURN = r"""
ports:
  description: The ports.
  returned: success
  type: list
  elements: dict
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
    device_id: {description: "ID of the device, V(null) with O(ids).", type: str, sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.port import PORT_INFO_OPTIONS, find_ports


def main() -> None:
    with MetalModule(PORT_INFO_OPTIONS, reading=True, in_project=True, unless=("ids", "device_id")) as module:
        module.report(find_ports(module.client, module.params))


if __name__ == "__main__":
    main()
