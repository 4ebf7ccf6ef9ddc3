# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_dns_records
short_description: DNS records of a cluster
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns one entry for each name of a cluster, with the addresses of its records. An entry without values is a record that must not
    exist.
  - The control plane serves the API, with the bootstrap device until the bootstrap is complete. C(*.apps) leads to the nodes that run
    routers. Until the cluster reports them they are the workers; without workers the control plane serves C(*.apps). Both lead to
    the load balancer if there is one. It finds its members by their records, and those of ingress are all nodes that may run a router.
positional: cluster
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them. Those without an address have no record.
    type: list
    elements: dict
    required: true
  cluster:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    required: true
  state:
    description:
      - V(absent) returns every name without values.
    type: str
    choices: [present, absent]
    default: present
  machines:
    description:
      - Host names of the devices that have records. Empty, all have.
    type: list
    elements: str
    default: []
  workers:
    description:
      - Host names of the workers of the inventory that may run routers. As long as none of them exists C(*.apps) has no record. Empty,
        the existing workers run the routers, or without workers the control plane.
    type: list
    elements: str
    default: []
  removed:
    description:
      - Further host names that must not have a record, whether their devices exist or not.
    type: list
    elements: str
    default: []
  bootstrap_complete:
    description:
      - Whether the control plane runs without the bootstrap device.
    type: bool
    default: false
  balanced:
    description:
      - Whether the cluster has a load balancer for API and routers.
    type: bool
    default: false
  network:
    description:
      - The machine network, which decides which addresses of a device are its node addresses, as in
        O(equinix_metal.openshift.node_addresses#filter:network).
    type: str
    choices: [layer3, bond, private, vlan]
    default: layer3
  families:
    description:
      - IP versions of the records, V(4) for A and V(6) for AAAA records.
    type: list
    elements: int
    default: [4]
  nodes:
    description:
      - The Nodes, as M(equinix_metal.openshift.node_info) returns them with O(equinix_metal.openshift.node_info#module:routers). Empty as
        long as the cluster cannot be read.
    type: list
    elements: dict
    default: []
  entries:
    description:
      - Addresses of the load balancer, C(api) and C(ingress). One that is absent or empty is that of the load balancer devices.
      - Without O(balanced), C(api) is the address that the control plane announces itself. The records of the API lead to it when the
        bootstrap is complete.
    type: dict
    default: {}
  adopted:
    description:
      - Whether the cluster was installed in another way. The records of API and routers are not managed then, and in no list.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Print the records of a cluster
  ansible.builtin.debug:
    msg: "{{ found.devices | equinix_metal.openshift.cluster_dns_records('demo.metal.test', bootstrap_complete=true) }}"
"""

RETURN = r"""
_value:
  description: The records, as O(equinix_metal.openshift.dns_records#module:records) has them.
  type: list
  elements: dict
  sample: [{name: api.demo.metal.test, values: [192.0.2.10, 192.0.2.11, 192.0.2.12]}]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_dns import cluster_dns_records


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"cluster_dns_records": cluster_dns_records}
