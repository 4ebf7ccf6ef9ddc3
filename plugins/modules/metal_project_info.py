#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_project_info
short_description: Read projects of the Metal API
version_added: 0.1.0
description:
  - Reads the project O(project_id), and so verifies that address, token and project match.
    A project that is unknown, or that the token may not see, is an error.
  - With O(names), O(organization_id) or O(all_projects) lists projects instead, whatever O(project_id) is.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  names:
    description:
      - List the projects with one of these names.
    type: list
    elements: str
    aliases:
      - name
  organization_id:
    description:
      - List the projects of this organization.
    type: str
    aliases:
      - org_id
  all_projects:
    description:
      - List all projects the token can read.
    type: bool
    default: false
  with_contents:
    description:
      - Return what is in the project O(project_id), see RV(contents). Takes a request for each kind of object.
    type: bool
    default: false
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
"""

EXAMPLES = r"""
- name: Do the address, the token and the project fit together?
  equinix_metal.openshift.metal_project_info:
  register: account

- name: Show the project's name
  ansible.builtin.debug:
    var: account.project.name

- name: Which projects are there?
  equinix_metal.openshift.metal_project_info:
    all_projects: true
  register: known

- name: Show their names
  ansible.builtin.debug:
    msg: "{{ known.projects | map(attribute='name') }}"
"""

RETURN = r"""
project:
  description: The project O(project_id). Null when projects were listed.
  returned: success
  type: dict
  contains:
    id:
      description: The project's id.
      type: str
      sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd
    name:
      description: The project's name.
      type: str
      sample: demo
    organization_id:
      description: Id of its organization.
      type: str
      sample: 7f7ac2a8-9a7e-4c50-8c6c-4a5a1f7d7f50
    payment_method_id:
      description: Id of its payment method, or null.
      type: str
      sample: null
    backend_transfer_enabled:
      description: Whether its private networks reach over metros.
      type: bool
      sample: false
    tags:
      description: Tags, sorted.
      type: list
      elements: str
      sample: []
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    max_devices:
      description: Quota of devices by plan, as far as the API returns it.
      type: dict
      sample: {}
contents:
  description:
    - What is in the project, in words, and empty for an empty project. Private address blocks and public ones of IPv6, which every project
      has, and members are not listed.
  returned: O(with_contents=true), and O(project_id) is used
  type: list
  elements: str
  sample: [2 VLANs, 1 SSH key]
projects:
  description: The projects, by their names. Empty when none matches.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The project's id.
      type: str
      sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd
    name:
      description: The project's name.
      type: str
      sample: demo
    organization_id:
      description: Id of its organization.
      type: str
      sample: 7f7ac2a8-9a7e-4c50-8c6c-4a5a1f7d7f50
    payment_method_id:
      description: Id of its payment method, or null.
      type: str
      sample: null
    backend_transfer_enabled:
      description: Whether its private networks reach over metros.
      type: bool
      sample: false
    tags:
      description: Tags, sorted.
      type: list
      elements: str
      sample: []
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    max_devices:
      description: Quota of devices by plan, as far as the API returns it.
      type: dict
      sample: {}
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.project import PROJECT_INFO_OPTIONS, find_projects


def main() -> None:
    with MetalModule(PROJECT_INFO_OPTIONS, reading=True) as module:
        module.report(find_projects(module.client, module.params))


if __name__ == "__main__":
    main()
