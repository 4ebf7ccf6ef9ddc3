#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_ownership
short_description: Record the devices of Nodes, and delete the Nodes of machines that no longer exist
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Writes on each Node the id of the device of the Metal API that it runs on, in the annotation C(equinix-metal.openshift/device), and as
    C(equinixmetal://<id>) in C(spec.providerID). What is recorded is never overwritten.
  - The id is the identity of a device. A Node is of the device that it records; one without a record is of the only device with one of its
    addresses, else of the device with its name. A Node that was registered before its device was provisioned is of an earlier machine.
  - Fails before it writes anything when a device has another name than its Node. The message has the command that restores the name.
  - With O(prune) it deletes the Nodes of machines that no longer exist. A Node outlives its machine, and as long as it is there another
    machine of its name is refused its first certificate.
  - A Node is deleted when all of this holds. It is no control plane Node, see O(control_plane). Its name is one of O(nodes),
    or it records a device. It is of no device with O(ownership_tags). No device of the project is its device or has its name, whatever
    tags it has, which a second list confirms.
    Its kubelet is unreachable, that is, the status of its Ready condition is C(Unknown), as it becomes about a minute after the end of
    a machine.
  - A Node without a device whose kubelet still reports is waited for, and an error when the time is over. Then O(project_id) may be
    that of another project.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
attributes:
  action_group:
    description: Use C(group/equinix_metal.openshift.cluster) and C(group/equinix_metal.openshift.metal) in C(module_defaults) to set the
      options of the connections once.
    support: full
    membership:
      - equinix_metal.openshift.cluster
      - equinix_metal.openshift.metal
options:
  nodes:
    description:
      - Names of Nodes that are on devices, or are to be. Other Nodes are deleted only if an annotation of this collection says that
        they were on a device.
    type: list
    elements: str
    default: []
  terminated:
    description:
      - Names of Nodes whose devices have just been deleted. Their kubelets need not be unreachable;
        all other conditions have to hold.
    type: list
    elements: str
    default: []
  ownership_tags:
    description:
      - Tags of the cluster's devices, of which others have none. When no device of the project has them, nothing is deleted, and that
        is an error.
    type: list
    elements: str
    required: true
  control_plane:
    description:
      - Whether Nodes of O(terminated) may be control plane Nodes. Their etcd members have to be removed as well, see
        M(equinix_metal.openshift.etcd_member).
    type: bool
    default: false
  prune:
    description:
      - Whether Nodes of machines that no longer exist are deleted.
    type: bool
    default: false
  wait:
    description:
      - Whether to wait until the kubelets of all Nodes without a device are unreachable. Otherwise only those that are now are deleted.
    type: bool
    default: true
seealso:
  - module: equinix_metal.openshift.node_drain
  - module: equinix_metal.openshift.csr_approval
"""

EXAMPLES = r"""
- name: Delete the Nodes of workers whose device is gone, before others are created
  equinix_metal.openshift.node_ownership:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    nodes: [worker-0.demo.metal.test, worker-1.demo.metal.test]
    ownership_tags: [openshift-cluster=demo.metal.test]
    prune: true
    wait_timeout: 300
    progress_interval: 15
"""

RETURN = r"""
recorded:
  description: Names of the Nodes whose device was (in check mode, would be) recorded.
  returned: always
  type: list
  elements: str
  sample: [worker-0.demo.metal.test]
deleted:
  description: Names of the Nodes that were (in check mode, would be) deleted.
  returned: always
  type: list
  elements: str
  sample: [worker-1.demo.metal.test]
kept:
  description: The Nodes that no device with O(ownership_tags) belongs to, and that are kept for the reason given.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the Node.
      type: str
      sample: worker-3.demo.metal.test
    reason:
      description: Why it is kept.
      type: str
      sample: device 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11 has its name and not the ownership tags
foreign_provider_ids:
  description: Nodes on these devices whose C(spec.providerID) is of another provider or device. It cannot be changed, and is kept.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the Node.
      type: str
      sample: worker-3.demo.metal.test
    provider_id:
      description: Its C(spec.providerID).
      type: str
      sample: baremetalhost:///openshift-machine-api/worker-3
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.cluster import ClusterModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import METAL_OPTIONS, metal_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.ownership import NODE_OWNERSHIP_OPTIONS, Ownership


def main() -> None:
    with ClusterModule(NODE_OWNERSHIP_OPTIONS.merge(METAL_OPTIONS)) as module:
        metal = metal_client(module.module, read_only=True)
        Ownership(module.client(), metal, module.params).carry_out(module.wait_for, module.result)
        for node in module.result["foreign_provider_ids"]:
            module.module.warn(f"Node {node['name']} keeps its providerID {node['provider_id']}, which is not that of its device")


if __name__ == "__main__":
    main()
