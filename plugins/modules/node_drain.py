#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_drain
short_description: Cordon, drain or uncordon Nodes
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Cordons Nodes and evicts their pods through the eviction API, so that disruption budgets are respected, until no pod is left on
    them. Evictions that are refused are repeated until O(wait_timeout) is over.
  - A Node is drained when the API server lists no pod on it any more that would be lost with the machine. Static pods, pods of daemon
    sets and pods that have finished are left alone. So are pods that tolerate the cordon and came back after they were evicted.
  - While it waits (O(progress_interval)), each pod that is left is named with its reason, such as the disruption budget that does not
    allow its eviction, the end of its grace period or its finalizers. The same is in the error when the time is over.
  - The kubelet of a Node that is unreachable gives no pod its grace period, and cannot confirm that one has ended. A pod of such a Node
    gets one second, and is waited for until O(unreachable_grace) seconds after that. Then it is reported in RV(remaining_pods) and as a
    warning.
  - A Node that is cordoned by this module gets the annotation C(equinix-metal.openshift/cordoned). When a drain fails, the Nodes that
    have it are uncordoned, and Nodes that another user has cordoned stay cordoned.
  - A Node that does not exist has nothing to drain and is no error, see RV(absent).
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.cluster
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  nodes:
    description:
      - Names of the Nodes. They are drained at the same time.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(drained) cordons the Nodes and evicts their pods.
      - V(cordoned) only keeps new pods away.
      - V(uncordoned) makes the Nodes schedulable again.
    type: str
    choices: [drained, cordoned, uncordoned]
    default: drained
  grace_period:
    description:
      - Seconds each pod gets to end. Without it each pod gets its own C(terminationGracePeriodSeconds).
    type: int
  longest_grace_period:
    description:
      - Seconds that a pod gets to end whose own grace period is longer, for example because its machine is deleted then.
      - Without effect with O(grace_period), which is for all pods.
    type: int
  delete_emptydir_data:
    description:
      - Whether pods with C(emptyDir) volumes are evicted, whose data is lost. Otherwise they are an error, and nothing is evicted.
    type: bool
    default: false
  evict_unmanaged:
    description:
      - Whether pods without a controller are evicted, which nobody creates again. Otherwise they are an error, and nothing is evicted.
    type: bool
    default: false
  unreachable_grace:
    description:
      - Seconds beyond its grace period of one second for which a pod is waited for whose Node is unreachable.
    type: float
    default: 300
  accept_loss:
    description:
      - Whether pods that are left at the end of O(wait_timeout) may be lost with their machines. They are a warning then, and
        RV(drained) is V(false); otherwise they are an error. All pods that can be evicted are evicted in both cases.
    type: bool
    default: false
  uncordon_on_failure:
    description:
      - Whether the Nodes that were cordoned by this module are uncordoned when the drain fails.
    type: bool
    default: true
  own_cordon_only:
    description:
      - With O(state=uncordoned), whether only Nodes are uncordoned that were cordoned by this module.
    type: bool
    default: false
  wait:
    description:
      - Whether to wait until no pod is left. Otherwise what can be evicted now is, and RV(drained) says whether anything is left.
    type: bool
    default: true
seealso:
  - module: equinix_metal.openshift.node_ownership
"""

EXAMPLES = r"""
- name: Drain two workers before they are removed
  equinix_metal.openshift.node_drain:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    nodes:
      - worker-2.demo.metal.test
      - worker-3.demo.metal.test
    delete_emptydir_data: true
    evict_unmanaged: true
    wait_timeout: 600
    progress_interval: 15

- name: Make a worker schedulable again, unless a user has cordoned it
  equinix_metal.openshift.node_drain:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    nodes: [worker-2.demo.metal.test]
    state: uncordoned
    own_cordon_only: true
"""

RETURN = r"""
drained:
  description: Whether no pod is left on the Nodes that would be lost with their machines. V(false) with another O(state).
  returned: always
  type: bool
  sample: true
evicted:
  description: Pods whose eviction was (in check mode, would be) accepted, as C(namespace/name).
  returned: always
  type: list
  elements: str
  sample: [shop/cart-0]
remaining_pods:
  description: The pods that are left, also those that were not waited for any longer.
  returned: always
  type: list
  elements: dict
  contains:
    namespace:
      description: Namespace of the pod.
      type: str
      sample: shop
    name:
      description: Name of the pod.
      type: str
      sample: db-0
    node:
      description: Node it is on.
      type: str
      sample: worker-2.demo.metal.test
    reason:
      description: What keeps it there.
      type: str
      sample: "pod shop/db-0 on worker-2 cannot be evicted: The disruption budget db needs 2 healthy pods and has 2 currently"
absent:
  description: Names of O(nodes) that are no Nodes.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.cluster import ClusterModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.drain import Drain

OPTIONS = Options(
    {
        "nodes": {"type": "list", "elements": "str", "required": True},
        "state": {"type": "str", "choices": ["drained", "cordoned", "uncordoned"], "default": "drained"},
        "grace_period": {"type": "int"},
        "longest_grace_period": {"type": "int"},
        "delete_emptydir_data": {"type": "bool", "default": False},
        "evict_unmanaged": {"type": "bool", "default": False},
        "unreachable_grace": {"type": "float", "default": 300},
        "accept_loss": {"type": "bool", "default": False},
        "uncordon_on_failure": {"type": "bool", "default": True},
        "own_cordon_only": {"type": "bool", "default": False},
    }
)


def main() -> None:
    with ClusterModule(OPTIONS) as module:
        drain = Drain(module.client(), module.params)
        drain.carry_out(module.wait_for, module.result, warn=module.module.warn)


if __name__ == "__main__":
    main()
