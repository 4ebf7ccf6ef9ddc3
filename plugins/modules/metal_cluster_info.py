#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_cluster_info
short_description: List the resources of clusters at the Metal API, and their price
version_added: 0.1.0
description:
  - Lists the devices, IP reservations, virtual networks and gateways with the ownership tag of a cluster,
    C(openshift-cluster=<name>.<base domain>).
  - Only these tags count, no host name and no description, so the result is the same on every computer.
  - A virtual network that is the lock of a run is listed separately and not counted. See M(equinix_metal.openshift.metal_cluster_lock).
  - Without O(names) it finds every cluster.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  names:
    description:
      - Only these clusters, each by its full name, for example V(demo.example.com). Upper and lower case differ, as they do in tags.
      - A cluster that is named is in the answer also when nothing is left of it.
    type: list
    elements: str
  project_ids:
    description:
      - Ids of several projects, instead of O(project_id). V(all) stands for all projects the token sees.
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
seealso:
  - module: equinix_metal.openshift.metal_device_info
notes:
  - A gateway has no tags. It belongs to the cluster that its virtual network or its block belongs to.
"""

EXAMPLES = r"""
- name: List the resources of a cluster
  equinix_metal.openshift.metal_cluster_info:
    names:
      - demo.example.com
  register: found

- name: List the resources of all clusters
  equinix_metal.openshift.metal_cluster_info:
    project_ids:
      - all
  register: everywhere

- name: Show the price of each cluster
  ansible.builtin.debug:
    msg: "{{ everywhere.clusters | items2dict(key_name='name', value_name='price_per_hour') }}"
"""

RETURN = r"""
clusters:
  description: The clusters, by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Full name of the cluster.
      type: str
      sample: demo.example.com
    count:
      description: How many things there are altogether.
      type: int
      sample: 4
    price_per_hour:
      description: >-
        What its devices cost per hour on demand, in US dollars, without those on reserved hardware. V(null) when a price is not known.
        Addresses are billed as well; the API does not return their price.
      type: float
      sample: 2.6
    project_ids:
      description: The projects in which something of it is.
      type: list
      elements: str
      sample: [2b70eb8f-fa18-47c0-aba7-222a842362fd]
    devices:
      description: Its devices, by host name.
      type: list
      elements: dict
      contains:
        id:
          description: The device's id.
          type: str
          sample: e5a8fc4f-5ccf-4ab2-9b7c-6d9e7a3d4f63
        hostname:
          description: Its host name.
          type: str
          sample: worker-0.demo.example.com
        role:
          description: What the tag C(openshift-role) says.
          type: str
          sample: worker
        infra_id:
          description: What the tag C(openshift-infra-id) says, the installer's infraID. Null for a device that was not made from its files.
          type: str
          sample: demo-x7k2p
        plan:
          description: Slug of its plan.
          type: str
          sample: c3.medium.x86
        metro:
          description: Code of its metro.
          type: str
          sample: da
        state:
          description: Its state.
          type: str
          sample: active
        locked:
          description: Whether it is locked against deletion.
          type: bool
          sample: false
        created_at:
          description: When it was ordered, UTC.
          type: str
          sample: "2026-11-21T07:10:00Z"
        termination_time:
          description: When the API ends it by itself, UTC.
          type: str
          sample: null
        hardware_reservation_id:
          description: Id of the hardware reservation it uses.
          type: str
          sample: null
        project_id:
          description: Id of its project.
          type: str
          sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd
        price_per_hour:
          description: What the plan costs per hour on demand, in US dollars.
          type: float
          sample: 1.3
    ip_reservations:
      description: Its blocks of addresses, as M(equinix_metal.openshift.metal_ip_reservation_info) returns them, with C(project_id).
      type: list
      elements: dict
      sample: []
    virtual_networks:
      description: Its networks, as M(equinix_metal.openshift.metal_vlan_info) returns them, with C(project_id).
      type: list
      elements: dict
      sample: []
    metal_gateways:
      description:
        - The gateways of its networks and with its blocks, as M(equinix_metal.openshift.metal_gateway_info) returns them, with
          C(project_id).
      type: list
      elements: dict
      sample: []
    locks:
      description: Locks of runs that write to it, as M(equinix_metal.openshift.metal_cluster_lock) returns them, with C(project_id).
      type: list
      elements: dict
      sample: []
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

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.objects import CLUSTER_INFO_OPTIONS, find_clusters
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule


def main() -> None:
    with MetalModule(CLUSTER_INFO_OPTIONS, reading=True) as module:
        module.report(find_clusters(module.client, module.params))


if __name__ == "__main__":
    main()
