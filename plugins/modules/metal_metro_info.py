#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_metro_info
short_description: List metros
version_added: 0.1.0
description:
  - Lists the metros in which devices can be ordered.
options:
  codes:
    description: List only metros with one of these codes.
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
notes:
  - O(project_id) is accepted for C(module_defaults) and ignored, since the result is the same for all projects.
"""

EXAMPLES = r"""
- name: List the metros
  equinix_metal.openshift.metal_metro_info:
"""

RETURN = r"""
metros:
  description: The metros, by code.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: ID of the metro., type: str, sample: d3d6b29f-042d-43b7-b3ce-0bf53d5754ca}
    code: {description: "Code of the metro, lower case.", type: str, sample: da}
    name: {description: City of the metro., type: str, sample: Dallas}
    country: {description: Code of the country., type: str, sample: US}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.catalogue import METRO_OPTIONS, metros


def main() -> None:
    with MetalModule(METRO_OPTIONS, reading=True) as module:
        module.report(metros(module.client, module.params))


if __name__ == "__main__":
    main()
