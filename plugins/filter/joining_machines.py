# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: joining_machines
short_description: Select the devices that may join a cluster
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns devices in the format of O(equinix_metal.openshift.csr_approval#module:machines).
  - A device that is being deleted is left out when another device has its host name.
positional: hostnames, machines
options:
  _input:
    description: Devices, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  hostnames:
    description: Full names of the machines that may join; others are left out. Unset, all devices are returned.
    type: list
    elements: str
  machines:
    description: Machines of the inventory, from the filter P(equinix_metal.openshift.machines#filter). Their labels that a kubelet may not
      set itself, such as that of a MachineConfigPool, are returned too.
    type: list
    elements: dict
    default: []
seealso:
  - module: equinix_metal.openshift.csr_approval
"""

EXAMPLES = r"""
- name: Print which CSRs of existing devices of the inventory would be approved
  equinix_metal.openshift.csr_approval:
    kubeconfig: clusters/demo/ignition/auth/kubeconfig
    machines: "{{ found.devices | equinix_metal.openshift.joining_machines(hostnames) }}"
  check_mode: true
"""

RETURN = r"""
_value:
  description: The machines, in the order of the devices.
  type: list
  elements: dict
  contains:
    name: {description: "Full name, which is the name of the node.", type: str, sample: worker-0.demo.metal.test}
    id: {description: ID of the device., type: str, sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11}
    addresses:
      description: All addresses of the device, also that in the VLAN of the cluster.
      type: list
      elements: str
      sample: [203.0.113.10, 10.64.0.10]
    created_at: {description: Start of the last installation or reinstallation of the device., type: str, sample: "2026-08-22T12:00:00Z"}
    labels:
      description: Labels that the Node gets as soon as it exists.
      returned: when the machine has any
      type: dict
      sample: {node-role.kubernetes.io/storage: ""}
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.cluster.devices import joining_machines as machines_of
from ..plugin_utils.boot.pointer import labels_of_administrators


def joining_machines(
    devices: Iterable[Mapping[str, Any]], hostnames: Collection[str] | None = None, machines: Iterable[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return ``machines`` of ``csr_approval`` for devices as ``metal_device_info`` returns them."""
    try:
        return machines_of(devices, hostnames, {machine["hostname"]: labels_of_administrators(machine) for machine in machines})
    except (KeyError, TypeError, AttributeError) as problem:
        raise AnsibleFilterError(
            f"joining_machines: the input has to be devices as metal_device_info returns them: {problem!r}"
        ) from problem


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"joining_machines": joining_machines}
