#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_project_info
short_description: Read a project of the Metal API
version_added: 0.1.0
description:
  - Reads one project, and so tells whether the address, the token and the project fit together.
  - A project that is unknown, or that the token may not see, is an error.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options: {}
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
"""

RETURN = r"""
project:
  description: The project.
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
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    tags:
      description: Tags.
      type: list
      elements: str
      sample: []
    max_devices:
      description: How many devices of which plan it may have, as far as the service tells.
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

from ansible_collections.equinix_metal.openshift.plugins.module_utils._argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_catalogue import project
from ansible_collections.equinix_metal.openshift.plugins.module_utils._module import MetalModule


def main() -> None:
    with MetalModule(Options(), reading=True, in_project=True) as module:
        module.report(project(module.client, module.params))


if __name__ == "__main__":
    main()
