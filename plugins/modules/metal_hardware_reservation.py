#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_hardware_reservation
short_description: Move reserved hardware to a project
version_added: 0.1.0
description:
  - Moves reserved hardware to another project.
  - Equinix Metal sells and cancels reserved hardware, the API can neither create nor delete it.
  - If a device is on the hardware, the module fails and reports the device.
options:
  id:
    description: ID of the hardware reservation. The token has to be able to read it.
    type: str
    required: true
  state:
    description: The API cannot delete reserved hardware, so V(present) is the only state.
    type: str
    choices: [present]
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_hardware_reservation_info
notes:
  - The hardware is moved to O(project_id), even if it is set in E(METAL_PROJECT_ID) or C(module_defaults).
  - With O(wait=true), the module waits for hardware whose last device is being deleted or whose disks are being wiped.
"""

EXAMPLES = r"""
- name: Move reserved hardware to the project for tests
  equinix_metal.openshift.metal_hardware_reservation:
    id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    project_id: 2b70eb8f-fa18-47c0-aba7-222a842362fd
"""

RETURN = r"""
hardware_reservation:
  description: The reserved hardware. In check mode the predicted one.
  returned: success
  type: dict
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
from ..module_utils.metal.hardware_reservation import HARDWARE_RESERVATION_OPTIONS, HardwareReservation


def main() -> None:
    with MetalModule(HARDWARE_RESERVATION_OPTIONS) as module:
        module.converge(lambda: HardwareReservation(module.client, module.params))


if __name__ == "__main__":
    main()
