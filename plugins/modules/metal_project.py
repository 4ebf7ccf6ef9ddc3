#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_project
short_description: Create, change and delete a project
version_added: 0.1.0
description:
  - Manages a project, which contains devices, networks and SSH keys.
  - A project is found by O(id), otherwise by O(name). If only O(name) is set, an existing project is not changed.
options:
  name:
    description: Name of the project, at most 80 characters. Required to create a project. With O(id), the project is renamed to it.
    type: str
  organization_id:
    description:
      - ID of the organization. By default the default organization of the user.
      - The organization of a project cannot be changed.
    type: str
    aliases: [org_id]
  payment_method_id:
    description: ID of the payment method. By default that of the organization.
    type: str
  backend_transfer_enabled:
    description: Whether private networks span several metros.
    type: bool
  customdata:
    description: Custom data of any shape. It is never returned. A diff shows its size and SHA-256.
    type: dict
    aliases: [custom_data]
  tags:
    description: All tags of the project. Order and duplicates are ignored.
    type: list
    elements: str
  project_id:
    description: Accepted for C(module_defaults) and ignored. Use O(id).
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.id
  - equinix_metal.openshift._metal.state
notes:
  - Requires the token of a user. The API refuses the token of a project.
  - A project with devices is not deleted. The error reports their number.
seealso:
  - module: equinix_metal.openshift.metal_project_info
  - module: equinix_metal.openshift.metal_organization_info
"""

EXAMPLES = r"""
- name: Create a project
  equinix_metal.openshift.metal_project:
    name: demo
  register: demo

- name: Delete the project
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
    id: {description: ID of the project., type: str, sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd}
    name: {description: Name of the project., type: str, sample: demo}
    organization_id: {description: ID of the organization., type: str, sample: 7f7ac2a8-9a7e-4c50-8c6c-4a5a1f7d7f50}
    payment_method_id: {description: ID of the payment method., type: str}
    backend_transfer_enabled: {description: Whether private networks span several metros., type: bool, sample: false}
    tags: {description: "Tags, sorted.", type: list, elements: str, sample: []}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.project import PROJECT_OPTIONS, Project


def main() -> None:
    with MetalModule(PROJECT_OPTIONS) as module:
        module.converge(lambda: Project(module.client, module.params))


if __name__ == "__main__":
    main()
