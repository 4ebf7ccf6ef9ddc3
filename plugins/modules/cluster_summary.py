#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_summary
short_description: Print the nodes, the price and the next commands of a cluster
version_added: 0.1.0
description:
  - Prints, at the end of a playbook, which release runs on which nodes, the devices and their price per hour, console and kubeconfig, how
    long each phase took, and the commands that come next. No password is printed.
  - What is not known, since an API did not answer, is said to be unknown.
  - Fails, after the summary, if a device that is to be a node has no Ready Node of its own, except in check mode.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  cluster:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    required: true
  state:
    description:
      - What M(equinix_metal.openshift.cluster_wait) has returned with C(condition=install_complete) and C(node_details=true).
    type: raw
    required: true
  resources:
    description:
      - What M(equinix_metal.openshift.metal_cluster_info) has returned for the cluster, also when it failed.
    type: raw
    required: true
  kubeconfig:
    description:
      - Path of the kubeconfig.
    type: str
    required: true
  password_file:
    description:
      - Path of the file with the password of kubeadmin.
    type: str
    required: true
  pending:
    description:
      - Host names of machines that the playbook no longer waits for, since enough others have joined.
    type: list
    elements: str
    default: []
  state_store:
    description:
      - Value of C(openshift_state_store). In a job of AWX, whose files are removed at its end, it says where kubeconfig and password are
        saved.
    type: str
    default: folder
  log:
    description:
      - The phases of the playbook, as M(equinix_metal.openshift.phase) has returned them.
    type: list
    elements: dict
    default: []
  plan:
    description:
      - The plan of the playbook. Of a run whose plan has no step only the release is printed, with C(-v) all of it.
    type: raw
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.printing
"""

EXAMPLES = r"""
- name: Get version, console and nodes of the cluster
  equinix_metal.openshift.cluster_wait:
    kubeconfig: clusters/demo.example.com/kubeconfig
    condition: install_complete
    node_details: true
    wait: false
  register: state

- name: List the cluster's devices and addresses
  equinix_metal.openshift.metal_cluster_info:
    names: [demo.example.com]
  register: resources

- name: Print the cluster summary
  equinix_metal.openshift.cluster_summary:
    cluster: demo.example.com
    state: "{{ state }}"
    resources: "{{ resources }}"
    kubeconfig: clusters/demo.example.com/kubeconfig
    password_file: clusters/demo.example.com/ignition/auth/kubeadmin-password
"""

RETURN = r"""
lines:
  description: The lines of the summary, without the times.
  returned: always
  type: list
  elements: str
  sample:
    - demo.example.com runs OpenShift 4.20.33 on 5 nodes, 5 Ready
"""
