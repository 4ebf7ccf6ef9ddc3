#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_vlan
short_description: Create, change and delete a virtual network of the Metal API
version_added: 0.1.0
description:
  - Manages a virtual network (VLAN) of a project in a metro.
  - It is found by its O(id), else by its number O(vxlan), else by its O(tags), else by its O(description).
  - By its tags means that it has all of them and no others. One that has others beside them is another network, unless O(description) is
    given as well and is the same.
  - So another value of O(tags) names another object. To change the tags of one, give O(id) or O(vxlan), too.
  - With O(state=absent), one that is found by its tags or description is deleted only if all else that is given is so.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The network's id. One that does not exist is an error, not a reason to create.
    type: str
  vxlan:
    description:
      - The network's number, 2 to 3999. Without it the API takes the next free one.
      - A network keeps its number, so another one is refused.
    type: int
  metro:
    description:
      - Code of the metro, for example V(da). Needed to create a network, and to find one by its number.
    type: str
  description:
    description:
      - A free text.
    type: str
  tags:
    description:
      - All tags of the network. Order and repetition are ignored.
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
notes:
  - A network that is in use is not deleted. The error says by whom it is used.
"""

EXAMPLES = r"""
- name: A network for storage, with a number of its own
  equinix_metal.openshift.metal_vlan:
    vxlan: 1100
    metro: da
    description: storage
  register: storage

- name: A network with the next free number, found again by its tags
  equinix_metal.openshift.metal_vlan:
    metro: da
    tags:
      - openshift-cluster=demo.metal.test

- name: Delete the network for storage
  equinix_metal.openshift.metal_vlan:
    id: "{{ storage.virtual_network.id }}"
    state: absent
"""

RETURN = r"""
virtual_network:
  description: The network. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id:
      description: The network's id.
      type: str
      sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    vxlan:
      description: The network's number.
      type: int
      sample: 1100
    metro:
      description: Code of its metro.
      type: str
      sample: da
    description:
      description: The free text.
      type: str
      sample: storage
    tags:
      description: Tags, sorted.
      type: list
      elements: str
      sample: []
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    devices:
      description: Ids of the devices that use it.
      type: list
      elements: str
      sample: []
    metal_gateways:
      description: Ids of the gateways that use it.
      type: list
      elements: str
      sample: []
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {tags: [a]}
    after: {tags: [a, b]}
    before_header: VLAN 1100 in da
    after_header: VLAN 1100 in da
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.vlan import VLAN_OPTIONS, Vlan


def main() -> None:
    with MetalModule(VLAN_OPTIONS, in_project=True) as module:
        module.converge(lambda: Vlan(module.client, module.params))


if __name__ == "__main__":
    main()
