#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_bgp_session
short_description: Create, change and delete a BGP session of a device
version_added: 0.1.0
description:
  - Manages a BGP session of a device. A device has at most one session of each address family.
  - A session is found by O(id), otherwise by O(device_id) and O(address_family).
  - BGP has to be enabled in the project, see O(enable_local_bgp) and M(equinix_metal.openshift.metal_bgp_config). The session is up only
    when the device runs a BGP daemon, so the module does not wait for it.
options:
  device_id:
    description: ID of the device. With O(address_family) required to create a session.
    type: str
  address_family:
    description: Address family of the session.
    type: str
    choices: [ipv4, ipv6]
  default_route:
    description: Whether the default route is announced to the device.
    type: bool
  enable_local_bgp:
    description: Enable local BGP with ASN 65000 before the session is created, if the project of the device has no BGP configuration. An
      existing configuration is not changed, whatever its type and ASN.
    type: bool
    default: false
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.id
  - equinix_metal.openshift._metal.state
seealso:
  - module: equinix_metal.openshift.metal_bgp_config
  - module: equinix_metal.openshift.metal_bgp_info
"""

EXAMPLES = r"""
- name: Create a BGP session of a device
  equinix_metal.openshift.metal_bgp_session:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    address_family: ipv4
    default_route: true

- name: Delete the session
  equinix_metal.openshift.metal_bgp_session:
    device_id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    address_family: ipv4
    state: absent
"""

RETURN = r"""
bgp_session:
  description: The session. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id: {description: ID of the session., type: str, sample: 5fbf5a4f-bd71-4d94-8e26-bdb03a7e4c43}
    address_family: {description: V(ipv4) or V(ipv6)., type: str, sample: ipv4}
    status: {description: "V(unknown) at first, then V(up) or V(down).", type: str, sample: up}
    switch_name: {description: Name of the switch of the session., type: str}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    default_route: {description: Whether the default route is announced to the device., type: bool, sample: false}
    learned_routes: {description: Routes that the API learned from the device., type: list, elements: str, sample: []}
    device_id: {description: ID of the device., type: str, sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.bgp import BGP_SESSION_OPTIONS, BgpSession


def main() -> None:
    with MetalModule(BGP_SESSION_OPTIONS) as module:
        module.converge(lambda: BgpSession(module.client, module.params))


if __name__ == "__main__":
    main()
