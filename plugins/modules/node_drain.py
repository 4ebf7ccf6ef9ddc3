#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: node_drain
short_description: Cordon, drain or uncordon Nodes
version_added: 0.1.0
description:
  - Cordons Nodes and evicts their pods through the eviction API, which respects disruption budgets, until no pod is left. Refused evictions
    are repeated until O(wait_timeout).
  - A Node is drained when it has no pod that would be lost with its machine. Static pods, DaemonSet pods, finished pods, and pods that
    tolerate the cordon and came back after their eviction do not count.
  - Progress messages and errors name each remaining pod with its reason, such as a disruption budget, its grace period or its finalizers.
  - The kubelet of an unreachable Node can neither end a pod gracefully nor confirm its end. A pod of such a Node has a grace period of one
    second. After O(unreachable_grace) more seconds it is returned in RV(remaining_pods), with a warning.
  - The annotation C(equinix-metal.openshift/cordoned) records that the module has cordoned a Node. If a drain fails, only Nodes with it are
    uncordoned.
  - A Node that does not exist is no error, see RV(absent).
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  nodes:
    description: Names of the Nodes. They are drained concurrently.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(drained) cordons the Nodes and evicts their pods.
      - V(cordoned) only cordons the Nodes.
      - V(uncordoned) makes the Nodes schedulable again.
    type: str
    choices: [drained, cordoned, uncordoned]
    default: drained
  grace_period:
    description: Grace period of each pod in seconds. By default the C(terminationGracePeriodSeconds) of the pod.
    type: int
  longest_grace_period:
    description:
      - Maximum grace period of a pod in seconds, for example if its machine is deleted after this time.
      - Ignored with O(grace_period).
    type: int
  delete_emptydir_data:
    description: Evict pods with C(emptyDir) volumes, whose data is lost. Otherwise such a pod is an error, and nothing is evicted.
    type: bool
    default: false
  evict_unmanaged:
    description: Evict pods without a controller, which are not created again. Otherwise such a pod is an error, and nothing is evicted.
    type: bool
    default: false
  unreachable_grace:
    description: Seconds to wait for a pod on an unreachable Node, after its grace period of one second.
    type: float
    default: 300
  accept_loss:
    description: If pods remain after O(wait_timeout), warn and return V(false) in RV(drained), since they may be lost with their machines.
      Otherwise the module fails. All other pods are evicted in both cases.
    type: bool
    default: false
  uncordon_on_failure:
    description: If the drain fails, uncordon the Nodes that the module has cordoned.
    type: bool
    default: true
  own_cordon_only:
    description: With O(state=uncordoned), uncordon only the Nodes that the module has cordoned.
    type: bool
    default: false
  wait:
    description: Wait until no pod is left. Otherwise the module evicts what can be evicted now, and RV(drained) returns whether any pod is
      left.
    type: bool
    default: true
seealso:
  - module: equinix_metal.openshift.node_ownership
"""

EXAMPLES = r"""
- name: Drain two workers before they are removed
  equinix_metal.openshift.node_drain:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    nodes: [worker-2.demo.metal.test, worker-3.demo.metal.test]
    delete_emptydir_data: true
    evict_unmanaged: true
    wait_timeout: 600
    progress_interval: 15
"""

RETURN = r"""
drained:
  description: Whether no pod is left that would be lost with its machine. V(false) with another O(state).
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
  description: The remaining pods.
  returned: always
  type: list
  elements: dict
  contains:
    namespace: {description: Namespace of the pod., type: str, sample: shop}
    name: {description: Name of the pod., type: str, sample: db-0}
    node: {description: Name of the Node., type: str, sample: worker-2.demo.metal.test}
    reason:
      description: Why the pod remains.
      type: str
      sample: "pod shop/db-0 on worker-2 cannot be evicted: The disruption budget db needs 2 healthy pods and has 2 currently"
absent:
  description: Names of O(nodes) that do not exist.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ..module_utils.base.argspec import Options
from ..module_utils.frame.cluster import ClusterModule
from ..module_utils.nodes.drain import Drain

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
