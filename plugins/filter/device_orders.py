# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: device_orders
short_description: Order bodies of devices, from the inventory's machines
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns O(equinix_metal.openshift.metal_device_set#module:machines) for machines of the inventory, with every option of a device that a
    machine has, and nothing else. The roles of the collection give a further argument, C(boot), which is private.
positional: options
options:
  _input:
    description: Machines, as P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    required: true
  options:
    description: [Options of all devices. They take precedence over a machine's own. An empty C(userdata) is left out.]
    type: dict
    default: {}
  role:
    description: Role of the devices in the cluster, added as a tag C(openshift-role).
    type: str
"""

EXAMPLES = r"""
- name: Print the order bodies of the workers
  ansible.builtin.debug:
    msg: "{{ workers | equinix_metal.openshift.device_orders({'operating_system': 'ubuntu_24_04'}, role='worker') }}"
"""

RETURN = r"""
_value:
  description: The order bodies, in the order of the machines.
  type: list
  elements: dict
  sample: [{hostname: worker-0.demo.metal.test, plan: c3.small.x86, metro: da, operating_system: ubuntu_24_04}]
"""

from collections.abc import Callable
from typing import Any

from ..plugin_utils.machines.orders import device_orders


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"device_orders": device_orders}
