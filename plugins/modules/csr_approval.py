#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: csr_approval
short_description: Approve CSRs of expected nodes only
version_added: 0.1.0
description:
  - A node joins OpenShift with two certificate signing requests (CSRs), one for its client certificate and, after its Node is registered,
    one for its serving certificate. Without the machine API, an approver has to approve both.
  - Approves the CSRs of O(machines) only, waits until each machine has joined, and returns for every other CSR why it stays pending. A
    machine has joined when its Node is Ready and its serving certificate is issued.
  - A CSR is approved only if its signer is one of the two kubelet signers, its usages are exactly those of a kubelet, it is a single PEM
    block with a valid signature, its key is ECDSA P-256 or RSA with at least 2048 bits, and no part of it is ambiguous.
  - A client CSR also has to be filed by the node bootstrapper with exactly its groups, within O(window) of the creation of one of
    O(machines), with exactly the subject of this node and no alternative names, and no Node of this name may exist (but see
    O(recover_nodes)). Only the newest CSR of a machine is approved, since a kubelet discards the key of an older CSR, and none that is
    older than one that was approved or denied. A second key for a machine that has joined is refused, even if its Node was deleted. For
    this rule, a machine has joined if its Node was registered after the machine was created, or if its own node certificate has filed a
    CSR. A machine that was created later under the same name is another machine.
  - The owner of the first key cannot be verified, since a client with the bootstrap token can file a CSR for a machine that has not joined.
    RV(alarms) therefore returns each machine for which CSRs with different keys were filed after an approval, or within 15 minutes, before
    a kubelet files a new CSR. A restarted kubelet causes an alarm as well, so an alarm is a warning and no failure.
  - A serving CSR has to be filed by the node itself, its Node has to exist, its names have to be those of the node, and each address has to
    be one of the machine or of O(additional_addresses).
  - A refused CSR stays pending (but see O(deny_refused)). Renewals and CSRs of other signers are ignored.
  - Approvals, refusals and alarms are displayed at once, whatever O(progress_interval) is.
  - If the API refuses an approval or a denial, the module reports it, tries it again, and continues with other CSRs. If the API refuses to
    list the CSRs, the module fails after three minutes.
  - Names and messages from CSRs are displayed with control characters escaped, and truncated if they are long.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._cluster.and_metal
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._cluster.csr_rules
  - equinix_metal.openshift._wait
  - equinix_metal.openshift._wait.machines
  - equinix_metal.openshift._metal
options:
  machines:
    description:
      - The machines that may join. If two entries have the same name and different data, neither is approved.
      - With O(ownership_tags), the module reads the devices of the machines from the Metal API. It reports the last event of each pending
        machine, and fails at once if a device failed or is gone, or if its Ignition failed. Without O(ownership_tags), the Metal API is not
        used.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the node, which is the full host name of the machine in lower case.
        type: str
        required: true
      id:
        description: ID of the device. A Node of this name that records another device (see M(equinix_metal.openshift.node_ownership))
          belongs to another machine, so this one has not joined.
        type: str
      addresses:
        description: All addresses that the Metal API returns for the machine. Its serving certificate may contain no other address.
        type: list
        elements: str
        default: []
      created_at:
        description:
          - Time at which the machine was created, as the Metal API returns it. Its first CSR has to be filed within O(window) after it.
          - If it is not set, the machine may join at any time.
        type: str
      labels:
        description: Labels to set once on the Node of the machine, as soon as the Node exists. Use them for labels that a kubelet may not
          set itself, such as C(node-role.kubernetes.io/storage) of a MachineConfigPool. Without that label the machine would reboot twice,
          to another pool and back.
        type: dict
        default: {}
  deny_refused:
    description:
      - Whether to deny CSRs that violate a rule. Otherwise they stay pending. A denial is final for its CSR. A kubelet files another CSR
        within seconds, which is denied too as long as it violates the rule.
      - A CSR that is only too early is never denied. Do not set it if another approver approves other machines of the cluster.
    type: bool
    default: false
  watch_timeout:
    description: Seconds after which a watch of the CSRs is started anew. If a connection stops without an error, approvals are delayed by
      this time and a few seconds at most.
    type: float
    default: 30
  history:
    description:
      - Name of a ConfigMap in the namespace C(kube-system) in which the module stores which machines have joined and which CSRs were
        approved for them. The cluster deletes CSRs after an hour, so a later run needs the ConfigMap.
      - The ConfigMap is created if it does not exist. Writing it does not count as a change.
      - Without it the module uses only what it has observed itself, and the CSRs and Nodes that exist.
    type: str
    default: ""
  wait:
    description: Wait until every machine has joined. Otherwise the module approves what can be approved now, and returns.
    type: bool
    default: true
  wait_interval:
    description: Seconds between two reads of the Nodes. CSRs are watched all the time.
    type: float
    default: 5
seealso:
  - module: equinix_metal.openshift.cluster_wait
"""

EXAMPLES = r"""
- name: Approve the CSRs of a new worker
  equinix_metal.openshift.csr_approval:
    kubeconfig: clusters/demo.metal.test/auth/kubeconfig
    api_addresses: [127.64.0.3, 127.64.0.4]
    machines:
      - name: worker-2.demo.metal.test
        addresses: [127.64.0.9, 10.66.0.9]
        created_at: "2026-03-01T12:00:00Z"
    wait_timeout: 5400
    progress_interval: 15
"""

RETURN = r"""
verdicts:
  description: The decision about each CSR of the cluster, oldest first.
  returned: when the cluster's API has answered
  type: list
  elements: dict
  contains:
    name: {description: Name of the CSR., type: str, sample: csr-7xk2p}
    signer: {description: Signer of the CSR., type: str, sample: kubernetes.io/kubelet-serving}
    node: {description: "Node of the CSR, empty if it has none.", type: str, sample: worker-2.demo.metal.test}
    verdict:
      description: Whether the CSR was (in check mode, would be) approved or denied, stays pending, or is ignored.
      type: str
      sample: approved
    reason: {description: Reason of the decision., type: str, sample: first certificate of the expected machine worker-2.demo.metal.test}
approved:
  description: Names of the CSRs that were (in check mode, would be) approved.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: [csr-7xk2p]
denied:
  description: Names of the CSRs that were (in check mode, would be) denied, see O(deny_refused).
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: []
refused:
  description: The CSRs that violate a rule, pending or denied (O(deny_refused)). Check them. Each with C(name), C(signer), C(node) and
    C(reason) of RV(verdicts), and with the user who filed it (C(requestor)).
  returned: when the cluster's API has answered
  type: list
  elements: dict
  sample: []
alarms:
  description: Machines for which CSRs with different keys were filed, although a waiting kubelet files none. Either the machine was
    restarted, or the approved CSR was filed by another client. Check them.
  returned: when the cluster's API has answered
  type: list
  elements: dict
  contains:
    node: {description: Name of the machine., type: str, sample: worker-2.demo.metal.test}
    requests:
      description: CSRs for the first certificate of the machine, oldest first.
      type: list
      elements: dict
      contains:
        name: {description: Name of the CSR., type: str, sample: csr-7xk2p}
        filed_at: {description: Time at which the CSR was filed., type: str, sample: "2026-03-01T12:25:00Z"}
        key:
          description: SHA-256 of the public key (SubjectPublicKeyInfo, DER), hexadecimal.
          type: str
          sample: 0b2d3e81d8e8b1b6e8f7c3a9d4c5b6a7980f1e2d3c4b5a69788796a5b4c3d2e1
        approved: {description: "Whether the CSR was (in check mode, would be) approved.", type: bool, sample: true}
    message:
      description: The alarm in one line.
      type: str
      sample: >-
        CSRs with different keys were filed for node worker-2.demo.metal.test: csr-7xk2p (approved), csr-m2c4d (pending). Usual after a
        restart; otherwise compare the node's key (docs/joining.md)
    key_command: {description: "Command that prints the key of a node that has joined, for a shell on this node.", type: str}
joined:
  description: Names of the machines that have joined.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: [worker-2.demo.metal.test]
labelled:
  description: Names of the Nodes that were (in check mode, would be) labelled.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: [worker-2.demo.metal.test]
skipped_machines:
  description: Names of those of O(quorum_of) that have not joined and were skipped, since enough others have joined.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: []
waiting:
  description: What each pending machine lacks, and with O(ownership_tags) its progress.
  returned: when the cluster's API has answered
  type: list
  elements: str
  sample: ["worker-3.demo.metal.test: it has not asked for a certificate yet"]
"""

from ..module_utils.base.argspec import Options
from ..module_utils.cluster.operators import skipped_nodes
from ..module_utils.frame.cluster import ClusterModule
from ..module_utils.frame.metal import METAL_OPTIONS, gate_with_lock, metal_client
from ..module_utils.joining.approval import Joining
from ..module_utils.joining.csr import POLICY_OPTIONS, policy
from ..module_utils.machines.watch import MACHINE_WATCH_OPTIONS, MachineWatch

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
        machines = None
        if module.params["ownership_tags"] and module.params["wait"]:
            watched = {**module.params, "machines": list(rules.machines)}
            machines = MachineWatch(metal_client(module.module, read_only=True), watched)

        def poll() -> list[str]:
            waiting: list[str] = []
            skipped: list[str] = []
            try:
                waiting = joining.poll(patient=module.waits)
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
