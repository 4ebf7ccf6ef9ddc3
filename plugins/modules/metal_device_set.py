#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_device_set
short_description: Create, change and delete many devices of the Metal API as one
version_added: 0.1.0
description:
  - Brings a whole pool of devices to the wanted state. They are ordered side by side, and one list call for each look serves all of them.
  - Each device has a result of its own. One that goes wrong does not hold up the others, and the module fails at the end, naming every one
    that did.
  - Before the first order the service is asked once whether it has all the servers that are to be created. If not, nothing is ordered.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  machines:
    description:
      - The devices, each by its host name.
      - Needed with O(state=present), and with O(state=absent) unless O(all_owned=true).
    type: list
    elements: dict
    suboptions:
      hostname:
        description:
          - The device's host name. One that no device has is created.
        type: str
        required: true
      plan:
        description:
          - Slug or id of the server plan, for example V(c3.small.x86).
          - Needed to create a device. A device keeps its plan, so another one is refused.
        type: str
      metro:
        description:
          - Code of the metro, for example V(da), or V(any).
          - Needed to create a device, unless O(machines[].hardware_reservation_id) is an id.
          - A device stays in its metro, so another one is refused.
        type: str
      operating_system:
        description:
          - Slug or id of the operating system, for example V(ubuntu_24_04) or V(custom_ipxe).
          - Needed to create a device. An update cannot install another one, so that is refused.
        type: str
      userdata:
        description:
          - Text for the device's first boot, for example a cloud-config, an Ignition config, or a script.
          - Never shown. A diff shows its size and SHA-256.
        type: str
      ipxe_script_url:
        description:
          - Address of the iPXE script for the operating system V(custom_ipxe).
        type: str
      always_pxe:
        description:
          - Whether the device boots over the network each time, and not just the first.
        type: bool
      tags:
        description:
          - All tags of the device, beside the O(ownership_tags). Others are taken off. Order and repetition mean nothing.
        type: list
        elements: str
      customdata:
        description:
          - Data for the device's metadata. Not for secrets, since everyone in the project can read it. A diff shows its size and SHA-256.
        type: dict
      description:
        description:
          - A text for people.
        type: str
      billing_cycle:
        description:
          - How the device is billed.
        type: str
        choices:
          - hourly
          - daily
          - monthly
          - yearly
      locked:
        description:
          - Whether the service refuses to delete the device.
        type: bool
      network_frozen:
        description:
          - Whether the service refuses to convert the device's network type.
        type: bool
      project_ssh_keys:
        description:
          - Ids of the project's SSH keys for the device. Used at creation only.
          - Without any of the three options about keys the device gets all keys of the project and its members.
        type: list
        elements: str
      user_ssh_keys:
        description:
          - Ids of users whose SSH keys the device gets. Used at creation only.
        type: list
        elements: str
      no_ssh_keys:
        description:
          - Whether the device gets no SSH key at all. Used at creation only.
        type: bool
      hardware_reservation_id:
        description:
          - Id of the reserved hardware to use, or V(next-available).
          - Hardware whose last device is going, or that is being wiped, is waited for (with O(wait=true), up to O(wait_timeout)).
            When none that fits is being freed, the service's refusal is an error at once.
        type: str
      ip_addresses:
        description:
          - Addresses the device gets. Used at creation only.
          - Without it the device gets a public IPv4, a public IPv6 and a private IPv4 address.
          - One private IPv4 address has to be among them.
        type: list
        elements: dict
        suboptions:
          address_family:
            description:
              - V(4) for IPv4, V(6) for IPv6.
            type: int
            choices:
              - 4
              - 6
            required: true
          public:
            description:
              - Whether it is a public address.
            type: bool
            required: true
          cidr:
            description:
              - Prefix length of the block, V(28) to V(32) for IPv4, V(124) to V(127) for IPv6.
            type: int
          ip_reservations:
            description:
              - Ids of the IP reservations to take it from.
            type: list
            elements: str
      termination_time:
        description:
          - When the service deletes the device by itself, for example V(2027-01-31T18:00:00Z). Without a zone it is UTC.
          - Used at creation only, another one is refused.
        type: str
      power_state:
        description:
          - Whether the device is on or off. Without it, either is fine.
        type: str
        choices:
          - "on"
          - "off"
  ownership_tags:
    description:
      - Tags that say which devices are yours, at least one. They are put on created devices, and a device without all of them is never
        changed or deleted, however alike its name. With O(state=present) a device of a wanted host name without them is an error.
    type: list
    elements: str
    required: true
  all_owned:
    description:
      - With O(state=absent), delete every device of the project that has all O(ownership_tags).
    type: bool
    default: false
  on_drift:
    description:
      - What to do when a device is there and differs in what cannot be changed, such as its plan, metro or operating system.
      - V(fail) tells all differences as an error. V(ignore) tells them as a warning and leaves them.
    type: str
    choices:
      - fail
      - ignore
    default: fail
  state:
    description:
      - Whether it is to be there.
    type: str
    choices:
      - present
      - absent
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
  - equinix_metal.openshift._wait
  - equinix_metal.openshift._wait.resume
seealso:
  - module: equinix_metal.openshift.metal_device
  - module: equinix_metal.openshift.metal_capacity_info
notes:
  - With O(machines[].operating_system=custom_ipxe) a device is C(active) as soon as its boot script was handed out, long before anything
    runs on it.
"""

EXAMPLES = r"""
- name: Order three servers and wait until all of them run
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    machines:
      - {hostname: build-0.example.com, plan: c3.small.x86, metro: da, operating_system: ubuntu_24_04}
      - {hostname: build-1.example.com, plan: c3.small.x86, metro: da, operating_system: ubuntu_24_04}
      - {hostname: build-2.example.com, plan: c3.medium.x86, metro: am, operating_system: ubuntu_24_04}
    progress_interval: 30
  register: build

- name: Show their addresses
  ansible.builtin.debug:
    msg: "{{ build.devices | map(attribute='addresses.public_ipv4') }}"

- name: Delete one of them
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    machines:
      - hostname: build-2.example.com
    state: absent

- name: Delete all that are left
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    all_owned: true
    state: absent
"""

RETURN = r"""
devices:
  description:
    - What is public of the devices, in the order of O(machines). With O(state=absent) of those that were deleted, as last seen.
    - A machine that could not be ordered is missing.
  returned: always
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
      description: The text for people.
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
      description: Whether the service refuses to delete it.
      type: bool
      sample: false
    termination_time:
      description: When the service deletes it by itself, or null.
      type: str
      sample: null
    provisioning_percentage:
      description: How much of the installation is done, in percent.
      type: float
      sample: 100.0
outcomes:
  description: What became of each machine, by its host name.
  returned: always
  type: dict
  sample:
    build-0.example.com:
      id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
      changed: true
      action: created
      error: null
    build-1.example.com:
      id: null
      changed: false
      action: none
      error: "Could not create device build-1.example.com: the service answered 422: There aren't available servers in that metro"
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are told by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {tags: [a]}
    after: {tags: [a, b]}
    before_header: devices
    after_header: devices
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
waiting:
  description: What is still missing, when O(progress_interval) was over. The action plugin takes it away, so a playbook never sees it.
  returned: never in a playbook
  type: list
  elements: str
  sample: []
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_device_set import DEVICE_SET_OPTIONS, DeviceSet
from ansible_collections.equinix_metal.openshift.plugins.module_utils._module import MetalModule


def main() -> None:
    with MetalModule(DEVICE_SET_OPTIONS, in_project=True) as module:
        module.converge_set(DeviceSet(module.client, module.params, module.warn))


if __name__ == "__main__":
    main()
