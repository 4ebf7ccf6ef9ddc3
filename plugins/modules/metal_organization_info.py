#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_organization_info
short_description: List organizations
version_added: 0.1.0
description:
  - Lists the organizations that the token can read, with their projects.
options:
  ids:
    description: List only organizations with one of these IDs.
    type: list
    elements: str
  names:
    description: List only organizations with one of these names.
    type: list
    elements: str
    aliases: [name]
  project_id:
    description: Accepted for C(module_defaults) and ignored.
    type: str
extends_documentation_fragment: [equinix_metal.openshift._attributes.info_module, equinix_metal.openshift._metal]
notes:
  - Requires the token of a user. The API refuses the token of a project.
seealso:
  - module: equinix_metal.openshift.metal_project
"""

EXAMPLES = r"""
- name: List the organizations
  equinix_metal.openshift.metal_organization_info:
"""

RETURN = r"""
organizations:
  description: The organizations, by name.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: ID of the organization., type: str, sample: 7f7ac2a8-9a7e-4c50-8c6c-4a5a1f7d7f50}
    name: {description: Name of the organization., type: str, sample: Example}
    description: {description: Description., type: str}
    website: {description: Website of the organization., type: str}
    twitter: {description: Twitter account of the organization., type: str}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    projects: {description: IDs of the projects., type: list, elements: str, sample: [2b70eb8f-fa18-47c0-aba7-222a842362fd]}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.project import ORGANIZATION_OPTIONS, organizations


def main() -> None:
    with MetalModule(ORGANIZATION_OPTIONS, reading=True) as module:
        module.report(organizations(module.client, module.params))


if __name__ == "__main__":
    main()
