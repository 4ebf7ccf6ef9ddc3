#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: node_info
short_description: List the Nodes of a cluster
version_added: 0.1.0
description:
  - Lists the Nodes of a cluster with the attributes that decide whether machines can be removed. Any of O(api_addresses) is enough, so it
    works with a part of the control plane down.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  wait:
    description:
      - Wait for an API server that does not answer. Otherwise the module fails at once.
      - With O(routers), also wait until all routers are ready, as many as are configured or as there are nodes for them.
    type: bool
    default: true
  routers:
    description: Return on which Nodes the routers of the default IngressController run, and on which they may run.
    type: bool
    default: false
seealso:
  - module: equinix_metal.openshift.node_drain
"""

EXAMPLES = r"""
- name: List the Nodes
  equinix_metal.openshift.node_info:
    kubeconfig: clusters/demo.metal.test/kubeconfig
"""

RETURN = r"""
nodes:
  description: The Nodes, by name.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the Node., type: str, sample: worker-0.demo.metal.test}
    control_plane: {description: "Whether the Node is a control plane node, by its labels.", type: bool, sample: false}
    ready: {description: Whether the condition Ready is C(True)., type: bool, sample: true}
    unreachable: {description: "Whether the condition Ready is C(Unknown), since the kubelet does not report.", type: bool, sample: false}
    message: {description: Message of the condition Ready., type: str, sample: kubelet is posting ready status}
    since:
      description: Time of the last transition of the condition Ready, UTC. V(null) without this condition.
      type: str
      sample: "2026-05-04T10:00:00Z"
    schedulable: {description: Whether the Node is not cordoned., type: bool, sample: true}
    cordoned_for_removal: {description: Whether M(equinix_metal.openshift.node_drain) has cordoned the Node., type: bool, sample: false}
    device_id:
      description: ID of the device that the Node records, empty without one. See M(equinix_metal.openshift.node_ownership).
      type: str
      sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    provider_id:
      description: The C(spec.providerID), empty when it is not set.
      type: str
      sample: equinixmetal://7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
    created_at: {description: "Time of registration, UTC.", type: str, sample: "2026-05-04T09:58:12Z"}
    addresses:
      description: Addresses and host name of the Node.
      type: list
      elements: str
      sample: [203.0.113.10, worker-0.demo.metal.test]
    router: {description: Whether a ready router runs on the Node., returned: with O(routers), type: bool, sample: true}
    may_run_router:
      description: Whether routers may run on the Node, by its labels and taints and the placement of the IngressController.
      returned: with O(routers)
      type: bool
      sample: true
    ingress_addresses:
      description: Addresses of the Service C(equinix-metal) in front of all routers, of each Node the same. MetalLB announces them.
      returned: with O(routers)
      type: list
      elements: str
      sample: [192.0.2.6]
"""

from ..module_utils.base.argspec import Options
from ..module_utils.frame.cluster import ClusterModule
from ..module_utils.nodes.node import list_nodes


def main() -> None:
    with ClusterModule(Options({"routers": {"type": "bool", "default": False}})) as module:
        client = module.client()

        def poll() -> list[str]:
            module.result["nodes"], waiting = list_nodes(client, routers=module.params["routers"])
            return waiting

        module.wait_for(poll, "Reading of the nodes")


if __name__ == "__main__":
    main()
