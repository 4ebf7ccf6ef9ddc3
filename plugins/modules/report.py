#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Print a report of a cluster or a run, and write it to a file
version_added: 0.1.0
description:
  - O(kind=summary) prints, at the end of a playbook, which release runs on which nodes, the devices and their price per hour, console and
    kubeconfig, how long each phase took, and the commands that come next. No password is printed. What is not known, since an API did not
    answer, is said to be unknown. It fails, after the summary, if a device that is to be a node has no Ready Node of its own, except in
    check mode.
  - O(kind=status) compares the inventory, the devices with the ownership tag of the cluster, the DNS records and what the cluster's API
    has. It prints the verdict, everything that needs attention with the next step, and the plan that would bring the cluster to the
    inventory. It writes to no API and takes no lock. It reads what the preflight checks read of these
    (P(equinix_metal.openshift.preflight#lookup)), and beside it certificates, versions and pending CSRs; lists only, so the number of calls
    is the same for 5 and for 400 machines. An API that does not answer is a part of the status and no error. What only that API has is then
    unknown and is not reported as a difference. Certificates are read from the kubeconfig, from issued CSRs, from the annotations of the
    Secrets of the cluster's signers, whose content is not read, and from the servers themselves (O(server_certificates)).
  - O(kind=run) writes, at the end of a playbook, one HTML page with the phases and devices of the run on a time axis, notices of CSR
    approval and of APIs that did not answer, the number of API calls and of those that were repeated after a fault, the changes, and the
    price per hour. The tasks and modules of the run record these from the first M(equinix_metal.openshift.phase) on. The record is deleted
    with the report. The page loads nothing, has no scripts and no secrets. A report that cannot be written is a warning.
  - O(kind=failure) without O(report), in a C(rescue), prints what failed, on which object and why, and returns it. It reads the variables
    that Ansible sets there (C(ansible_failed_task), C(ansible_failed_result)), so nothing has to be handed in. With O(report), as the last
    task of the play, it prints what failed, on which object, why, what to do next, what is still billed and where the failure bundle is,
    and fails. So this is the last thing on the screen, whatever was tried in between. Nothing of a task or a loop's item with C(no_log) is
    printed or returned, and no value of an extra variable.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  kind:
    description: What is reported. Each kind has options of its own, which the others refuse.
    type: str
    choices: [summary, status, run, failure]
    required: true
  cluster:
    description: The cluster, C(<name>.<base domain>). For O(kind=summary), O(kind=run) and O(kind=failure).
    type: str
    default: ""
  log:
    description: The phases of the playbook so far, as M(equinix_metal.openshift.phase) has returned them. For O(kind=summary) and
      O(kind=failure).
    type: list
    elements: dict
    default: []
  state_store:
    description: Value of C(openshift_state_store). In a job of AWX, whose files are removed at its end, O(kind=summary) says where
      kubeconfig and password are saved, and O(kind=failure) where the failure bundle is.
    type: str
    default: folder
  resources:
    description: What M(equinix_metal.openshift.metal_cluster_info) has returned for the cluster, also when it failed. O(kind=summary)
      requires it. Without it O(kind=failure) prints nothing about billed objects.
    type: raw
  state:
    description: What M(equinix_metal.openshift.cluster_wait) has returned with C(condition=install_complete) and C(node_details=true).
      Required for O(kind=summary).
    type: raw
  kubeconfig:
    description: Path of the kubeconfig. Required for O(kind=summary).
    type: str
  password_file:
    description: Path of the file with the password of kubeadmin. Required for O(kind=summary).
    type: str
  pending:
    description: Host names of machines that the playbook no longer waits for, since enough others have joined. For O(kind=summary).
    type: list
    elements: str
    default: []
  plan:
    description: The plan of the playbook. Of a run whose plan has no step O(kind=summary) prints only the release, with C(-v) all of it.
    type: raw
  settings:
    description: The settings of the cluster and the machines of the inventory, as the role C(validate) has them for the preflight checks.
      Required for O(kind=status), as all options from here to O(history) are for this kind.
    type: dict
  certificate_days:
    description: Certificates that end within so many days are named. One that the cluster rotates is only reported as a finding when less
      than a tenth of its lifetime is left, since its successor is due before that.
    type: int
    default: 30
  server_certificates:
    description: Whether to connect to the API servers, the machine config servers (port 22623) and the kubelets (port 10250) at the
      addresses of their devices, to read which certificate they present. Nothing is sent. A server that cannot be reached from here is left
      out.
    type: bool
    default: true
  additional_addresses:
    description: As O(equinix_metal.openshift.csr_approval#module:additional_addresses), for the verdicts on pending CSRs. The same applies
      to the next six options.
    type: list
    elements: str
    default: []
  window:
    description: As O(equinix_metal.openshift.csr_approval#module:window).
    type: float
    default: 7200
  short_names:
    description: As O(equinix_metal.openshift.csr_approval#module:short_names).
    type: bool
    default: false
  pending_limit:
    description: As O(equinix_metal.openshift.csr_approval#module:pending_limit).
    type: int
  second_key_after:
    description: As O(equinix_metal.openshift.csr_approval#module:second_key_after).
    type: float
    default: 60
  recover_nodes:
    description: As O(equinix_metal.openshift.csr_approval#module:recover_nodes).
    type: bool
    default: false
  history:
    description: As O(equinix_metal.openshift.csr_approval#module:history). It is only read.
    type: str
    default: ""
  file:
    description: File to write, of O(kind=status) as JSON. Empty, O(kind=status) writes none, and O(kind=run) writes one in C(reports) below
      O(directory), with the playbook and the time in its name.
    type: path
    default: ""
  page:
    description: File to write the status to, as one HTML page that loads nothing else and has no scripts. Empty writes none. For
      O(kind=status).
    type: path
    default: ""
  fail_on:
    description: Groups of findings that RV(failing) names if there are any, for a task that fails on them. V(any) stands for all groups.
      For O(kind=status).
    type: list
    elements: str
    choices: [none, any, unreachable, differences, degraded, certificates, csrs]
    default: [none]
  directory:
    description: Folder of the cluster. If it does not exist, and without O(file), no report is written. For O(kind=run).
    type: path
    default: ""
  keep:
    description: Number of reports to keep below O(directory), the newest ones; V(0) keeps all. For O(kind=run).
    type: int
    default: 20
  failure:
    description: RV(ignore:report) of O(kind=failure), for a run that failed. For O(kind=run).
    type: dict
    default: {}
  report:
    description: RV(ignore:report) of the call in the C(rescue). With it O(kind=failure) ends the play.
    type: dict
  bundle:
    description: The fact C(gather_bundle) of the role P(equinix_metal.openshift.gather#role). For O(kind=failure).
    type: raw
extends_documentation_fragment: [equinix_metal.openshift._attributes, equinix_metal.openshift._attributes.printing]
attributes:
  check_mode:
    support: full
    details: No file is written.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: The files of a status and of a run have its time.
seealso:
  - module: equinix_metal.openshift.phase
  - module: equinix_metal.openshift.metal_cluster_info
"""

EXAMPLES = r"""
- name: Print the cluster summary
  equinix_metal.openshift.report:
    kind: summary
    cluster: demo.example.com
    state: "{{ state }}"
    resources: "{{ resources }}"
    kubeconfig: clusters/demo.example.com/kubeconfig
    password_file: clusters/demo.example.com/ignition/auth/kubeadmin-password

# playbooks/status.yml does this.
- name: Print the status of the cluster
  ansible.builtin.include_role:
    name: equinix_metal.openshift.validate
    tasks_from: status
  vars:
    validate_workers: "{{ machines.workers }}"
    openshift_status_page: /var/www/html/status.html
    openshift_status_fail_on: [differences, unreachable]

- name: Write the run report
  equinix_metal.openshift.report:
    kind: run
    cluster: demo.metal.test
    directory: clusters/demo.metal.test

# In the rescue section of a block
- name: Print the error
  equinix_metal.openshift.report:
    kind: failure
    cluster: demo.example.com
    log: "{{ play_phase.log | default([]) }}"
  register: play_failure

# The last task of the play
- name: Fail with the failure report
  equinix_metal.openshift.report:
    kind: failure
    report: "{{ play_failure.report }}"
    resources: "{{ resources }}"
  when: play_failure is defined
"""

RETURN = r"""
status:
  description: The status.
  returned: O(kind=status)
  type: dict
  contains:
    cluster: {description: The cluster., type: str, sample: demo.metal.test}
    generated_at: {description: "When the status was read, by the clock of this computer, UTC.", type: str, sample: "2026-11-23T12:00:00Z"}
    exists: {description: "Whether the cluster exists, as far as is known.", type: bool, sample: true}
    healthy: {description: Whether there is no finding., type: bool, sample: false}
    verdict: {description: The status in one line., type: str, sample: "demo.metal.test: 1 difference, 2 pending CSRs"}
    counts:
      description: Number of findings in each group.
      type: dict
      sample: {unreachable: 0, differences: 1, degraded: 0, certificates: 0, csrs: 2}
    findings:
      description: What differs from the inventory or is not healthy.
      type: list
      elements: dict
      contains:
        group:
          description: One of C(unreachable), C(differences), C(degraded), C(certificates) and C(csrs).
          type: str
          sample: differences
        subject: {description: The machine or the object., type: str, sample: worker-1.demo.metal.test}
        text:
          description: What differs from the inventory or is not healthy.
          type: str
          sample: its device has vanished, its Node is NotReady
        advice: {description: What to do next., type: str, sample: "run scale.yml, which replaces it"}
    plan:
      description: What scale.yml would do, with C(steps), C(counts), C(price_per_hour) before and after, and C(lines) for people. V(null)
        if nothing of the cluster exists.
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
        name: {description: Full name., type: str, sample: worker-1.demo.metal.test}
        role: {description: Role in the cluster., type: str, sample: worker}
        pool: {description: "Machine pool, empty unless the inventory has the machine.", type: str, sample: worker}
        in_inventory: {description: Whether the inventory has the machine., type: bool, sample: true}
        device:
          description: Its device with C(id), C(state), C(plan), C(metro), C(address), C(created_at), C(price_per_hour), or V(null).
          type: dict
          sample: null
        node:
          description: Its Node with C(ready), C(since), C(unschedulable), C(kubelet_version) and C(os_image). V(null) without one.
          type: dict
          sample: null
        findings: {description: The texts of the findings on it., type: list, elements: str, sample: []}
    version:
      description: C(openshift) and C(kubernetes), the C(channel), C(last_completed) update, C(available_updates), and the release of the
        cluster's C(boot_images).
      type: dict
      sample:
        openshift: 4.20.33
        kubernetes: v1.33.6
        channel: stable-4.20
        last_completed: 4.20.33
        available_updates: []
        boot_images: 4.20.33
    operators:
      description: The cluster operators with C(name), C(available), C(progressing), C(degraded) and C(message).
      type: list
      elements: dict
      sample: []
    pools:
      description: The machine config pools with C(name), C(machines), C(ready), C(updated) (numbers), and whether they are C(updating),
        C(degraded), C(paused).
      type: list
      elements: dict
      sample: []
    certificates:
      description: The certificates that could be read, the first to end first.
      type: list
      elements: dict
      contains:
        kind: {description: What presents or has it., type: str, sample: kubelet serving}
        subject: {description: Whose it is., type: str, sample: worker-0.demo.metal.test}
        ends_at: {description: "Its end, UTC.", type: str, sample: "2026-12-23T12:00:00Z"}
        days: {description: Whole days until its end., type: int, sample: 29}
        left: {description: "Time until its end, for a person.", type: str, sample: 29 d}
        state: {description: "C(valid), C(ending) when it ends soon and was not renewed in time, or C(ended).", type: str, sample: valid}
        within_days: {description: Whether it ends within O(certificate_days)., type: bool, sample: true}
    certificate_requests:
      description: The pending CSRs, each with what M(equinix_metal.openshift.csr_approval) would decide.
      type: list
      elements: dict
      contains:
        name: {description: Name of the organization., type: str, sample: csr-7xk2p}
        signer: {description: Signer of the CSR., type: str, sample: kubernetes.io/kubelet-serving}
        node: {description: "Node of the CSR, empty if it has none.", type: str, sample: worker-2.demo.metal.test}
        requestor: {description: The user who filed the CSR., type: str, sample: system:node:worker-2.demo.metal.test}
        filed_at: {description: "When it was filed, UTC.", type: str, sample: "2026-11-23T11:55:00Z"}
        age: {description: Time since then., type: str, sample: 5 min}
        verdict: {description: What would be decided., type: str, sample: would be approved}
        reason:
          description: Reason of the decision.
          type: str
          sample: first certificate of the expected machine worker-2.demo.metal.test
    locks:
      description: The cluster lock, if a run holds it, as M(equinix_metal.openshift.metal_cluster_info) returns it.
      type: list
      elements: dict
      sample: []
failing:
  description: The groups of O(fail_on) that have findings.
  returned: O(kind=status)
  type: list
  elements: str
  sample: [differences]
lines:
  description: The printed lines, of a summary without the times.
  returned: O(kind=summary) or O(kind=status)
  type: list
  elements: str
  sample: ["demo.example.com runs OpenShift 4.20.33 on 5 nodes, 5 Ready"]
path:
  description: The file that was written, V(null) without one.
  returned: O(kind=run)
  type: str
  sample: clusters/demo.metal.test/reports/install-20261123T120000Z.html
report:
  description: What failed, for the last call.
  returned: O(kind=failure) without O(report)
  type: dict
  contains:
    title:
      description: Which playbook failed for which cluster, in which phase, after how long.
      type: str
      sample: Install of demo.example.com failed in phase 5 of 9, Create bootstrap and control plane devices (after 4m12s)
    cluster: {description: The cluster., type: str, sample: demo.example.com}
    task: {description: Name of the task., type: str, sample: Create the devices}
    action: {description: The module or action of the task., type: str, sample: metal_device_set}
    object: {description: "The object that the task was about, as far as its options name it.", type: str, sample: ""}
    items:
      description: Each object that failed, of a loop its items, of a set its devices, with C(name) and C(reason).
      type: list
      elements: dict
      sample:
        - name: master-1.demo.example.com
          reason: "Cannot create device master-1.demo.example.com: the API returned 422: There aren't available servers"
    reasons: {description: "Lines that say why the task failed, where no C(items) do.", type: list, elements: str, sample: []}
    advice:
      description: What to do about such a failure, a text each.
      type: list
      elements: str
      sample: [Choose another metro or plan in metal_placement.]
    refusal:
      description: Whether the task only refused to go on (M(ansible.builtin.assert), M(ansible.builtin.fail), arguments of a role).
      type: bool
      sample: false
result:
  description: The failed result, without what is hidden by C(no_log).
  returned: O(kind=failure) without O(report)
  type: dict
  sample: {failed: true, msg: No space left on device}
"""
