#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_vrf
short_description: Create, change and delete a VRF
version_added: 0.1.0
description:
  - Manages a VRF, a routing table of a project with address ranges of its own, in a metro.
  - It is found by its O(id), else by its O(name), in its O(metro) if that is given.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The VRF's id. One that does not exist is an error, not a reason to create.
    type: str
  name:
    description:
      - The VRF's name. Needed to create one. With O(id) it is the name to change to.
    type: str
  metro:
    description:
      - Code of the metro, for example V(da). Needed to create a VRF. A VRF stays in its metro, so another one is refused.
    type: str
  local_asn:
    description:
      - Autonomous system number of the VRF's side. Without it the API takes 65000.
    type: int
  ip_ranges:
    description:
      - All subnets of the VRF, IPv4 from /8 to /29 and IPv6 from /56 to /64. Order and repetition are ignored.
      - A range with reserved blocks in it cannot be taken out.
    type: list
    elements: str
  description:
    description:
      - A free text.
    type: str
  tags:
    description:
      - All tags of the VRF. Order and repetition are ignored.
    type: list
    elements: str
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
seealso:
  - module: equinix_metal.openshift.metal_vrf_info
  - module: equinix_metal.openshift.metal_gateway
notes:
  - A VRF with reserved blocks or gateways is not deleted. The error says which.
"""

EXAMPLES = r"""
- name: A VRF with a range of its own
  equinix_metal.openshift.metal_vrf:
    name: storage
    metro: da
    local_asn: 65000
    ip_ranges:
      - 192.168.100.0/24

- name: Delete it
  equinix_metal.openshift.metal_vrf:
    name: storage
    metro: da
    state: absent
"""

RETURN = r"""
vrf:
  description: The VRF. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id:
      description: The VRF's id.
      type: str
      sample: 3d9f3e2d-9b5f-4b72-8c04-9b9f1e5c2a21
    name:
      description: Its name.
      type: str
      sample: storage
    description:
      description: The free text.
      type: str
      sample: null
    local_asn:
      description: Its autonomous system number.
      type: int
      sample: 65000
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    metro:
      description: Code of its metro.
      type: str
      sample: da
    ip_ranges:
      description: Its subnets, sorted.
      type: list
      elements: str
      sample: [192.168.100.0/24]
    tags:
      description: Tags, sorted.
      type: list
      elements: str
      sample: []
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {}
    after: {local_asn: 65000}
    before_header: VRF storage
    after_header: VRF storage
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.vrf import VRF_OPTIONS, Vrf


def main() -> None:
    with MetalModule(VRF_OPTIONS, in_project=True) as module:
        module.converge(lambda: Vrf(module.client, module.params))


if __name__ == "__main__":
    main()
