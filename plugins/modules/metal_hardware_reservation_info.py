#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_hardware_reservation_info
short_description: List reserved hardware of the Metal API
version_added: 0.1.0
description:
  - Lists the hardware that is a project's own, with the device that is on it.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  ids:
    description:
      - Only hardware with one of these ids.
    type: list
    elements: str
  plan:
    description:
      - Only hardware of this plan (its slug).
    type: str
  metro:
    description:
      - Only hardware in this metro (its code).
    type: str
  provisionable:
    description:
      - Only hardware that can be used now, or only hardware that cannot.
    type: bool
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
seealso:
  - module: equinix_metal.openshift.metal_device
"""

EXAMPLES = r"""
- name: Which hardware of one's own is free in Dallas?
  equinix_metal.openshift.metal_hardware_reservation_info:
    metro: da
    provisionable: true
  register: free
"""

RETURN = r"""
hardware_reservations:
  description: The hardware, by its ids.
  returned: success
  type: list
  elements: dict
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
    HARDWARE_RESERVATION_INFO_OPTIONS,
    find_hardware_reservations,
)


def main() -> None:
    with MetalModule(HARDWARE_RESERVATION_INFO_OPTIONS, reading=True, in_project=True) as module:
        module.report(find_hardware_reservations(module.client, module.params))


if __name__ == "__main__":
    main()
