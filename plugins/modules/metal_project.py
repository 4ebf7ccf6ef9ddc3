#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_project
short_description: Create, change and delete a project of the Metal API
version_added: 0.1.0
description:
  - Manages a project, which holds devices, networks and keys.
  - It is found by its O(id), else by its O(name). With a name alone it is created when it is missing, and left as it is otherwise.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The project's id. One that does not exist is an error, not a reason to create.
    type: str
  name:
    description:
      - The project's name, at most 80 characters. Needed to create it. With O(id) the name it is to have.
    type: str
  organization_id:
    description:
      - The organization it belongs to. Without it the API takes the user's default one.
      - A project stays in its organization, so another one is refused.
    type: str
    aliases:
      - org_id
  payment_method_id:
    description:
      - What pays for it. Without it the API takes the organization's.
    type: str
  backend_transfer_enabled:
    description:
      - Whether its private networks reach over several metros.
    type: bool
  customdata:
    description:
      - Data of your own, of any shape. Never returned, and shown by size and SHA-256 only.
    type: dict
    aliases:
      - custom_data
  tags:
    description:
      - All tags of the project. Order and repetition are ignored.
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
  project_id:
    description:
      - Not used here, where O(id) is the project's id; taken so that C(module_defaults) can be the same for all modules.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
notes:
  - Needs a user's token. A project's token is refused by the API.
  - A project that has devices is not deleted. The error says how many.
seealso:
  - module: equinix_metal.openshift.metal_project_info
  - module: equinix_metal.openshift.metal_organization_info
"""

EXAMPLES = r"""
- name: A project of this name, created if it is missing
  equinix_metal.openshift.metal_project:
    name: demo
  register: demo

- name: Tag it
  equinix_metal.openshift.metal_project:
    id: "{{ demo.project.id }}"
    tags:
      - team-a

- name: Delete it
  equinix_metal.openshift.metal_project:
    id: "{{ demo.project.id }}"
    state: absent
"""

RETURN = r"""
project:
  description: The project. In check mode the predicted one.
  returned: state is present
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
      description: Id of what pays for it.
      type: str
      sample: null
    backend_transfer_enabled:
      description: Whether its private networks reach over several metros.
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
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {tags: [a]}
    after: {tags: [a, b]}
    before_header: project demo
    after_header: project demo
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.project import PROJECT_OPTIONS, Project


def main() -> None:
    with MetalModule(PROJECT_OPTIONS) as module:
        module.converge(lambda: Project(module.client, module.params))


if __name__ == "__main__":
    main()
