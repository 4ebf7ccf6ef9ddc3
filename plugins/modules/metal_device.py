#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_device
short_description: Create, change and delete a device
version_added: 0.1.0
description:
  - Creates a device and waits until it is active, changes its attributes, switches it on and off, or deletes it and waits until it is gone.
  - A device is found by O(id), or by O(hostname) and all O(ownership_tags).
  - Attributes whose options are not set are not changed. If an attribute cannot be changed, the module fails and reports what to do
    instead. The module fails at once if the device is in the state C(failed).
options:
  hostname:
    description:
      - Host name of the device, case-insensitive. If no such device exists, it is created.
      - With O(id), the device is renamed to it.
    type: str
    aliases: [name]
  id:
    description:
      - ID of the device. It has to exist.
      - The device may be in any project. A device cannot be moved, so the module fails if O(project_id) of the task is another project. A
        project from the environment is ignored.
    type: str
    aliases: [device_id]
  ownership_tags:
    description: Ownership tags of the device, which are added when it is created. A device without all of them is never changed or deleted.
      With O(state=present) such a device of the same host name is an error.
    type: list
    elements: str
  metro:
    description:
      - Code of the metro, for example V(da), or V(any). Of several, in order of preference, the API uses the first one with capacity.
      - Required to create a device, unless O(hardware_reservation_id) is an ID.
      - The metro of a device cannot be changed.
    type: list
    elements: str
  operating_system:
    description:
      - Slug or ID of the operating system, for example V(ubuntu_24_04) or V(custom_ipxe).
      - Required to create a device. Changing it requires O(operation=reinstall).
    type: str
  operation:
    description:
      - Operation to perform once, after all other changes of the task. Requires O(operation_id).
      - V(reboot) switches the device off and on. V(rescue) boots a rescue system in memory until the next reboot, and does not change the
        disks. V(reinstall) installs O(operating_system), by default the current one, and keeps hardware and addresses.
      - With O(wait=true), the module waits until the device is C(active) again.
      - An operation is requested only once for each O(operation_id), even if a run was killed or a response was lost. An accepted operation
        is recorded in the tag C(ansible-operation=<operation>:<operation_id>). Before the request, the newest event of the device is
        recorded in the tag C(ansible-operation-requested=...). A run that finds this tag repeats the request only if no newer event shows
        the operation, and fails if the recorded event is no longer listed.
      - A reboot and a rescue have the same events. If another client reboots the device between a killed run and the next one, this counts
        as the requested operation.
      - For a device that the task creates, V(reboot) and V(reinstall) count as performed, and V(rescue) is an error.
    type: str
    choices: [reboot, rescue, reinstall]
  operation_id:
    description:
      - Name of the request, such as a date, a version, or a ticket number. Another name requests the operation again.
      - It has 1 to 100 characters without blanks and commas.
    type: str
  deprovision_fast:
    description: With O(operation=reinstall), do not wipe the disks.
    type: bool
  preserve_data:
    description: With O(operation=reinstall), keep the data of all disks except the one of the operating system.
    type: bool
  force_delete:
    description:
      - With O(state=absent), delete the device even if a storage volume is attached. The volume is detached.
      - A locked device, or one that is being provisioned, is not deleted. Unlock it first with O(locked=false).
    type: bool
    default: false
  on_drift:
    description:
      - What to do if immutable attributes of an existing device differ, such as plan, metro, project or operating system.
      - V(fail) fails and reports all differences. V(ignore) reports them as a warning and changes nothing.
      - V(replace) checks the capacity, deletes the device with all its data, and creates another one. A locked device and one that was
        selected by O(id) are not replaced.
    type: str
    choices: [fail, ignore, replace]
    default: fail
  wait_timeout:
    aliases: [provisioning_wait_seconds]
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._device
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_device_set
  - module: equinix_metal.openshift.metal_device_info
notes:
  - With O(operating_system=custom_ipxe) the API reports a device as C(active) when its boot script was served, long before its system runs.
  - If two devices have the host name, the module fails and reports both IDs.
"""

EXAMPLES = r"""
- name: Create a device and wait until it is active
  equinix_metal.openshift.metal_device:
    hostname: jump.example.com
    plan: c3.small.x86
    metro: da
    operating_system: ubuntu_24_04
    ownership_tags: [team=network]
  register: jump

- name: Reboot the device once into its new kernel
  equinix_metal.openshift.metal_device:
    hostname: jump.example.com
    operation: reboot
    operation_id: kernel-6.12.9

- name: Reinstall the device with another host name
  equinix_metal.openshift.metal_device:
    id: "{{ jump.device.id }}"
    hostname: build-0.example.com
    ownership_tags: [team=network]
    tags: [role=build]
    userdata: "{{ lookup('ansible.builtin.file', 'build.cloud-config') }}"
    operating_system: ubuntu_24_04
    operation: reinstall
    operation_id: becomes-build-0
    deprovision_fast: true

- name: Delete the device by its ID and wait until it is gone
  equinix_metal.openshift.metal_device:
    id: "{{ jump.device.id }}"
    state: absent
    wait_timeout: 900
"""

RETURN = r"""
device:
  description: The device without secrets. In check mode the predicted one.
  returned: state is present
  type: dict
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
      description: All addresses, each with C(address), C(address_family), C(public), C(management), C(cidr), C(network), C(netmask) and
        C(gateway).
      type: list
      elements: dict
    network_ports:
      description: Ports, each with C(id), C(name), C(type), C(mac), C(bonded), the name of its C(bond), C(network_type), and the IDs of its
        C(virtual_networks).
      type: list
      elements: dict
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
"""

from ..module_utils.base.argspec import STATE_OPTIONS, WAIT_OPTIONS, Options, identifier
from ..module_utils.frame.metal import MetalModule
from ..module_utils.machines.device import DEVICE_OPTIONS, Device
from ..module_utils.machines.operation import OPERATION_OPTIONS

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
).merge(OF_ONE, OPERATION_OPTIONS, STATE_OPTIONS, WAIT_OPTIONS.also_known_as(wait_timeout=["provisioning_wait_seconds"]))


def main() -> None:
    with MetalModule(OPTIONS, in_project=True) as module:
        module.converge(lambda: Device(module.client, module.params, module.warn, project_given=module.is_given("project_id")))


if __name__ == "__main__":
    main()
