#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_device
short_description: Create, change and delete a device of the Metal API
version_added: 0.1.0
description:
  - Creates a device and waits until it is active, changes what can be changed, switches it on and off, deletes it and waits until it is
    gone.
  - A device is found by its O(id), or by its O(hostname) together with all O(ownership_tags).
  - An option that is not given leaves its attribute alone, and what cannot be changed is refused with a remedy. A device in the state
    C(failed) is an error at once.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  hostname:
    description:
      - The device's host name. A device that does not exist is created.
      - With O(id) the device is renamed to it.
    type: str
    aliases:
      - name
  id:
    description:
      - The device's id. One that does not exist is an error, not a reason to create.
      - It is found in any project. A device keeps its project, so another O(project_id) in the task is refused. A project of the
        environment is ignored.
    type: str
    aliases:
      - device_id
  ownership_tags:
    description:
      - Ownership tags. A created device gets them, and a device without all of them is never changed or deleted, even with this host name.
        With O(state=present) a device of this host name without them is an error.
    type: list
    elements: str
  plan:
    description:
      - Slug or id of the server plan, for example V(c3.small.x86).
      - Needed to create a device. A device keeps its plan, so another one is refused.
    type: str
  metro:
    description:
      - Code of the metro, for example V(da), or V(any). Several are in order of preference. The API takes the first one with capacity.
      - Needed to create a device, unless O(hardware_reservation_id) is an id.
      - A device keeps its metro, so one in another metro is refused.
    type: list
    elements: str
  operating_system:
    description:
      - Slug or id of the operating system, for example V(ubuntu_24_04) or V(custom_ipxe).
      - Needed to create a device. An update cannot install another one, so that is refused, but O(operation=reinstall) can.
    type: str
  userdata:
    description:
      - Text for the device's first boot, for example a cloud-config, an Ignition config, or a script.
      - Never shown. A diff shows its size and SHA-256.
    type: str
    aliases:
      - user_data
  ipxe_script_url:
    description:
      - Address of the iPXE script for the operating system V(custom_ipxe).
    type: str
  always_pxe:
    description:
      - Whether the device boots over the network every time, and not only the first.
    type: bool
  tags:
    description:
      - All tags of the device, besides the O(ownership_tags). Other tags are removed. Order and repetition are ignored.
      - Tags that begin with C(ansible-operation) are kept. They record which operations were accepted.
    type: list
    elements: str
  customdata:
    description:
      - Data for the device's metadata. Not for secrets, since everyone in the project can read it. A diff shows its size and SHA-256.
    type: dict
  description:
    description:
      - A free text.
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
      - Whether the API refuses to delete the device.
    type: bool
    aliases:
      - lock
  network_frozen:
    description:
      - Whether the API refuses to convert the device's network type.
    type: bool
  project_ssh_keys:
    description:
      - Ids of the project's SSH keys for the device. Used at creation only.
      - Without any of the options about keys the device gets all keys of the project and its members.
    type: list
    elements: str
  user_ssh_keys:
    description:
      - Ids of users whose SSH keys the device gets. Used at creation only.
    type: list
    elements: str
  ssh_keys:
    description:
      - More SSH keys for the device. A key that the project does not have is added to the project. Used at creation only.
    type: list
    elements: dict
    suboptions:
      label:
        description:
          - Name of the key.
        type: str
        required: true
      key:
        description:
          - The public key, as in an C(authorized_keys) file.
        type: str
        required: true
  no_ssh_keys:
    description:
      - Whether the device gets no SSH key at all. Used at creation only.
    type: bool
  features:
    description:
      - Features of the server, a list of names such as C(tpm), or a dictionary of names with the values V(required) or V(preferred).
      - Used at creation only.
    type: raw
  storage:
    description:
      - Layout of its disks, with C(disks), C(raid) and C(filesystems) as the API writes them. For reserved hardware.
      - Used at creation only.
    type: dict
  spot_instance:
    description:
      - Whether it is a spot market device, which Equinix Metal deletes when other bids are higher.
      - V(false) converts a spot market device to an on-demand device. The opposite is refused.
    type: bool
  spot_price_max:
    description:
      - Maximum price per hour of a spot market device, in USD.
      - Needed with O(spot_instance=true). Used at creation only, another one is refused.
    type: float
  public_ipv4_subnet_size:
    description:
      - Prefix length of the public IPv4 network, an older form. Use O(ip_addresses) instead. Used at creation only.
    type: int
  private_ipv4_subnet_size:
    description:
      - Prefix length of the private IPv4 network, an older form. Use O(ip_addresses) instead. Used at creation only.
    type: int
  hardware_reservation_id:
    description:
      - Id of the reserved hardware to use, or V(next-available). Empty for none.
      - Hardware whose last device is being deleted or that is being wiped is waited for (with O(wait=true), up to O(wait_timeout)).
        When no matching hardware is being freed, the refusal is an error at once.
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
      - Time at which the API deletes the device, for example V(2027-01-31T18:00:00Z). Without a zone it is UTC. Empty for never.
      - It can be changed before that time. The vendor does not document the change, so it is an error if the API ignores it.
    type: str
  power_state:
    description:
      - Whether the device is on or off. Without this option the power state is ignored.
    type: str
    choices:
      - "on"
      - "off"
  operation:
    description:
      - An operation to carry out once, after all other changes of the task. It needs an O(operation_id).
      - V(reboot) switches the device off and on. V(rescue) boots a small system in its memory, its disks stay as they are, and a reboot
        ends it. V(reinstall) installs O(operating_system) again, by default the current one, and keeps hardware and addresses.
      - With O(wait=true) the module waits until the device is C(active) again.
      - The same operation with the same O(operation_id) is requested once, however often the task runs, also when a run was killed or the
        API's answer was lost. When it was accepted, the device gets the tag C(ansible-operation=<operation>:<operation_id>). Before the
        request it gets the tag C(ansible-operation-requested=...) with its newest event. A run that finds that tag reads newer events, and
        repeats the request only if they do not show the operation. It fails if that event is no longer listed.
      - A reboot and a rescue have the same events. If another client reboots the device between a run that was killed and the next one,
        that counts as the requested operation.
      - For a device that the same task creates, V(reboot) and V(reinstall) count as carried out, and V(rescue) is refused.
    type: str
    choices:
      - reboot
      - rescue
      - reinstall
  operation_id:
    description:
      - Name of this request, such as a date, a version, or the number of a ticket. Another name is another request.
      - 1 to 100 characters, no blanks and no commas.
    type: str
  deprovision_fast:
    description:
      - With O(operation=reinstall), do not wipe all disks first.
    type: bool
  preserve_data:
    description:
      - With O(operation=reinstall), keep what is on all disks but that of the operating system.
    type: bool
  force_delete:
    description:
      - With O(state=absent), delete the device even if a storage volume is attached to it. The volume is detached.
      - It does not delete a locked device, nor one that is still being provisioned.
    type: bool
    default: false
  on_drift:
    description:
      - What to do when immutable attributes of an existing device differ, such as its plan, metro, project or operating system.
      - V(fail) fails with all differences. V(ignore) reports them as a warning and changes nothing.
      - V(replace) deletes the device with all its data and orders another one, after a capacity check. A locked device and one that is
        given by its O(id) are not replaced.
    type: str
    choices:
      - fail
      - ignore
      - replace
    default: fail
  state:
    description:
      - Whether the device exists.
    type: str
    choices:
      - present
      - absent
    default: present
  wait_timeout:
    aliases:
      - provisioning_wait_seconds
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_device_set
  - module: equinix_metal.openshift.metal_device_info
notes:
  - With O(operating_system=custom_ipxe) a device is C(active) as soon as its boot script was served, long before its system runs.
  - Two devices with the same host name are an error with both ids.
  - States of older modules have other options. C(active) is O(power_state=on), C(inactive) is O(power_state=off), and C(rebooted),
    which rebooted at every run, is O(operation=reboot) with an O(operation_id).
  - Several devices in one task (C(hostnames), C(device_ids), C(count)) are M(equinix_metal.openshift.metal_device_set).
  - Where older modules take a C(facility), give the O(metro) that it is in.
  - A locked device is not deleted, not even with O(force_delete=true). Unlock it first (O(locked=false)).
"""

EXAMPLES = r"""
- name: Order a server and wait until it runs
  equinix_metal.openshift.metal_device:
    hostname: jump.example.com
    plan: c3.small.x86
    metro: da
    operating_system: ubuntu_24_04
    ownership_tags:
      - team=network
  register: jump

- name: Show its address
  ansible.builtin.debug:
    var: jump.device.addresses.public_ipv4

- name: Switch it off
  equinix_metal.openshift.metal_device:
    hostname: jump.example.com
    power_state: "off"

- name: Reboot it into its new kernel, once
  equinix_metal.openshift.metal_device:
    hostname: jump.example.com
    operation: reboot
    operation_id: kernel-6.12.9

- name: Reinstall it in place with another role
  equinix_metal.openshift.metal_device:
    id: "{{ jump.device.id }}"
    hostname: build-0.example.com
    ownership_tags:
      - team=network
    tags:
      - role=build
    userdata: "{{ lookup('ansible.builtin.file', 'build.cloud-config') }}"
    operating_system: ubuntu_24_04
    operation: reinstall
    operation_id: becomes-build-0
    deprovision_fast: true

- name: Delete it by its id and wait until it is gone
  equinix_metal.openshift.metal_device:
    id: "{{ jump.device.id }}"
    state: absent
    wait_timeout: 900
"""

RETURN = r"""
device:
  description: The device's attributes without secrets. In check mode the predicted ones.
  returned: state is present
  type: dict
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
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {tags: [a]}
    after: {tags: [a, b]}
    before_header: device worker-0.demo.metal.test
    after_header: device worker-0.demo.metal.test
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

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import (
    STATE_OPTIONS,
    WAIT_OPTIONS,
    Options,
    identifier,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import DEVICE_OPTIONS, Device
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.operation import OPERATION_OPTIONS

WAITS = Options(
    {
        **WAIT_OPTIONS.argument_spec,
        "wait_timeout": {**WAIT_OPTIONS.argument_spec["wait_timeout"], "aliases": ["provisioning_wait_seconds"]},
    }
)
# One device may be in any of several metros. The machines of a set have ``placement`` for that.
OF_ONE = Options({**DEVICE_OPTIONS.argument_spec, "metro": {"type": "list", "elements": "str"}})
OPTIONS = Options(
    {
        "hostname": {"type": "str", "aliases": ["name"]},
        "id": identifier(aliases=["device_id"]),
        "ownership_tags": {"type": "list", "elements": "str"},
        "on_drift": {"type": "str", "choices": ["fail", "ignore", "replace"], "default": "fail"},
        "force_delete": {"type": "bool", "default": False},
    },
    required_one_of=[["hostname", "id"]],
).merge(OF_ONE, OPERATION_OPTIONS, STATE_OPTIONS, WAITS)


def main() -> None:
    with MetalModule(OPTIONS, in_project=True) as module:
        module.converge(lambda: Device(module.client, module.params, module.warn, project_given=module.is_given("project_id")))


if __name__ == "__main__":
    main()
