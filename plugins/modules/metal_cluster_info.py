#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

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

- name: List the resources of all clusters
  equinix_metal.openshift.metal_cluster_info:
    project_ids: [all]
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
      description: Devices by host name.
      type: list
      elements: dict
      contains:
        id: {description: ID of the device., type: str, sample: e5a8fc4f-5ccf-4ab2-9b7c-6d9e7a3d4f63}
        hostname: {description: Host name of the device., type: str, sample: worker-0.demo.example.com}
        role: {description: Value of the tag C(openshift-role)., type: str, sample: worker}
        infra_id:
          description: Value of the tag C(openshift-infra-id), the infraID of the installation. V(null) for a device without Ignition files
            of the installer.
          type: str
          sample: demo-x7k2p
        plan: {description: Slug of the plan., type: str, sample: c3.medium.x86}
        metro: {description: Code of the metro., type: str, sample: da}
        state: {description: State of the device., type: str, sample: active}
        locked: {description: Whether the API refuses to delete the device., type: bool, sample: false}
        created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
        termination_time: {description: "Time at which the API deletes the device, UTC.", type: str}
        hardware_reservation_id: {description: ID of the hardware reservation of the device., type: str}
        project_id: {description: ID of the project., type: str, sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd}
        price_per_hour: {description: Price per hour of the plan on demand in USD., type: float, sample: 1.3}
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
