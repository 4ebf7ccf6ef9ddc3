#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_cluster_info
short_description: List the Metal API resources of clusters and their price
version_added: 0.1.0
description:
  - Lists the devices, IP reservations, VLANs and gateways with the ownership tag of a cluster, C(openshift-cluster=<name>.<base domain>).
  - Resources are found by these tags only, never by names or descriptions, so the result is the same on every computer.
  - The VLAN of a cluster lock (see M(equinix_metal.openshift.metal_cluster_lock)) is listed in C(locks) and not counted.
options:
  names:
    description:
      - List only these clusters by their full names, for example V(demo.example.com). Case-sensitive, as tags are. By default all clusters
        are listed.
      - A cluster in this list is returned even if it has no resources.
    type: list
    elements: str
  project_ids:
    description: IDs of several projects, instead of O(project_id). V(all) means all projects that the token can read.
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
seealso:
  - module: equinix_metal.openshift.metal_device_info
notes:
  - A gateway has no tags. It belongs to the cluster of its VLAN or its block.
"""

EXAMPLES = r"""
- name: List the resources of a cluster
  equinix_metal.openshift.metal_cluster_info:
    names: [demo.example.com]
"""

RETURN = r"""
clusters:
  description: The clusters, by name.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Full name of the cluster., type: str, sample: demo.example.com}
    count: {description: Number of resources., type: int, sample: 4}
    price_per_hour:
      description: Price per hour of the devices on demand in USD, without those on reserved hardware. V(null) when a price is not known.
        Addresses are billed too, but the API does not return their price.
      type: float
      sample: 2.6
    project_ids:
      description: IDs of the projects with resources of the cluster.
      type: list
      elements: str
      sample: [2b70eb8f-fa18-47c0-aba7-222a842362fd]
    devices:
      description: Devices by host name, each with C(id), C(hostname), C(state), C(plan), C(price_per_hour), C(metro), C(locked),
        C(created_at), C(termination_time), C(hardware_reservation_id) and C(project_id) of
        RV(equinix_metal.openshift.metal_device#module:device), and with the values of its tags as C(role) (C(openshift-role)) and
        C(infra_id) (C(openshift-infra-id), V(null) for a device without Ignition files of the installer).
      type: list
      elements: dict
      sample: []
    ip_reservations:
      description: IP reservations, as M(equinix_metal.openshift.metal_ip_reservation_info) returns them, with C(project_id).
      type: list
      elements: dict
      sample: []
    virtual_networks:
      description: VLANs, as M(equinix_metal.openshift.metal_vlan_info) returns them, with C(project_id).
      type: list
      elements: dict
      sample: []
    metal_gateways:
      description: Gateways of these VLANs and IP reservations, as M(equinix_metal.openshift.metal_gateway_info) returns them, with
        C(project_id).
      type: list
      elements: dict
      sample: []
    locks:
      description: Cluster locks, as M(equinix_metal.openshift.metal_cluster_lock) returns them, with C(project_id).
      type: list
      elements: dict
      sample: []
"""

from ..module_utils.cluster.objects import CLUSTER_INFO_OPTIONS, find_clusters
from ..module_utils.frame.metal import MetalModule


def main() -> None:
    with MetalModule(CLUSTER_INFO_OPTIONS, reading=True) as module:
        module.report(find_clusters(module.client, module.params))


if __name__ == "__main__":
    main()
