# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_addresses
short_description: Node addresses of devices in the machine network of a cluster
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the addresses that the nodes on these devices use, by the machine network of the cluster. Devices without such an address are
    left out.
  - The addresses of a load balancer are its public ones in every machine network.
positional: network, families
options:
  _input:
    description:
      - Devices, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  network:
    description:
      - The machine network. V(layer3) and V(bond) use the public addresses of a device, V(private) the private ones.
        V(vlan) uses those in the VLAN of the cluster, which are tags of the devices.
    type: str
    choices: [layer3, bond, private, vlan]
    default: layer3
  families:
    description:
      - IP versions, in the order in which the addresses of a device are returned.
    type: list
    elements: int
    default: [4]
"""

EXAMPLES = r"""
- name: Print the IPv4 and IPv6 addresses of the nodes
  ansible.builtin.debug:
    msg: "{{ found.devices | equinix_metal.openshift.node_addresses('bond', [4, 6]) }}"
"""

RETURN = r"""
_value:
  description: The addresses, in the order of the devices.
  type: list
  elements: str
  sample: [192.0.2.10, "2001:db8::10"]
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_addresses import MACHINE_NETWORKS
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_addresses import node_addresses as addresses_of


def node_addresses(devices: Iterable[Mapping[str, Any]], network: str = "layer3", families: Sequence[int] = (4,)) -> list[str]:
    """Return the node addresses of all devices."""
    if network not in MACHINE_NETWORKS:
        raise AnsibleFilterError(f"node_addresses: network has to be one of {', '.join(MACHINE_NETWORKS)}, not {network}")
    return [address for device in devices for address in addresses_of(device, network, families)]


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"node_addresses": node_addresses}
