#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

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
"""

EXAMPLES = r"""
- name: List the ports of a device
  equinix_metal.openshift.metal_port_info:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
"""

RETURN = r"""
ports:
  description: The ports. Each with the fields of RV(equinix_metal.openshift.metal_port#module:port), and C(device_id), which is V(null)
    with O(ids).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.port import PORT_INFO_OPTIONS, find_ports


def main() -> None:
    with MetalModule(PORT_INFO_OPTIONS, reading=True, in_project=True, unless=("ids", "device_id")) as module:
        module.report(find_ports(module.client, module.params))


if __name__ == "__main__":
    main()
