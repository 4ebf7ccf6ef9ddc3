#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_organization_info
short_description: List organizations of the Metal API
version_added: 0.1.0
description:
  - Lists the organizations the token can read, with their projects.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  ids:
    description:
      - Only organizations with one of these ids.
    type: list
    elements: str
  names:
    description:
      - Only organizations with one of these names.
    type: list
    elements: str
    aliases:
      - name
  project_id:
    description:
      - Not used here; taken so that C(module_defaults) can be the same for all modules.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
notes:
  - Needs a user's token. A project's token is refused by the API.
seealso:
  - module: equinix_metal.openshift.metal_project
"""

EXAMPLES = r"""
- name: Which organizations may I see?
  equinix_metal.openshift.metal_organization_info:
  register: mine
"""

RETURN = r"""
organizations:
  description: The organizations, by their names.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The organization's id.
      type: str
      sample: 7f7ac2a8-9a7e-4c50-8c6c-4a5a1f7d7f50
    name:
      description: Its name.
      type: str
      sample: Example
    description:
      description: A text for people.
      type: str
      sample: null
    website:
      description: Its website.
      type: str
      sample: null
    twitter:
      description: Its account there.
      type: str
      sample: null
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    projects:
      description: Ids of its projects.
      type: list
      elements: str
      sample: [2b70eb8f-fa18-47c0-aba7-222a842362fd]
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.project import ORGANIZATION_OPTIONS, organizations


def main() -> None:
    with MetalModule(ORGANIZATION_OPTIONS, reading=True) as module:
        module.report(organizations(module.client, module.params))


if __name__ == "__main__":
    main()
