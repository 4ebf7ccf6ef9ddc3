#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_status
short_description: Compare the inventory, the devices and the Nodes of a cluster, and list everything that needs attention
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads the devices with the ownership tag of a cluster from the Metal API, and Nodes, operators, machine config pools, CSRs and versions
    from the cluster's API. It writes to neither and takes no lock.
  - An API that does not answer is a part of the status and no error. What only that API has is then unknown and is not reported as a
    difference.
  - It reads lists and single objects of the cluster, not each machine, so the number of calls is the same for 5 and for 400 machines.
  - Certificates are read from the kubeconfig, from issued CSRs, from the annotations of the Secrets of the cluster's signers, whose content
    is not read, and from the servers themselves (O(server_certificates)).
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._cluster
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
  cluster:
    description:
      - The cluster, C(<name>.<base domain>). Devices with the tag C(openshift-cluster=<name>.<base domain>) belong to it.
    type: str
    required: true
  machines:
    description:
      - The machines of the inventory, as P(equinix_metal.openshift.machines#filter) returns them. Keys that are not named here are ignored.
    type: list
    elements: dict
    default: []
    suboptions:
      hostname:
        description: Full name, which is the host name of the device and the name of the Node.
        type: str
        required: true
      role:
        description: Role in the cluster, such as V(control-plane) or V(worker).
        type: str
      pool:
        description: Machine pool of a worker.
        type: str
      plan:
        description: Plan of its device.
        type: str
      metro:
        description: Metro of its device.
        type: str
      placement:
        description: Alternative plans and metros of its device, with O(machines[].plan) and O(machines[].metro) as keys.
        type: list
        elements: dict
      labels:
        description: Labels that its Node is to have.
        type: dict
      annotations:
        description: Annotations of its Node.
        type: dict
      taints:
        description: Taints that its Node is to have, with C(key), C(value) and C(effect).
        type: list
        elements: dict
  api_addresses:
    description:
      - Addresses at which the cluster's API is to be reached, tried in turn, each with or without a port.
      - Without addresses these are the node addresses of the control plane's devices, with O(machine_network=private) the addresses of its
        load balancers, and if there are none the server of the kubeconfig.
  certificate_days:
    description:
      - Certificates that end within so many days are named. One that the cluster rotates is only reported as a finding when less than a
        tenth of its lifetime is left, since its successor is due before that.
    type: int
    default: 30
  server_certificates:
    description:
      - Whether to connect to the API servers, the machine config servers (port 22623) and the kubelets (port 10250) at the addresses of
        their devices, to read which certificate they present. Nothing is sent. A server that cannot be reached from here is left out.
    type: bool
    default: true
  machine_network:
    description:
      - Which addresses of a device are its node addresses. V(layer3) and V(bond) are the public ones, V(private) the private ones.
    type: str
    choices: [layer3, bond, private, vlan]
    default: layer3
    version_added: 0.1.0
  additional_addresses:
    description:
      - As O(equinix_metal.openshift.csr_approval#module:additional_addresses), for the verdicts on pending CSRs. The same applies to the
        next six options.
    type: list
    elements: str
    default: []
  window:
    description:
      - As O(equinix_metal.openshift.csr_approval#module:window).
    type: float
    default: 7200
  short_names:
    description:
      - As O(equinix_metal.openshift.csr_approval#module:short_names).
    type: bool
    default: false
  pending_limit:
    description:
      - As O(equinix_metal.openshift.csr_approval#module:pending_limit).
    type: int
  second_key_after:
    description:
      - As O(equinix_metal.openshift.csr_approval#module:second_key_after).
    type: float
    default: 60
  recover_nodes:
    description:
      - As O(equinix_metal.openshift.csr_approval#module:recover_nodes).
    type: bool
    default: false
  history:
    description:
      - As O(equinix_metal.openshift.csr_approval#module:history). It is only read.
    type: str
    default: ""
  in_job:
    description:
      - Whether scale.yml would run as a job of AWX, which removes no worker that is not named.
    type: bool
    default: false
    version_added: 1.0.0
seealso:
  - module: equinix_metal.openshift.status_report
  - module: equinix_metal.openshift.metal_cluster_info
"""

EXAMPLES = r"""
- name: Get the status of the cluster
  equinix_metal.openshift.cluster_status:
    cluster: demo.metal.test
    kubeconfig: clusters/demo.metal.test/kubeconfig
    machines: "{{ groups['control_plane'] | equinix_metal.openshift.machines(hostvars) }}"
  register: current

- name: Show what needs attention
  ansible.builtin.debug:
    msg: "{{ current.status.findings | map(attribute='text') }}"
"""

RETURN = r"""
status:
  description: The status.
  returned: success
  type: dict
  contains:
    cluster:
      description: The cluster.
      type: str
      sample: demo.metal.test
    generated_at:
      description: When the status was read, by the clock of this computer, UTC.
      type: str
      sample: "2026-11-23T12:00:00Z"
    exists:
      description: Whether the cluster exists, as far as is known.
      type: bool
      sample: true
    healthy:
      description: Whether there is no finding.
      type: bool
      sample: false
    verdict:
      description: The status in one line.
      type: str
      sample: "demo.metal.test: 1 difference, 2 pending CSRs"
    counts:
      description: Number of findings in each group.
      type: dict
      sample: {unreachable: 0, differences: 1, degraded: 0, certificates: 0, csrs: 2}
    findings:
      description: What is not as it should be.
      type: list
      elements: dict
      contains:
        group:
          description: One of C(unreachable), C(differences), C(degraded), C(certificates) and C(csrs).
          type: str
          sample: differences
        subject:
          description: The machine or the object.
          type: str
          sample: worker-1.demo.metal.test
        text:
          description: What is not as it should be.
          type: str
          sample: its device has vanished, its Node is NotReady
        advice:
          description: What to do next.
          type: str
          sample: run scale.yml, which replaces it
    plan:
      description:
        - What scale.yml would do, with C(steps), C(counts), C(price_per_hour) before and after, and C(lines) for people. V(null) if
          nothing of the cluster exists.
      type: dict
      sample: {counts: {create: 1, change: 0, replace: 0, remove: 0}}
    notes:
      description: What is worth knowing and no fault, such as the holder of the cluster lock, or an available update.
      type: list
      elements: str
      sample: ["Update available in stable-4.20: 4.20.34 (oc adm upgrade)"]
    metal_api:
      description: Whether the Metal API answers (C(answers)), and if not, why (C(problem)).
      type: dict
      sample: {answers: true, problem: ""}
    cluster_api:
      description: Whether the cluster's API answers (C(answers)), and if not, why (C(problem)).
      type: dict
      sample: {answers: true, problem: ""}
    price_per_hour:
      description: What the devices cost per hour on demand, in US dollars. V(null) when it is not known.
      type: float
      sample: 6.5
    machines:
      description: The machines of the inventory, the devices and the Nodes, joined by name.
      type: list
      elements: dict
      contains:
        name:
          description: Full name.
          type: str
          sample: worker-1.demo.metal.test
        role:
          description: Role in the cluster.
          type: str
          sample: worker
        pool:
          description: Machine pool, empty unless the inventory has the machine.
          type: str
          sample: worker
        in_inventory:
          description: Whether the inventory has the machine.
          type: bool
          sample: true
        device:
          description: Its device with C(id), C(state), C(plan), C(metro), C(address), C(created_at), C(price_per_hour), or V(null).
          type: dict
          sample: null
        node:
          description: Its Node with C(ready), C(since), C(unschedulable), C(kubelet_version) and C(os_image). V(null) without one.
          type: dict
          sample: null
        findings:
          description: The texts of the findings on it.
          type: list
          elements: str
          sample: []
    version:
      description: >-
        C(openshift) and C(kubernetes), the C(channel), C(last_completed) update, C(available_updates), and the release of the cluster's
        C(boot_images).
      type: dict
      sample: {openshift: 4.20.33, kubernetes: v1.33.6, channel: stable-4.20, last_completed: 4.20.33, available_updates: [],
        boot_images: 4.20.33}
    operators:
      description: The cluster operators with C(name), C(available), C(progressing), C(degraded) and C(message).
      type: list
      elements: dict
      sample: []
    pools:
      description: >-
        The machine config pools with C(name), C(machines), C(ready), C(updated) (numbers), and whether they are C(updating), C(degraded),
        C(paused).
      type: list
      elements: dict
      sample: []
    certificates:
      description: The certificates that could be read, the first to end first.
      type: list
      elements: dict
      contains:
        kind:
          description: What presents or has it.
          type: str
          sample: kubelet serving
        subject:
          description: Whose it is.
          type: str
          sample: worker-0.demo.metal.test
        ends_at:
          description: Its end, UTC.
          type: str
          sample: "2026-12-23T12:00:00Z"
        days:
          description: Whole days until its end.
          type: int
          sample: 29
        left:
          description: Time until its end, for a person.
          type: str
          sample: 29 d
        state:
          description: C(valid), C(ending) when it ends soon and was not renewed in time, or C(ended).
          type: str
          sample: valid
        within_days:
          description: Whether it ends within O(certificate_days).
          type: bool
          sample: true
    certificate_requests:
      description: The pending CSRs, each with what M(equinix_metal.openshift.csr_approval) would decide.
      type: list
      elements: dict
      contains:
        name:
          description: Its name.
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
        requestor:
          description: The user who filed it.
          type: str
          sample: system:node:worker-2.demo.metal.test
        filed_at:
          description: When it was filed, UTC.
          type: str
          sample: "2026-11-23T11:55:00Z"
        age:
          description: Time since then.
          type: str
          sample: 5 min
        verdict:
          description: What would be decided.
          type: str
          sample: would be approved
        reason:
          description: Why.
          type: str
          sample: first certificate of the expected machine worker-2.demo.metal.test
    locks:
      description: The cluster lock, if a run holds it, as M(equinix_metal.openshift.metal_cluster_info) returns it.
      type: list
      elements: dict
      sample: []
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.status import StatusModule


def main() -> None:
    with StatusModule() as module:
        module.report()


if __name__ == "__main__":
    main()
