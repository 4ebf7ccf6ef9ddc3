#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_device_event_info
short_description: List events of devices of the Metal API
version_added: 0.1.0
description:
  - Lists the events of a device, or of all devices of a project, from the API and from the machines themselves.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  device_id:
    description:
      - The device's id.
    type: str
  hostname:
    description:
      - The device's hostname, instead of O(device_id). It must be one device's only.
    type: str
  types:
    description:
      - Only events of these types, for example V(provisioning.104.01), or V(user.0) for events from the machines.
    type: list
    elements: str
  since:
    description:
      - Only events from this time on, for example V(2026-11-21T07:10:00Z). Without a zone it is UTC.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
notes:
  - Without O(device_id) and O(hostname) the events of the whole project are listed.
seealso:
  - module: equinix_metal.openshift.metal_device_info
"""

EXAMPLES = r"""
- name: List the events of a device
  equinix_metal.openshift.metal_device_event_info:
    hostname: worker-0.demo.metal.test
  register: device_events

- name: List today's events from the project's machines
  equinix_metal.openshift.metal_device_event_info:
    types: [user.0]
    since: "2026-11-21"
"""

RETURN = r"""
events:
  description: The events, oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The event's id.
      type: str
      sample: 0f4f21a3-3f37-4f1f-9d9d-1d2c3a7b6c55
    type:
      description: Its type.
      type: str
      sample: provisioning.104
    body:
      description: Its text.
      type: str
      sample: Device connected to DHCP system
    state:
      description: Its severity.
      type: str
      sample: null
    ip:
      description: Address of the client that caused it, if known.
      type: str
      sample: null
    created_at:
      description: Time of the event, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    device_id:
      description: Id of its device. Null for an event of the project itself.
      type: str
      sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.events import DEVICE_EVENT_OPTIONS, find_events


def main() -> None:
    with MetalModule(DEVICE_EVENT_OPTIONS, reading=True, in_project=True, unless=("device_id",)) as module:
        module.report(find_events(module.client, module.params))


if __name__ == "__main__":
    main()
