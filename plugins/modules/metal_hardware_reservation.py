#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_hardware_reservation
short_description: Move reserved hardware to a project
version_added: 0.1.0
description:
  - Moves reserved hardware to another project.
  - Hardware is ordered and cancelled at the vendor. The API can neither create nor delete it, so there is no V(absent) state.
  - Hardware with a device on it is not moved. The error says which device it is.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The reservation's id. One that the token cannot see is an error.
    type: str
    required: true
  state:
    description:
      - Reserved hardware is always there, so there is no other state.
    type: str
    choices:
      - present
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_hardware_reservation_info
notes:
  - O(project_id) is the project it is to be in, also when it comes from E(METAL_PROJECT_ID) or C(module_defaults).
  - Hardware that is being freed, since its last device is going or it is being wiped, is waited for, with O(wait=true).
"""

EXAMPLES = r"""
- name: Move reserved hardware to the project for tests
  equinix_metal.openshift.metal_hardware_reservation:
    id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    project_id: 2b70eb8f-fa18-47c0-aba7-222a842362fd
"""

RETURN = r"""
hardware_reservation:
  description: The reserved hardware. In check mode what it will be.
  returned: success
  type: dict
  contains:
    id:
      description: Its id, for O(equinix_metal.openshift.metal_device#module:hardware_reservation_id).
      type: str
      sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    plan:
      description: Slug of its plan.
      type: str
      sample: c3.small.x86
    metro:
      description: Code of its metro.
      type: str
      sample: da
    device_id:
      description: Id of the device on it, or null.
      type: str
      sample: null
    project_id:
      description: Id of its project.
      type: str
      sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd
    provisionable:
      description: Whether a device can be put on it now. After a device is gone this takes a while.
      type: bool
      sample: true
    spare:
      description: Whether it is a spare one.
      type: bool
      sample: false
    need_of_service:
      description: Whether it is broken.
      type: bool
      sample: false
    termination_time:
      description: End of the reservation, UTC.
      type: str
      sample: null
    created_at:
      description: Since when it is one's own, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
diff:
  description: The project, as it was and as it is now.
  returned: always
  type: dict
  sample:
    before: {project_id: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10}
    after: {project_id: 2b70eb8f-fa18-47c0-aba7-222a842362fd}
    before_header: hardware reservation 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    after_header: hardware reservation 5f1d3910-2059-4737-8e7d-d4907cfbf27f
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.hardware_reservation import (
    HARDWARE_RESERVATION_OPTIONS,
    HardwareReservation,
)


def main() -> None:
    with MetalModule(HARDWARE_RESERVATION_OPTIONS) as module:
        module.converge(lambda: HardwareReservation(module.client, module.params))


if __name__ == "__main__":
    main()
