#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: cluster_wait
short_description: Wait until an OpenShift cluster reaches a condition, and report what is pending
version_added: 0.1.0
description:
  - Polls the API of the cluster, as C(openshift-install wait-for) does, until a condition is reached. Reports what is pending, with the
    reason of the cluster and since when.
  - While the API does not answer, the module waits for it.
  - A refused login and an invalid cluster version fail at once, since waiting does not help. With O(machines) the module also fails at once
    if a device could not be provisioned, is deleted, or its Ignition failed.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._cluster.and_metal
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
  - equinix_metal.openshift._wait.machines
  - equinix_metal.openshift._metal
options:
  condition:
    description: The condition to wait for.
    type: str
    choices:
      bootstrap_complete: The ConfigMap C(kube-system/bootstrap) reports C(complete), and the etcd operator has removed the bootstrap node
        from the etcd cluster (releases before 4.16 do not report that). The bootstrap device can be deleted.
      install_complete: The ClusterVersion is available, not failing and not progressing. Every ClusterOperator is available, not degraded,
        and has not been progressing for O(stable_for) seconds.
      nodes_ready: Each of O(nodes) is registered and Ready.
      nodes_current: Each Ready Node has renewed its Lease after the module's first request, so it is not Ready by an old report alone.
      pools_rendered: Each of O(machine_config_pools) has a rendered config, which new machines boot with.
      pools_updated: Each of O(machine_config_pools) has a rendered config and its number of nodes. All nodes have that config and are
        Ready.
      machine_config_servers_ready: Each control plane node has a Ready pod of the DaemonSet C(machine-config-server). The module does not
        connect to port 22623, which the node firewall closes to the controller.
      objects_ready: Each of O(objects) is ready. Fails if OLM reports for 30 seconds that a Subscription names a package or channel that
        its catalogue does not have.
      connections_complete: 20 new connections to each of O(api_addresses) complete their TLS handshakes. Some of them fail while the
        bootstrap device is a backend.
    required: true
  nodes:
    description:
      - Names of the Nodes for V(nodes_ready). By default all Nodes, at least one.
      - For V(install_complete), Nodes that are not Ready are reported while something else is pending, with their pending CSRs.
    type: list
    elements: str
    default: []
  devices:
    description: IDs of the devices of O(nodes), by Node name. A Node that records another device (see
      M(equinix_metal.openshift.node_ownership)) is treated as not Ready.
    type: dict
    default: {}
  machine_config_pools:
    description: MachineConfigPools for V(pools_rendered) and V(pools_updated), each with its minimum number of nodes.
    type: dict
    default: {}
  objects:
    description: Objects of cluster services for V(objects_ready).
    type: list
    elements: dict
    default: []
    suboptions:
      resource:
        description:
          - Resource of the object, as for C(oc get).
          - C(subscriptions.operators.coreos.com) is ready when the ClusterServiceVersion that OLM has installed has succeeded,
            C(lvmclusters.lvm.topolvm.io) when its state is Ready, C(metallbs.metallb.io) when it is Available, and
            C(configs.imageregistry.operator.openshift.io) when the registry operator has applied it as it is now.
        type: str
        choices:
          - configs.imageregistry.operator.openshift.io
          - lvmclusters.lvm.topolvm.io
          - metallbs.metallb.io
          - subscriptions.operators.coreos.com
        required: true
      name:
        description: Name of the object.
        type: str
        required: true
      namespace:
        description: Namespace of the object. Empty for a cluster-scoped object.
        type: str
        default: ""
  stable_for:
    description: Seconds for which no operator may have been progressing, for V(install_complete).
    type: float
    default: 30
  node_details:
    description: Whether to return all Nodes (RV(nodes)).
    type: bool
    default: false
  pod_details:
    description: Whether to return pods that are not running and ready (RV(pods)).
    type: bool
    default: false
  machines:
    description:
      - Host names of the machines of the Nodes. While something is pending, the last event of each machine without a Ready Node is
        reported. The module fails at once if one of the machines failed or its device is gone.
      - Requires O(ownership_tags) and the options of the Metal API, which is not used otherwise.
    type: list
    elements: str
    default: []
  wait:
    description: Whether to wait. Otherwise the module polls once, and does not fail if the condition is not reached or the API does not
      answer.
    type: bool
    default: true
seealso:
  - module: equinix_metal.openshift.csr_approval
"""

EXAMPLES = r"""
- name: Wait for bootstrap to complete
  equinix_metal.openshift.cluster_wait:
    kubeconfig: clusters/demo.metal.test/auth/kubeconfig
    api_addresses: [127.64.0.2, 127.64.0.3]
    condition: bootstrap_complete
    machines: [bootstrap-0.demo.metal.test, master-0.demo.metal.test]
    ownership_tags: [openshift-cluster=demo.metal.test]
    wait_timeout: 7200
    progress_interval: 15

- name: Wait until OLM has installed an operator
  equinix_metal.openshift.cluster_wait:
    kubeconfig: clusters/demo.metal.test/auth/kubeconfig
    condition: objects_ready
    objects:
      - {resource: subscriptions.operators.coreos.com, name: lvms-operator, namespace: openshift-lvm-storage}
    progress_interval: 15
"""

RETURN = r"""
reached:
  description: Whether the condition is reached.
  returned: always
  type: bool
  sample: false
waiting:
  description: What is pending.
  returned: always
  type: list
  elements: str
  sample:
    - "node worker-1.demo.metal.test is not registered: its request csr-x7k2p waits for approval (since 10:11:02Z)"
    - "operator ingress is not available: no nodes (since 10:12:31Z)"
api_answers:
  description: Whether the cluster's API answers.
  returned: always
  type: bool
  sample: true
kube_version:
  description: Version of the Kubernetes API, V(null) when the API does not answer.
  returned: always
  type: str
  sample: v1.33.6
cluster_id:
  description: ID of the cluster (C(spec.clusterID) of ClusterVersion), V(null) when the cluster does not return it.
  returned: always
  type: str
  sample: 2b70eb8f-fa18-47c0-aba7-222a842362fd
cluster_version:
  description: The OpenShift release, V(null) when the cluster does not return it.
  returned: always
  type: str
  sample: 4.20.33
operators:
  description: The cluster operators. Empty unless O(condition=install_complete). On failure only those that are not as expected.
  returned: always
  type: list
  elements: dict
  contains:
    name: {description: Name of the operator., type: str, sample: ingress}
    available: {description: Condition Available., type: bool, sample: true}
    progressing: {description: Condition Progressing., type: bool, sample: false}
    degraded: {description: Condition Degraded., type: bool, sample: false}
    message: {description: "Message of the condition that is not as expected, else empty.", type: str, sample: ""}
ingress_ca:
  description: CA bundle of the routers' certificates (PEM), by which the console and other routes are trusted. V(null) unless
    O(condition=install_complete), or when the cluster has not published it yet.
  returned: success
  type: str
  sample: |-
    -----BEGIN CERTIFICATE-----
    ...
ready_nodes:
  description: Names of the Nodes that are Ready. Empty unless O(condition=nodes_ready), or with O(nodes).
  returned: always
  type: list
  elements: str
  sample: [master-0.demo.metal.test]
nodes:
  description: The Nodes of the cluster, each with C(name), C(device_id), C(ready), C(message), C(created_at) and C(addresses) of
    RV(equinix_metal.openshift.node_info#module:nodes). Empty unless O(node_details=true), or when the API does not answer. With an error
    those not Ready.
  returned: always
  type: list
  elements: dict
  contains:
    roles:
      description: Roles of the Node, by the labels C(node-role.kubernetes.io/...).
      type: list
      elements: str
      sample: [control-plane, master]
    unschedulable: {description: Whether the Node is cordoned., type: bool, sample: false}
    kubelet_version: {description: Version of the kubelet., type: str, sample: v1.33.6}
    os_image: {description: Operating system of the Node., type: str, sample: Red Hat Enterprise Linux CoreOS 9.6}
    taints: {description: "Taints with C(key), C(value) and C(effect).", type: list, elements: dict, sample: []}
    conditions:
      description: Conditions with C(type), C(status), C(reason), C(message) and C(lastTransitionTime).
      type: list
      elements: dict
pods:
  description: The pods that have not succeeded and do not run with all their containers ready. Empty unless O(pod_details=true), or when
    the API does not answer.
  returned: always
  type: list
  elements: dict
  contains:
    namespace: {description: Namespace of the pod., type: str, sample: openshift-ingress}
    name: {description: Name of the pod., type: str, sample: router-default-6c9f7d}
    node: {description: "Name of the Node, empty when the pod is not scheduled.", type: str, sample: worker-0.demo.metal.test}
    phase: {description: Phase of the pod., type: str, sample: Pending}
    reason: {description: "Reason of the phase, from the status of the pod.", type: str, sample: ""}
    is_deleting: {description: Whether the deletion of the pod was requested., type: bool, sample: false}
    containers:
      description: Containers with C(name), C(ready), C(restarts), C(state), C(reason) and C(exit_code).
      type: list
      elements: dict
      sample: [{name: router, ready: false, restarts: 3, state: waiting, reason: CrashLoopBackOff, exit_code: null}]
skipped_nodes:
  description: Names of those of O(quorum_of) that are not Ready and were skipped, since enough others are Ready. Each is a warning.
  returned: always
  type: list
  elements: str
  sample: []
console_url:
  description: Address of the web console. V(null) unless O(condition=install_complete), or when there is none.
  returned: always
  type: str
  sample: https://console-openshift-console.apps.demo.metal.test
"""

from ..module_utils.base.argspec import Options
from ..module_utils.base.wait import WaitTimeout
from ..module_utils.cluster.operators import CONDITIONS, check_condition, failed_only, stages_of
from ..module_utils.cluster.readiness import RESOURCES, ObjectWatch
from ..module_utils.frame.cluster import ClusterModule
from ..module_utils.frame.metal import METAL_OPTIONS, gate_with_lock, metal_client
from ..module_utils.machines.watch import MACHINE_WATCH_OPTIONS, MachineWatch

OPTIONS = Options(
    {
        "condition": {"type": "str", "choices": list(CONDITIONS), "required": True},
        "devices": {"type": "dict", "default": {}},
        "machine_config_pools": {"type": "dict", "default": {}},
        "objects": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {
                "resource": {"type": "str", "choices": sorted(RESOURCES), "required": True},
                "name": {"type": "str", "required": True},
                "namespace": {"type": "str", "default": ""},
            },
        },
        "machines": {"type": "list", "elements": "str", "default": []},
        "nodes": {"type": "list", "elements": "str", "default": []},
        "stable_for": {"type": "float", "default": 30},
        "node_details": {"type": "bool", "default": False},
        "pod_details": {"type": "bool", "default": False},
    }
).merge(MACHINE_WATCH_OPTIONS, METAL_OPTIONS)


def main() -> None:
    with ClusterModule(OPTIONS, shorten=failed_only) as module:
        # A wait for a cluster is long: meanwhile the run keeps its lock.
        module.gate = gate_with_lock(module.module)
        client = module.client()
        watched = module.params["machines"] and module.params["wait"]
        machines = MachineWatch(metal_client(module.module, read_only=True), module.params) if watched else None
        objects = ObjectWatch(module.params["objects"])
        module.stages = lambda: stages_of(module.result, module.params["nodes"])

        def poll() -> list[str]:
            state = check_condition(client, module.params, machines, objects)
            module.result.update(state)
            waiting: list[str] = state["waiting"]
            return waiting

        try:
            module.wait_for(poll, f"Waiting for condition {module.params['condition']}")
        except WaitTimeout as timeout:
            timeout.message += f". {advice}" if (advice := objects.advice()) else ""
            raise
        for name in module.result["skipped_nodes"] if module.result["reached"] else ():
            reason = (machines.lost.get(name) if machines else None) or f"{name} is not Ready in time"
            module.module.warn(f"{reason}. It is not waited for: enough others are Ready (quorum={module.params['quorum']})")


if __name__ == "__main__":
    main()
