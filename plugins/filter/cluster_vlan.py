# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_vlan
short_description: The VLAN of a cluster, with its subnet and its default gateway
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the VLAN that the machines of a cluster are put into. Its subnet is that of the Metal gateway in it, if the cluster uses one.
positional: gateways
options:
  _input:
    description:
      - The VLAN, as M(equinix_metal.openshift.metal_vlan_info) returns it. Without one the result is empty.
    type: list
    elements: dict
    required: true
  gateways:
    description:
      - The Metal gateways of the VLAN, as M(equinix_metal.openshift.metal_gateway_info) returns them.
    type: list
    elements: dict
    required: true
  mode:
    description:
      - C(openshift_vlan_mode). Only machines in V(layer2) get a default gateway in the VLAN.
    type: str
    choices: [hybrid, layer2]
    required: true
  gateway:
    description:
      - C(openshift_vlan_gateway), V(none), V(private), V(public), the id of a Metal gateway, or the address of a router.
    type: str
    required: true
  subnet:
    description:
      - C(openshift_vlan_subnet), the subnet without a Metal gateway.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Print the VLAN of the cluster
  ansible.builtin.debug:
    msg: >-
      {{ found.virtual_networks
      | equinix_metal.openshift.cluster_vlan(gateways.metal_gateways, mode='layer2', gateway='public', subnet='') }}
"""

RETURN = r"""
_value:
  description:
    - C(id) and C(vxlan) of the VLAN, its C(subnet), and the default C(gateway) of machines in layer 2. The last two are empty if there
      is none.
  type: dict
  sample: {id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f, vxlan: 1000, subnet: 198.51.100.0/27, gateway: 198.51.100.1}
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.vlan_network import cluster_vlan as vlan_of


def cluster_vlan(
    vlans: Sequence[Mapping[str, Any]], gateways: Sequence[Mapping[str, Any]], *, mode: str, gateway: str, subnet: str
) -> dict[str, Any]:
    """Return the VLAN of a cluster, empty without one."""
    return vlan_of(vlans, gateways, mode=mode, gateway=gateway, subnet=subnet)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"cluster_vlan": cluster_vlan}
