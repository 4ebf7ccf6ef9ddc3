#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: node_ownership
short_description: Record the devices of Nodes, and delete the Nodes of machines that no longer exist
version_added: 0.1.0
description:
  - Records on each Node the ID of its device in the annotation C(equinix-metal.openshift/device), and as C(equinixmetal://<id>) in
    C(spec.providerID). Existing values are never overwritten.
  - A Node belongs to the device that it records. Without a record, it belongs to the only device with one of its addresses, otherwise to
    the device of its name. A Node that was registered before its device was provisioned belongs to an earlier machine.
  - If a device has another name than its Node, the module fails before it writes anything. The error has the command that restores the
    name.
  - With O(prune), the Nodes of machines that no longer exist are deleted. As long as such a Node exists, another machine of its name is
    refused its first certificate.
  - A Node is deleted only if it is no control plane Node (see O(control_plane)), its name is one of O(nodes) or it records a device, it
    belongs to no device with O(ownership_tags), no device of the project, whatever its tags, is its device or has its name (verified by a
    second list), and its kubelet is unreachable, that is, its condition Ready is C(Unknown), about a minute after the end of the machine.
  - The module waits for a Node without a device whose kubelet still reports, and fails after O(wait_timeout), since O(project_id) may be
    that of another project.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._cluster.and_metal
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
  - equinix_metal.openshift._metal
options:
  nodes:
    description: Names of Nodes that have, or will have, devices. Other Nodes are deleted only if an annotation of this collection records
      their device.
    type: list
    elements: str
    default: []
  terminated:
    description: Names of Nodes whose devices were just deleted. Their kubelets may still report; all other conditions apply.
    type: list
    elements: str
    default: []
  ownership_tags:
    description: Tags that identify the devices of the cluster. If no device of the project has them, nothing is deleted, and the module
      fails.
    type: list
    elements: str
    required: true
  control_plane:
    description: Whether Nodes of O(terminated) may be control plane Nodes. Their etcd members have to be removed as well, see
      M(equinix_metal.openshift.etcd_member).
    type: bool
    default: false
  prune:
    description: Delete the Nodes of machines that no longer exist.
    type: bool
    default: false
  wait:
    description: Wait until the kubelets of all Nodes without a device are unreachable. Otherwise only those that are unreachable now are
      deleted.
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
  description: Nodes without a device with O(ownership_tags) that are kept.
  returned: always
  type: list
  elements: dict
  contains:
    name: {description: Name of the Node., type: str, sample: worker-3.demo.metal.test}
    reason:
      description: Why the Node is kept.
      type: str
      sample: device 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11 has its name and not the ownership tags
foreign_provider_ids:
  description: Nodes whose C(spec.providerID) names another provider or device. It cannot be changed, and is kept.
  returned: always
  type: list
  elements: dict
  contains:
    name: {description: Name of the Node., type: str, sample: worker-3.demo.metal.test}
    provider_id: {description: The C(spec.providerID)., type: str, sample: baremetalhost:///openshift-machine-api/worker-3}
"""

from ..module_utils.frame.cluster import ClusterModule
from ..module_utils.frame.metal import METAL_OPTIONS, metal_client
from ..module_utils.nodes.ownership import NODE_OWNERSHIP_OPTIONS, Ownership


def main() -> None:
    with ClusterModule(NODE_OWNERSHIP_OPTIONS.merge(METAL_OPTIONS)) as module:
        metal = metal_client(module.module, read_only=True)
        Ownership(module.client(), metal, module.params).carry_out(module.wait_for, module.result)
        for node in module.result["foreign_provider_ids"]:
            module.module.warn(f"Node {node['name']} keeps its providerID {node['provider_id']}, which is not that of its device")


if __name__ == "__main__":
    main()
