#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_device_info
short_description: List devices
version_added: 0.1.0
description:
  - Lists the devices of a project, filtered by tags, host names, IDs and states.
options:
  tags:
    description: List only devices with all of these tags.
    type: list
    elements: str
  hostnames:
    description: List only devices with one of these host names, case-insensitive.
    type: list
    elements: str
    aliases: [hostname]
  ids:
    description: Return the devices with these IDs, in any project. Each has to exist.
    type: list
    elements: str
    aliases: [device_ids]
  states:
    description: List only devices in one of these states, for example V(active).
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
"""

EXAMPLES = r"""
- name: List the active workers of a cluster
  equinix_metal.openshift.metal_device_info:
    tags: [openshift-cluster=demo.metal.test, openshift-role=worker]
    states: [active]
"""

RETURN = r"""
devices:
  description: The devices, by host name. Each with the fields of RV(equinix_metal.openshift.metal_device#module:device).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.machines.device import DEVICE_INFO_OPTIONS, find_devices


def main() -> None:
    with MetalModule(DEVICE_INFO_OPTIONS, reading=True, in_project=True, unless=("ids",)) as module:
        module.report(find_devices(module.client, module.params))


if __name__ == "__main__":
    main()
