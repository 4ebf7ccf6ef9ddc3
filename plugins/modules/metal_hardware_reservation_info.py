#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_hardware_reservation_info
short_description: List reserved hardware
version_added: 0.1.0
description:
  - Lists the reserved hardware of a project with the devices on it.
options:
  ids:
    description: List only hardware with one of these reservation IDs.
    type: list
    elements: str
  plan:
    description: List only hardware of the plan with this slug.
    type: str
  metro:
    description: List only hardware in the metro with this code.
    type: str
  provisionable:
    description: List only hardware that can be used now (V(true)), or that cannot (V(false)).
    type: bool
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
"""

EXAMPLES = r"""
- name: List the reserved hardware in Dallas that can be used now
  equinix_metal.openshift.metal_hardware_reservation_info:
    metro: da
    provisionable: true
"""

RETURN = r"""
hardware_reservations:
  description: The hardware, by ID.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: ID of the reservation, for O(equinix_metal.openshift.metal_device#module:hardware_reservation_id).
      type: str
      sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    plan: {description: Slug of the plan., type: str, sample: c3.small.x86}
    metro: {description: Code of the metro., type: str, sample: da}
    device_id: {description: "ID of the device on the hardware, or V(null).", type: str}
    project_id: {description: ID of the project., type: str, sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd}
    provisionable:
      description: Whether a device can be created on it now. After a deletion this takes some time.
      type: bool
      sample: true
    spare: {description: Whether the hardware is a spare., type: bool, sample: false}
    need_of_service: {description: Whether the hardware is broken., type: bool, sample: false}
    termination_time: {description: "End of the reservation, UTC.", type: str}
    created_at: {description: "Start of the reservation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.hardware_reservation import HARDWARE_RESERVATION_INFO_OPTIONS, find_hardware_reservations


def main() -> None:
    with MetalModule(HARDWARE_RESERVATION_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_hardware_reservations(module.client, module.params))


if __name__ == "__main__":
    main()
