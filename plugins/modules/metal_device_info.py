#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_device_info
short_description: List devices
version_added: 0.1.0
description:
  - Lists the devices of a project, filtered by tags, host names, IDs and states.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
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
  - equinix_metal.openshift._metal.project
seealso:
  - module: equinix_metal.openshift.metal_device
"""

EXAMPLES = r"""
- name: List the active workers of a cluster
  equinix_metal.openshift.metal_device_info:
    tags: [openshift-cluster=demo.metal.test, openshift-role=worker]
    states: [active]
  register: workers
"""

RETURN = r"""
devices:
  description: The devices, by host name.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: ID of the device., type: str, sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11}
    hostname: {description: Host name of the device., type: str, sample: worker-0.demo.metal.test}
    description: {description: Description., type: str}
    state:
      description: State of the device, such as V(queued), V(provisioning), V(active), V(inactive) or V(failed).
      type: str
      sample: active
    plan: {description: Slug of the plan., type: str, sample: c3.small.x86}
    price_per_hour: {description: "Price per hour of the plan in USD, V(null) if the API does not return it.", type: float, sample: 0.5}
    metro: {description: "Code of the metro, lower case.", type: str, sample: da}
    operating_system: {description: Slug of the operating system., type: str, sample: custom_ipxe}
    tags:
      description: Tags in the order of the API.
      type: list
      elements: str
      sample: [openshift-cluster=demo.metal.test, openshift-role=worker]
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    addresses:
      description: Address of the device of each kind, or V(null).
      type: dict
      contains:
        public_ipv4: {description: Public IPv4 address., type: str, sample: 203.0.113.5}
        private_ipv4: {description: Private IPv4 address., type: str, sample: 10.70.1.3}
        public_ipv6: {description: Public IPv6 address., type: str, sample: 2001:db8:1::3}
    ip_addresses:
      description: All addresses with their networks.
      type: list
      elements: dict
      sample:
        - address: 203.0.113.5
          address_family: 4
          public: true
          management: true
          cidr: 31
          network: 203.0.113.4
          netmask: 255.255.255.254
          gateway: 203.0.113.4
    network_ports:
      description: Ports with name, MAC address, bond and VLANs.
      type: list
      elements: dict
      sample:
        - id: 0b9c6b7e-3ba3-4b7e-8c5a-6c9f1f0e2d3c
          name: eth0
          type: NetworkPort
          mac: 3c:ec:ef:00:00:01
          bonded: true
          bond: bond0
          network_type: null
          virtual_networks: []
    billing_cycle: {description: Billing cycle., type: str, sample: hourly}
    hardware_reservation_id: {description: "ID of the reserved hardware of the device, or V(null).", type: str}
    project_id: {description: ID of the project., type: str, sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd}
    ipxe_script_url: {description: URL of the iPXE script., type: str}
    always_pxe: {description: Whether the device boots over the network every time., type: bool, sample: false}
    locked: {description: Whether the API refuses to delete the device., type: bool, sample: false}
    termination_time: {description: "Time at which the API deletes the device, or V(null).", type: str}
    spot_instance: {description: Whether the device is a spot market device., type: bool, sample: false}
    spot_price_max: {description: "Maximum price per hour of a spot market device in USD, V(null) for others.", type: float}
    provisioning_started_at:
      description: Start of the last provisioning or reinstallation, UTC. V(null) before the first one.
      type: str
      sample: "2026-11-21T07:10:20Z"
    provisioning_percentage: {description: Progress of the installation in percent., type: float, sample: 100.0}
failure:
  description: Details of the error for programs. The keys depend on its type.
  returned: failed
  type: dict
  sample: {type: ValidationError, method: POST, path: devices, status: 422, errors: [no capacity], request_id: 1f4c1e6a0b6d4c0b}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.machines.device import DEVICE_INFO_OPTIONS, find_devices


def main() -> None:
    with MetalModule(DEVICE_INFO_OPTIONS, reading=True, in_project=True, unless=("ids",)) as module:
        module.report(find_devices(module.client, module.params))


if __name__ == "__main__":
    main()
