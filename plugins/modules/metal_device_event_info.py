#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_device_event_info
short_description: List events of devices
version_added: 0.1.0
description:
  - Lists the events of a device, or of all devices of a project, from the API and from the machines themselves.
options:
  device_id:
    description: ID of the device.
    type: str
  hostname:
    description: Host name of the device, instead of O(device_id). It has to be unique in the project.
    type: str
  types:
    description: List only events of these types, for example V(provisioning.104.01), or V(user.0) for events from the machines.
    type: list
    elements: str
  since:
    description: List only events from this time on, for example V(2026-11-21T07:10:00Z). Without a time zone it is UTC.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
notes:
  - Without O(device_id) and O(hostname), the events of the whole project are listed.
seealso:
  - module: equinix_metal.openshift.metal_device_info
"""

EXAMPLES = r"""
- name: List the events of a device
  equinix_metal.openshift.metal_device_event_info:
    hostname: worker-0.demo.metal.test
"""

RETURN = r"""
events:
  description: The events, oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: ID of the event., type: str, sample: 0f4f21a3-3f37-4f1f-9d9d-1d2c3a7b6c55}
    type: {description: Type of the event., type: str, sample: provisioning.104}
    body: {description: Text of the event., type: str, sample: Device connected to DHCP system}
    state: {description: Severity of the event., type: str}
    ip: {description: "IP address of the client that caused the event, if known.", type: str}
    created_at: {description: "Time of the event, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    device_id:
      description: ID of the device, V(null) for an event of the project.
      type: str
      sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.machines.events import DEVICE_EVENT_OPTIONS, find_events


def main() -> None:
    with MetalModule(DEVICE_EVENT_OPTIONS, reading=True, in_project=True, unless=("device_id",)) as module:
        module.report(find_events(module.client, module.params))


if __name__ == "__main__":
    main()
