#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_vrf_info
short_description: List VRFs
version_added: 0.1.0
description:
  - Lists the VRFs of a project, narrowed by ids, names, metro and tags.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  ids:
    description:
      - Only VRFs with one of these ids.
    type: list
    elements: str
    aliases:
      - vrf_id
  names:
    description:
      - Only VRFs with one of these names.
    type: list
    elements: str
  metro:
    description:
      - Only VRFs in the metro with this code.
    type: str
  tags:
    description:
      - Only VRFs with all of these tags.
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
seealso:
  - module: equinix_metal.openshift.metal_vrf
"""

EXAMPLES = r"""
- name: Find the VRFs in a metro
  equinix_metal.openshift.metal_vrf_info:
    metro: da
  register: found

- name: Show their ranges
  ansible.builtin.debug:
    msg: "{{ found.vrfs | map(attribute='ip_ranges') }}"
"""

RETURN = r"""
vrfs:
  description: The VRFs. Empty when none matches.
  returned: success
  type: list
  elements: dict
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.vrf import VRF_INFO_OPTIONS, find_vrfs


def main() -> None:
    with MetalModule(VRF_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_vrfs(module.client, module.params))


if __name__ == "__main__":
    main()
