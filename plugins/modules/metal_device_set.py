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
  - Brings a pool of devices to the desired state. They are ordered concurrently, and each poll is one list request for all of them.
  - Each device has a result of its own. A failed device does not stop the others, and the module fails at the end with the error of each.
  - Before the first order one request checks the capacity for all devices to create. Without it, nothing is ordered.
  - A failed device is reported at once, and replaced on request (O(replace_failed)). O(quorum) and O(placement) set how many devices are
    enough and which other places are allowed.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  # Attributes of one device: for all of the set, and again below for each machine.
  <<: &device
    plan:
      description:
        - Slug or id of the server plan, for example V(c3.small.x86).
        - Needed to create a device. A device keeps its plan, so another one is refused.
      type: str
    metro:
      description:
        - Code of the metro, for example V(da), or V(any). Use C(placement) for several, in order of preference.
        - Needed to create a device, unless O(hardware_reservation_id) is an id.
        - A device keeps its metro, so another one is refused.
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
  placement: &placement
    description:
      - Places to order devices in, in order of preference. An entry has a metro, a plan or both, by default O(metro) and O(plan). No other
        place is used.
      - One request checks the capacity of all alternatives before anything is ordered. Devices with the same list are ordered at the first
        alternative with capacity for all of them. When there is none, nothing is ordered.
      - When a place is sold out at the time of the order, the remaining devices are ordered at the next alternative, see RV(notes).
      - An existing device may be in any of these places.
    type: list
    elements: dict
    suboptions:
      metro:
        description:
          - Code of the metro.
        type: str
      plan:
        description:
          - Slug or id of the plan.
        type: str
  hostnames:
    description:
      - Host names of the devices, which have all other attributes in common.
      - This or O(machines) is needed, unless O(all_owned=true).
    type: list
    elements: str
    aliases:
      - hostname
      - name
  machines:
    description:
      - The devices, each by its host name, for different attributes. The options of the task are the defaults.
    type: list
    elements: dict
    suboptions:
      <<: *device
      hostname:
        description:
          - The device's host name. A device that does not exist is created.
        type: str
        required: true
      placement: *placement
  spread:
    description:
      - Spread the devices evenly over the metros of their O(placement), instead of using one place for all.
      - Each device is ordered in the metro with capacity that has the fewest devices of the pool, existing ones included. Of several such
        metros the first listed one is used, and within it the first alternative with capacity.
    type: bool
    default: false
  replace_failed:
    description:
      - Maximum number of failed devices to replace by others of the same name, for the whole set. The failed ones are deleted.
      - Devices that fail during the run and devices found failed both count, and so does an active device whose machine stopped in its
        installation or first boot, that is, whose newest event is one of the machine's own with the state V(failed), unless it is one of
        O(joined). Each replacement is printed, and listed in RV(notes).
    type: int
    default: 0
  joined:
    description:
      - Ids of devices whose machines are nodes of the cluster. Whatever runs on a node can report an event, so O(replace_failed) never
        replaces them for their events.
    type: list
    elements: str
    default: []
  quorum:
    description:
      - Number of devices that are enough. When it is reached, the module succeeds, warns of the others, and lists them in
        RV(failed_machines) and RV(missing_machines). The next run tries them again.
      - Without it all devices are needed.
    type: int
  quorum_wait:
    description:
      - Seconds to wait for the other devices once O(quorum) is reached.
    type: float
    default: 120
  ownership_tags:
    description:
      - Ownership tags, at least one. Created devices get them, and a device without all of them is never changed or deleted, even with one
        of the host names. With O(state=present) a device of one of the host names without them is an error.
    type: list
    elements: str
    required: true
  ids:
    description:
      - With O(state=absent), the ids of the devices to delete. They need all O(ownership_tags); one that does not exist is deleted already.
      - The id of a device is its identity, while every user with write access to the project can change its host name.
    type: list
    elements: str
    aliases:
      - device_ids
  all_owned:
    description:
      - With O(state=absent), delete every device of the project that has all O(ownership_tags).
    type: bool
    default: false
  on_drift:
    description:
      - What to do when immutable attributes of an existing device differ, such as its plan, metro or operating system.
      - V(fail) fails with all differences. V(ignore) reports them as a warning and changes nothing.
      - V(replace) deletes it and orders another of the same name, O(replace_at_once) at a time. It B(destroys) the data on its disks.
        Nothing is deleted without capacity for the replacement, and after a failed replacement the other devices are not changed.
    type: str
    choices:
      - fail
      - ignore
      - replace
    default: fail
  replace_at_once:
    description:
      - With O(on_drift=replace), number of devices to replace at the same time. The next one is deleted when a replacement is ready.
    type: int
    default: 1
  state:
    description:
      - Whether the devices exist.
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
seealso:
  - module: equinix_metal.openshift.metal_device
  - module: equinix_metal.openshift.metal_capacity_info
notes:
  - With O(operating_system=custom_ipxe) a device is C(active) as soon as its boot script was served, long before its system runs.
"""

EXAMPLES = r"""
- name: Create three servers and wait until all are active
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    hostnames: "{{ query('ansible.builtin.sequence', 'start=0 end=2 format=build-%d.example.com') }}"
    plan: c3.small.x86
    metro: da
    operating_system: ubuntu_24_04
    progress_interval: 30
  register: build

- name: Show their addresses
  ansible.builtin.debug:
    msg: "{{ build.devices | map(attribute='addresses.public_ipv4') }}"

- name: Create machines with different plans and metros
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=mixed
    operating_system: ubuntu_24_04
    metro: da
    machines:
      - {hostname: small.example.com, plan: c3.small.x86}
      - {hostname: large.example.com, plan: m3.large.x86}
      - {hostname: far.example.com, plan: c3.small.x86, metro: am}

- name: Create ten in the first place with capacity, replace up to two that fail, and accept nine
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=render
    hostnames: "{{ query('ansible.builtin.sequence', 'count=10 format=render-%02d.example.com') }}"
    operating_system: ubuntu_24_04
    placement:
      - {metro: da, plan: c3.small.x86}
      - {metro: da, plan: m3.small.x86}
      - {metro: ny, plan: c3.small.x86}
    replace_failed: 2
    quorum: 9

- name: Spread them evenly over three metros
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=edge
    hostnames: "{{ query('ansible.builtin.sequence', 'count=9 format=edge-%d.example.com') }}"
    plan: c3.small.x86
    operating_system: ubuntu_24_04
    placement:
      - metro: da
      - metro: am
      - metro: sg
    spread: true

- name: Replace all with another operating system, two at a time
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    hostnames: "{{ query('ansible.builtin.sequence', 'start=0 end=2 format=build-%d.example.com') }}"
    plan: c3.small.x86
    metro: da
    operating_system: debian_12
    on_drift: replace
    replace_at_once: 2

- name: Delete one of them
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    hostnames:
      - build-2.example.com
    state: absent

- name: Delete another one, whatever its host name is by now
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    ids:
      - 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    state: absent

- name: Delete all others
  equinix_metal.openshift.metal_device_set:
    ownership_tags:
      - pool=build
    all_owned: true
    state: absent
"""

RETURN = r"""
devices:
  description:
    - The devices' attributes without secrets, in the order of O(machines) or O(hostnames). With O(state=absent) the last state of deleted
      devices.
    - A device that could not be ordered is not in the list.
    - Not returned with an error, since Ansible prints the whole result. Use M(equinix_metal.openshift.metal_device_info) then.
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
outcomes:
  description:
    - Result of each device, by its host name. With an error only of those that failed.
    - C(action) is V(created), V(updated), V(replaced), V(deleted) or V(none), in check mode the predicted action.
    - C(status) is V(ready); V(failed) when the device's provisioning has failed; V(differs) when it exists in another state than desired;
      V(missing) when it was not ordered or is not ready yet; V(under_way) when it was not waited for; V(removed) when it is deleted.
      C(error) has the reason.
    - C(metro) and C(plan) are the chosen alternative.
    - C(replacements) has C(id) and C(reason) of each failed device that was replaced.
  returned: always
  type: dict
  sample:
    build-0.example.com:
      id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
      changed: true
      action: created
      status: ready
      metro: da
      plan: c3.small.x86
      replacements:
        - id: 0d1f3c7a-52a6-4f0e-9a3f-7f4a9c8e2b11
          reason: Device build-0.example.com (0d1f3c7a-52a6-4f0e-9a3f-7f4a9c8e2b11) has failed
      error: null
    build-1.example.com:
      id: null
      changed: false
      action: none
      status: missing
      metro: null
      plan: null
      replacements: []
      error: "Cannot create device build-1.example.com: the API returned 422: There aren't available servers in that metro"
failed_machines:
  description: Host names of the machines whose C(status) is V(failed).
  returned: always
  type: list
  elements: str
  sample: []
missing_machines:
  description: Host names of the machines whose C(status) is V(missing).
  returned: always
  type: list
  elements: str
  sample: [build-1.example.com]
notes:
  description: Deviations from the first choice and what was done about each, in chronological order.
  returned: always
  type: list
  elements: str
  sample:
    - "c3.small.x86 in da has no capacity for all devices: 3 ordered as m3.small.x86 in da"
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
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
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.set import (
    DEVICE_SET_OPTIONS,
    DeviceSet,
    failed_only,
)


def main() -> None:
    with MetalModule(DEVICE_SET_OPTIONS, in_project=True, shorten=failed_only) as module:
        module.converge_set(lambda: DeviceSet(module.client, module.params, module.warn))


if __name__ == "__main__":
    main()
