#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_device_set
short_description: Create, change and delete a set of devices
version_added: 0.1.0
description:
  - Brings a set of devices to the desired state. They are created concurrently, and each poll is a single list request.
  - Each device has its own result. If a device fails, the module continues with the others, and fails at the end with the error of each.
  - Before the first order, a single request checks the capacity for all new devices. If there is not enough, nothing is ordered.
  - A failed device is reported at once, and replaced if O(replace_failed) is set. See O(quorum) for the number of devices that are enough,
    and O(placement) for alternative metros and plans.
options:
  hostnames:
    description:
      - Host names of the devices, if all other attributes are the same.
      - Either O(hostnames) or O(machines) is required, unless O(all_owned=true).
    type: list
    elements: str
    aliases: [hostname, name]
  spread:
    description:
      - Spread the devices evenly over the metros of O(placement), instead of using one alternative for all.
      - Each device is ordered in the metro with capacity that has the fewest devices of the set, existing ones included. If several have,
        the first one in the list is used.
    type: bool
    default: false
  replace_failed:
    description:
      - Maximum number of failed devices of the set to delete and replace by devices of the same name.
      - Devices that fail during the run, or have failed before, are replaced. So is an active device whose machine stopped during its
        installation or first boot, that is, if the newest event of the machine has the state V(failed), unless the device is one of
        O(joined). Each replacement is printed and returned in RV(notes).
    type: int
    default: 0
  joined:
    description: IDs of devices whose machines have joined their cluster. O(replace_failed) ignores the events of these machines, since any
      process on a node can report an event.
    type: list
    elements: str
    default: []
  quorum:
    description:
      - Number of devices that are enough. Once they are ready, the module succeeds, warns about the others, and returns them in
        RV(failed_machines) and RV(missing_machines). The next run tries them again.
      - By default all devices are required.
    type: int
  quorum_wait:
    description: Seconds to wait for the other devices once O(quorum) is reached.
    type: float
    default: 120
  ownership_tags:
    description: Ownership tags of the devices, at least one, which are added when a device is created. A device without all of them is
      never changed or deleted. With O(state=present) such a device with one of the host names is an error.
    type: list
    elements: str
    required: true
  ids:
    description:
      - With O(state=absent), IDs of the devices to delete. They require all O(ownership_tags). A device that does not exist counts as
        deleted.
      - Use IDs rather than host names, which every user with write access to the project can change.
    type: list
    elements: str
    aliases: [device_ids]
  all_owned:
    description: With O(state=absent), delete every device of the project that has all O(ownership_tags).
    type: bool
    default: false
  on_drift:
    description:
      - What to do if immutable attributes of an existing device differ, such as plan, metro or operating system.
      - V(fail) fails and reports all differences. V(ignore) reports them as a warning and changes nothing.
      - V(replace) deletes the device and creates another one of the same name, O(replace_at_once) at a time. This B(destroys) the data on
        its disks. Nothing is deleted without capacity for the replacement. After a failed replacement, the other devices are not changed.
    type: str
    choices: [fail, ignore, replace]
    default: fail
  replace_at_once:
    description: With O(on_drift=replace), number of devices to replace at the same time. The next device is deleted when a replacement is
      ready.
    type: int
    default: 1
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._device.machines
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_device
  - module: equinix_metal.openshift.metal_capacity_info
notes:
  - With O(operating_system=custom_ipxe) the API reports a device as C(active) when its boot script was served, long before its system runs.
"""

EXAMPLES = r"""
- name: Create three servers and wait until all are active
  equinix_metal.openshift.metal_device_set:
    ownership_tags: [pool=build]
    hostnames: "{{ query('ansible.builtin.sequence', 'start=0 end=2 format=build-%d.example.com') }}"
    plan: c3.small.x86
    metro: da
    operating_system: ubuntu_24_04
    progress_interval: 30
  register: build

- name: Create machines with different plans and metros
  equinix_metal.openshift.metal_device_set:
    ownership_tags: [pool=mixed]
    operating_system: ubuntu_24_04
    metro: da
    machines:
      - {hostname: small.example.com, plan: c3.small.x86}
      - {hostname: large.example.com, plan: m3.large.x86}
      - {hostname: far.example.com, plan: c3.small.x86, metro: am}

- name: Create ten devices at the first alternative with capacity, replace up to two failed ones, and accept nine
  equinix_metal.openshift.metal_device_set:
    ownership_tags: [pool=render]
    hostnames: "{{ query('ansible.builtin.sequence', 'count=10 format=render-%02d.example.com') }}"
    operating_system: ubuntu_24_04
    placement:
      - {metro: da, plan: c3.small.x86}
      - {metro: da, plan: m3.small.x86}
      - {metro: ny, plan: c3.small.x86}
    replace_failed: 2
    quorum: 9

- name: Replace all devices to change the operating system, two at a time
  equinix_metal.openshift.metal_device_set:
    ownership_tags: [pool=build]
    hostnames: "{{ query('ansible.builtin.sequence', 'start=0 end=2 format=build-%d.example.com') }}"
    plan: c3.small.x86
    metro: da
    operating_system: debian_12
    on_drift: replace
    replace_at_once: 2

- name: Delete all devices of the set
  equinix_metal.openshift.metal_device_set:
    ownership_tags: [pool=build]
    all_owned: true
    state: absent
"""

RETURN = r"""
devices:
  description:
    - The devices without secrets, in the order of O(machines) or O(hostnames). With O(state=absent) the last state of deleted devices. Each
      with the fields of RV(equinix_metal.openshift.metal_device#module:device).
    - Devices that could not be ordered are not returned.
    - Not returned on failure, since Ansible prints the whole result. Use M(equinix_metal.openshift.metal_device_info) then.
  returned: success
  type: list
  elements: dict
outcomes:
  description:
    - Result of each device by its host name. On failure only those that failed.
    - C(action) is V(created), V(updated), V(replaced), V(deleted) or V(none). In check mode the predicted action.
    - C(status) is V(ready); V(failed) if the provisioning failed; V(differs) if the device is not in the desired state; V(missing) if it
      was not ordered or is not ready yet; V(under_way) if the module did not wait for it; V(removed) if it is deleted. C(error) returns the
      reason.
    - C(metro) and C(plan) are the chosen alternative.
    - C(replacements) has C(id) and C(reason) of each replaced device.
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
        - {id: 0d1f3c7a-52a6-4f0e-9a3f-7f4a9c8e2b11, reason: Device build-0.example.com (0d1f3c7a-52a6-4f0e-9a3f-7f4a9c8e2b11) has failed}
      error: null
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
  description: Deviations from the first choice with what was done, in chronological order.
  returned: always
  type: list
  elements: str
  sample: ["c3.small.x86 in da has no capacity for all devices: 3 ordered as m3.small.x86 in da"]
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.machines.set import DEVICE_SET_OPTIONS, DeviceSet, failed_only


def main() -> None:
    with MetalModule(DEVICE_SET_OPTIONS, in_project=True, shorten=failed_only) as module:
        module.converge_set(lambda: DeviceSet(module.client, module.params, module.warn))


if __name__ == "__main__":
    main()
