#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_device_info
short_description: List devices of the Metal API
version_added: 0.1.0
description:
  - Lists the devices of a project, all pages of it, narrowed by tags, host names, ids and states.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  tags:
    description:
      - Only devices with all of these tags.
    type: list
    elements: str
  hostnames:
    description:
      - Only devices with one of these host names, which are compared as a whole.
    type: list
    elements: str
    aliases:
      - hostname
  ids:
    description:
      - The devices with these ids, whatever project they are in. One that is not there is an error.
    type: list
    elements: str
    aliases:
      - device_ids
  states:
    description:
      - Only devices in one of these states, for example V(active).
    type: list
    elements: str
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
- name: Find the workers of a cluster
  equinix_metal.openshift.metal_device_info:
    tags:
      - openshift-cluster=demo.metal.test
      - openshift-role=worker
    states:
      - active
  register: workers

- name: Show their names
  ansible.builtin.debug:
    msg: "{{ workers.devices | map(attribute='hostname') }}"
"""

RETURN = r"""
devices:
  description: The devices, by host name. Empty when none matches.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The device's id.
      type: str
      sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    hostname:
      description: The device's host name.
      type: str
      sample: worker-0.demo.metal.test
    description:
      description: The free text.
      type: str
      sample: null
    state:
      description: The state the API gives, such as V(queued), V(provisioning), V(active), V(inactive), V(failed).
      type: str
      sample: active
    plan:
      description: Slug of the plan.
      type: str
      sample: c3.small.x86
    price_per_hour:
      description: Price of its plan per hour in US dollars, V(null) if the Metal API does not report it.
      type: float
      sample: 0.5
    metro:
      description: Code of the metro, lower case.
      type: str
      sample: da
    operating_system:
      description: Slug of the operating system.
      type: str
      sample: custom_ipxe
    tags:
      description: Tags, in the order the API gives them.
      type: list
      elements: str
      sample: [openshift-cluster=demo.metal.test, openshift-role=worker]
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    addresses:
      description: The device's own address of each kind, or null.
      type: dict
      contains:
        public_ipv4:
          description: Public IPv4 address.
          type: str
          sample: 203.0.113.5
        private_ipv4:
          description: Private IPv4 address.
          type: str
          sample: 10.70.1.3
        public_ipv6:
          description: Public IPv6 address.
          type: str
          sample: "2001:db8:1::3"
    ip_addresses:
      description: All addresses, with their network.
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
      description: Ports with name, MAC address, bond and virtual networks.
      type: list
      elements: dict
      sample:
        - id: 0b9c6b7e-3ba3-4b7e-8c5a-6c9f1f0e2d3c
          name: eth0
          type: NetworkPort
          mac: "3c:ec:ef:00:00:01"
          bonded: true
          bond: bond0
          network_type: null
          virtual_networks: []
    billing_cycle:
      description: How it is billed.
      type: str
      sample: hourly
    hardware_reservation_id:
      description: Id of the reserved hardware it runs on, or null.
      type: str
      sample: null
    project_id:
      description: Id of its project.
      type: str
      sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd
    ipxe_script_url:
      description: Address of the iPXE script.
      type: str
      sample: null
    always_pxe:
      description: Whether it boots over the network each time.
      type: bool
      sample: false
    locked:
      description: Whether the API refuses to delete it.
      type: bool
      sample: false
    termination_time:
      description: When the API deletes it by itself, or null.
      type: str
      sample: null
    spot_instance:
      description: Whether it is a spot market device.
      type: bool
      sample: false
    spot_price_max:
      description: Maximum price per hour of a spot market device, in USD. V(null) for others.
      type: float
      sample: null
    provisioning_started_at:
      description: When its last provisioning started, UTC, by its creation or a reinstallation. V(null) before that.
      type: str
      sample: "2026-11-21T07:10:20Z"
    provisioning_percentage:
      description: How much of the installation is done, in percent.
      type: float
      sample: 100.0
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import DEVICE_INFO_OPTIONS, find_devices


def main() -> None:
    with MetalModule(DEVICE_INFO_OPTIONS, reading=True, in_project=True, unless=("ids",)) as module:
        module.report(find_devices(module.client, module.params))


if __name__ == "__main__":
    main()
