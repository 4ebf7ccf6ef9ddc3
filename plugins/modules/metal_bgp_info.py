#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_bgp_info
short_description: Read the BGP configuration and sessions of a project or a device
version_added: 0.1.0
description:
  - Returns the BGP configuration of a project, and the sessions of the project or of one device.
  - For one device, also returns the neighbors that its BGP daemon has to be configured with.
options:
  device_id:
    description: List only the sessions of this device, and its neighbors.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
"""

EXAMPLES = r"""
- name: Read the BGP neighbors of a device
  equinix_metal.openshift.metal_bgp_info:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
"""

RETURN = r"""
bgp_config:
  description: The configuration of the project, V(null) if BGP was never requested. With the fields of
    RV(equinix_metal.openshift.metal_bgp_config#module:bgp_config).
  returned: success
  type: dict
bgp_sessions:
  description: The BGP sessions. Each with the fields of RV(equinix_metal.openshift.metal_bgp_session#module:bgp_session).
  returned: success
  type: list
  elements: dict
bgp_neighbors:
  description: The neighbors of the device as the API returns them, without the password. Empty without O(device_id).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.bgp import BGP_INFO_OPTIONS, find_bgp


def main() -> None:
    with MetalModule(BGP_INFO_OPTIONS, reading=True, in_project=True, unless=("device_id",)) as module:
        module.report(find_bgp(module.client, module.params))


if __name__ == "__main__":
    main()
