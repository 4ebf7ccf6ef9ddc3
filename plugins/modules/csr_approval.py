#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: csr_approval
short_description: Approve the node CSRs of the given machines, and no others
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - A node joins OpenShift by two certificate signing requests, one for its client certificate and, once its Node is registered, one for
    its serving certificate. Without a machine API an approver has to approve both.
  - This module approves exactly those of the O(machines) it is given, follows them until each of these is joined, and says of every
    other request why it was left pending. A machine is joined when its Node exists and is Ready and its serving certificate is issued.
  - For every request all of this must hold. The signer is one of the two of kubelets, the usages are exactly a kubelet's, the request is
    one clean PEM block with a valid signature, its key is ECDSA P-256 or RSA with at least 2048 bits, and it has nothing in it that could
    be read in two ways.
  - A client request must have been filed by the node bootstrapper with exactly its groups, its subject must be exactly the node's,
    without alternative names, for one of O(machines), within O(window) of the machine's creation, and no Node of that name may exist
    (but see O(recover_nodes)). Of several requests of one machine only the newest is approved, since a kubelet that asks again has
    forgotten its older key, and none that is older than one that was approved or denied. A second key for a machine that has joined is
    refused, also when its Node was deleted since. A machine has joined when a Node of it was registered after its creation, or when a
    request was filed with its own node certificate; a machine that was created later under the same name is another one.
  - The owner of a first key cannot be verified; a client with the bootstrap token can file a request for a machine that has not joined. So
    RV(alarms) names each machine for which CSRs with different keys were filed sooner than a kubelet asks again, which is after 15
    minutes, or after an approval. A kubelet that is restarted while it waits does that as well, so it is a warning and no failure.
  - A serving request must have been filed by the node itself, its Node must exist, its names must be the node's and each of its addresses
    must be one of the machine's or of O(additional_addresses).
  - A refused request stays pending (but see O(deny_refused)). Renewals and requests of other signers are not touched.
  - Approvals, refusals and alarms are displayed at once, as lines of the task, with any O(progress_interval).
  - A request that the cluster does not let the module approve or deny is reported and tried again, and the others go on. An API that
    refuses to list the requests is asked again as well; the module fails when it has refused for three minutes.
  - Names and messages that come from requests are shown with control characters escaped, and cut when they are long.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
  - equinix_metal.openshift._wait.machines
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
attributes:
  action_group:
    description: Use C(group/equinix_metal.openshift.cluster) and C(group/equinix_metal.openshift.metal) in C(module_defaults) to set the
      options of the connections once.
    membership:
      - equinix_metal.openshift.cluster
      - equinix_metal.openshift.metal
options:
  machines:
    description:
      - The machines that may join. Of two with the same name and different data neither is approved, the others are.
      - With O(ownership_tags) their devices are watched. What is pending has the last event of each then, and the wait ends at once when
        one of them failed, is gone, or its Ignition ended with a failure. That needs the access to the Metal API, which is not asked
        otherwise.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: The node's name, which is the machine's full host name in lower case.
        type: str
        required: true
      id:
        description:
          - Id of its device. A Node of its name that records another device (see M(equinix_metal.openshift.node_ownership)) is none of this
            machine, which has not joined then.
        type: str
      addresses:
        description:
          - All addresses the machine has by the Metal API. Its serving certificate may be for these and no others.
        type: list
        elements: str
        default: []
      created_at:
        description:
          - When the machine was created, as the Metal API returns it. Its first request must come within O(window) after that.
          - Left out, the machine may come at any time.
        type: str
      labels:
        description:
          - Labels that the machine's Node gets as soon as it exists, once. They are for labels that a kubelet may not set itself, such as
            C(node-role.kubernetes.io/storage) of a MachineConfigPool, without which the machine would be rebooted to another pool and back.
        type: dict
        default: {}
  additional_addresses:
    description:
      - Addresses every machine may have beside its own, for example virtual ones that move between machines.
    type: list
    elements: str
    default: []
  window:
    description:
      - How long after its creation a machine's first request is accepted, in seconds. V(0) is without end.
    type: float
    default: 7200
  short_names:
    description:
      - Whether a serving certificate may also name the first label of the node's name.
    type: bool
    default: false
  pending_limit:
    description:
      - With more pending requests of kubelets from the last hour than this nothing is approved, until an operator has checked them.
      - Without it, ten for each machine and 100 more.
    type: int
  second_key_after:
    description:
      - A machine whose request was approved but whose Node does not exist may have been started again and then asks with another key.
        That one is approved when the Node has not registered after so many seconds.
    type: float
    default: 60
  recover_nodes:
    description:
      - Whether machines whose Node exists may be given another client certificate, as they need one when theirs ended while they were
        switched off. Only for Nodes from which nothing is heard any more (their Ready condition is Unknown), O(window) does not apply to
        them, and everything else does.
      - The same goes for machines that had joined and whose Node was deleted, when they have lost their certificate.
      - Who holds the bootstrap token and files a request while a machine is off takes its place. So leave it off but for such a run, with
        all machines on.
    type: bool
    default: false
  deny_refused:
    description:
      - Whether requests that violate a rule are denied instead of left pending. A denial is final for its request; a kubelet files another
        one within seconds, which is denied again as long as it violates the rule.
      - A request that is only too early is never denied. Do not use it in a cluster with another approver for other machines.
    type: bool
    default: false
  watch_timeout:
    description:
      - How long one watch of the requests lasts, in seconds. A new one begins after that, so a connection that has become silent delays
        approvals by this and a few seconds at most.
    type: float
    default: 30
  history:
    description:
      - Name of a ConfigMap in the namespace C(kube-system) in which the module remembers which machines have joined and what was answered
        for them. The cluster removes requests after an hour; with the ConfigMap a later run knows them too.
      - The ConfigMap is made when it is not there. To write it is not counted as a change.
      - Without it the module knows what is seen in its own run, and what the requests and Nodes that are there prove.
    type: str
    default: ""
  wait:
    description:
      - Whether to go on until every machine is joined. Otherwise what can be approved now is, and the module ends.
    type: bool
    default: true
  wait_interval:
    description:
      - Interval between two reads of the Nodes, in seconds. Requests are watched all the time.
    type: float
    default: 5
seealso:
  - module: equinix_metal.openshift.cluster_wait
"""

EXAMPLES = r"""
- name: Let the new workers join
  equinix_metal.openshift.csr_approval:
    kubeconfig: clusters/demo.metal.test/auth/kubeconfig
    api_addresses:
      - 127.64.0.3
      - 127.64.0.4
    machines:
      - name: worker-2.demo.metal.test
        addresses:
          - 127.64.0.9
          - 10.66.0.9
        created_at: "2026-03-01T12:00:00Z"
    wait_timeout: 5400
    progress_interval: 15

- name: See what would be approved
  equinix_metal.openshift.csr_approval:
    kubeconfig: clusters/demo.metal.test/auth/kubeconfig
    machines:
      - name: worker-2.demo.metal.test
        addresses:
          - 127.64.0.9
  check_mode: true
  register: requests

- name: Show the verdict on each request
  ansible.builtin.debug:
    msg: "{{ requests.verdicts }}"
"""

RETURN = r"""
verdicts:
  description: What was decided about every certificate request of the cluster, oldest first.
  returned: when the cluster's API has answered
  type: list
  elements: dict
  contains:
    name:
      description: Name of the request.
      type: str
      sample: csr-7xk2p
    signer:
      description: The signer it is addressed to.
      type: str
      sample: kubernetes.io/kubelet-serving
    node:
      description: The node of the request, empty if it has none.
      type: str
      sample: worker-2.demo.metal.test
    verdict:
      description: Whether it was (in check mode, would be) approved or denied, stays pending, or is not this module's to decide.
      type: str
      sample: approved
    reason:
      description: Why.
      type: str
      sample: first certificate of the expected machine worker-2.demo.metal.test
approved:
  description: Names of the requests that were (in check mode, would be) approved.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: [csr-7xk2p]
denied:
  description: Names of the requests that were (in check mode, would be) denied, see O(deny_refused).
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: []
refused:
  description: The requests that violate a rule, left pending or denied (O(deny_refused)). Check these.
  returned: when the cluster's API has answered
  type: list
  elements: dict
  contains:
    name:
      description: Name of the request.
      type: str
      sample: csr-q8w4d
    signer:
      description: The signer it is addressed to.
      type: str
      sample: kubernetes.io/kube-apiserver-client-kubelet
    node:
      description: The node it claims to be for.
      type: str
      sample: unknown.demo.metal.test
    requestor:
      description: The user who filed it.
      type: str
      sample: system:serviceaccount:openshift-machine-config-operator:node-bootstrapper
    reason:
      description: The rule that it violates.
      type: str
      sample: "no expected machine has the name 'unknown.demo.metal.test'"
alarms:
  description:
    - The machines for which CSRs with different keys were filed, where a kubelet that only waits for its answer files none. Either the
      machine was restarted, or the request that was approved is not the machine's. Check these.
  returned: when the cluster's API has answered
  type: list
  elements: dict
  contains:
    node:
      description: The machine.
      type: str
      sample: worker-2.demo.metal.test
    requests:
      description: The requests for its first certificate, oldest first.
      type: list
      elements: dict
      contains:
        name:
          description: Name of the request.
          type: str
          sample: csr-7xk2p
        filed_at:
          description: When it was filed.
          type: str
          sample: "2026-03-01T12:25:00Z"
        key:
          description: The SHA-256 of its public key (SubjectPublicKeyInfo, DER), in hexadecimal digits.
          type: str
          sample: 0b2d3e81d8e8b1b6e8f7c3a9d4c5b6a7980f1e2d3c4b5a69788796a5b4c3d2e1
        approved:
          description: Whether it was (in check mode, would be) approved.
          type: bool
          sample: true
    message:
      description: All of that in one line.
      type: str
      sample: >-
        CSRs with different keys were filed for node worker-2.demo.metal.test: csr-7xk2p (approved), csr-m2c4d (pending). Usual after a
        restart; otherwise compare the node's key (docs/generated/joining.md)
    key_command:
      description: The command that shows the key of a node that has joined, for a shell on that node.
      type: str
joined:
  description: The machines that are joined.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: [worker-2.demo.metal.test]
labelled:
  description: The Nodes that got labels (in check mode, would get).
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: [worker-2.demo.metal.test]
skipped_machines:
  description: Names of those of O(quorum_of) that have not joined and are not waited for any longer, since enough others have.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: []
waiting:
  description: What each of the other machines still lacks, and with O(ownership_tags) how far it is.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: ["worker-3.demo.metal.test: it has not asked for a certificate yet"]
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.operators import skipped_nodes
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.cluster import ClusterModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import METAL_OPTIONS, gate_with_lock, metal_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.approval import Joining
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import POLICY_OPTIONS, policy
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.watch import MACHINE_WATCH_OPTIONS, MachineWatch

OPTIONS = Options(
    {
        "machines": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "options": {
                "name": {"type": "str", "required": True},
                "id": {"type": "str"},
                "addresses": {"type": "list", "elements": "str", "default": []},
                "created_at": {"type": "str"},
                "labels": {"type": "dict", "default": {}},
            },
        },
        **POLICY_OPTIONS,
        "deny_refused": {"type": "bool", "default": False},
        "watch_timeout": {"type": "float", "default": 30},
        "history": {"type": "str", "default": ""},
    }
).merge(MACHINE_WATCH_OPTIONS, METAL_OPTIONS)


def main() -> None:
    with ClusterModule(OPTIONS) as module:
        # A wait for machines is long: meanwhile the run keeps its lock.
        module.gate = gate_with_lock(module.module)
        rules = policy(module.params)
        joining = Joining(
            module.client(),
            rules,
            node_interval=module.params["wait_interval"],
            watch_seconds=module.params["watch_timeout"],
            history=module.params["history"],
        )
        machines: MachineWatch | None = None
        if module.params["ownership_tags"] and module.params["wait"]:
            watched = {**module.params, "machines": list(rules.machines)}
            machines = MachineWatch(metal_client(module.module, read_only=True), watched)

        def poll(*, patient: bool) -> list[str]:
            waiting: list[str] = []
            skipped: list[str] = []
            try:
                waiting = joining.poll(patient=patient)
                if waiting and machines:
                    progress = machines.poll(joining.joined)
                    skipped = skipped_nodes(joining.joined_nodes, joining.now, module.params, machines.lost)
                    waiting = joining.pending(skipped) if skipped else waiting
                    waiting = [*waiting, *progress] if waiting else []
            finally:
                for notice in joining.notices():
                    if not module.module.display(notice.result()):
                        # For the action plugin, which takes them out of the result.
                        module.result.setdefault("notices", []).append(notice.result())
                module.result.update(joining.result(), waiting=waiting, skipped_machines=skipped)
            return waiting

        module.wait_for(poll, f"Joining of {len(rules.machines)} machines", sleep=joining.sleep)


if __name__ == "__main__":
    main()
