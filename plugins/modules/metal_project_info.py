#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_project_info
short_description: Read projects
version_added: 0.1.0
description:
  - Returns the project O(project_id), which verifies that URL, token and project match. Fails if the token cannot read the project.
  - With O(names), O(organization_id) or O(all_projects), lists projects instead, and ignores O(project_id).
options:
  names:
    description: List projects with one of these names.
    type: list
    elements: str
    aliases: [name]
  organization_id:
    description: List the projects of this organization.
    type: str
    aliases: [org_id]
  all_projects:
    description: List all projects that the token can read.
    type: bool
    default: false
  with_contents:
    description: Return the contents of the project O(project_id), see RV(contents). Requires one request for each kind of object.
    type: bool
    default: false
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
"""

EXAMPLES = r"""
- name: Verify that URL, token and project match
  equinix_metal.openshift.metal_project_info:

- name: List all projects
  equinix_metal.openshift.metal_project_info:
    all_projects: true
"""

RETURN = r"""
project:
  description: The project O(project_id), V(null) when projects are listed. With the fields of
    RV(equinix_metal.openshift.metal_project#module:project), and C(max_devices), the quota of devices by plan, as far as the API returns
    it.
  returned: success
  type: dict
contents:
  description: Objects in the project, a text for each. Empty for an empty project. Members, private blocks and public IPv6 blocks, which
    every project has, are not included.
  returned: O(with_contents=true), and O(project_id) is used
  type: list
  elements: str
  sample: [2 VLANs, 1 SSH key]
projects:
  description: The projects, by name. Each as RV(project).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.project import PROJECT_INFO_OPTIONS, find_projects


def main() -> None:
    with MetalModule(PROJECT_INFO_OPTIONS, reading=True) as module:
        module.report(find_projects(module.client, module.params))


if __name__ == "__main__":
    main()
