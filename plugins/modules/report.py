#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: report
short_description: Print a report of a cluster or a run, and write it to a file
version_added: 0.1.0
description:
  - Note that this module is private to the playbooks and roles of the collection, which pass their own results to it. Its options and
    results may change without notice. Only the keys of RV(status), which C(openshift_status_file) contains, are kept.
  - O(kind=summary) prints release, nodes, devices and their price, console, kubeconfig, duration of the phases, and the next commands. No
    password is printed. After that it fails if a device of a node has no Ready Node, except in check mode.
  - O(kind=status) compares inventory, devices, DNS records and cluster. It prints every finding with the next step, and the plan that would
    bring the cluster to the inventory. It writes to no API and acquires no lock. An API that does not answer is a finding and no error, and
    what only this API returns is not compared.
  - O(kind=run) writes an HTML page with phases and devices on a time axis, notices, changes and price, which
    M(equinix_metal.openshift.phase) and other tasks of the run have recorded, and deletes the record. The page contains no secrets. If it
    cannot be written, the module warns.
  - O(kind=failure) without O(report), in a C(rescue), prints and returns which task failed, on which object and why. With O(report), as the
    last task of the play, it also prints what to do next, what is still billed and where the failure bundle is, and fails. Results of tasks
    with C(no_log) and values of extra variables are never printed or returned.
options:
  kind:
    description: Kind of the report. Each kind refuses the options of the others.
    type: str
    choices: [summary, status, run, failure]
    required: true
  cluster:
    description: The cluster, C(<name>.<base domain>), for all kinds except V(status).
    type: str
    default: ""
  log:
    description: Result of M(equinix_metal.openshift.phase), for V(summary) and V(failure).
    type: list
    elements: dict
    default: []
  state_store:
    description: Value of C(openshift_state_store), for the places of files in AWX, for V(summary) and V(failure).
    type: str
    default: folder
  resources:
    description: Result of M(equinix_metal.openshift.metal_cluster_info), even a failed one. Required for V(summary).
    type: raw
  state:
    description: Result of M(equinix_metal.openshift.cluster_wait) with C(condition=install_complete). Required for V(summary).
    type: raw
  kubeconfig:
    description: Path of the kubeconfig. Required for V(summary).
    type: str
  password_file:
    description: Path of the file with the password of kubeadmin. Required for V(summary).
    type: str
  pending:
    description: Host names of machines that the playbook no longer waits for, for V(summary).
    type: list
    elements: str
    default: []
  plan:
    description: The plan of the playbook. If it has no step, V(summary) is short.
    type: raw
  settings:
    description: The settings and machines of the role C(validate). Required for V(status), as the options up to O(history) are.
    type: dict
  certificate_days:
    description: Certificates that expire within this number of days are findings. One that the cluster rotates is a finding only in the
      last tenth of its lifetime, since it is renewed before that.
    type: int
    default: 30
  server_certificates:
    description: Whether to read the certificates of API servers, machine config servers and kubelets from the servers themselves.
    type: bool
    default: true
  history:
    description: As O(equinix_metal.openshift.csr_approval#module:history). It is only read.
    type: str
    default: ""
  file:
    description: File to write, for V(status) as JSON. For V(run) by default a file in C(reports) below O(directory).
    type: path
    default: ""
  page:
    description: HTML file to write, for V(status).
    type: path
    default: ""
  fail_on:
    description: Groups of findings to return in C(failing), for V(status).
    type: list
    elements: str
    choices: [none, any, unreachable, differences, degraded, certificates, csrs]
    default: [none]
  directory:
    description: Folder of the cluster, for V(run).
    type: path
    default: ""
  keep:
    description: Number of reports to keep below O(directory), V(0) for all, for V(run).
    type: int
    default: 20
  failure:
    description: C(report) of a failed run, for V(run).
    type: dict
    default: {}
  report:
    description: C(report) of the call in the C(rescue), for V(failure).
    type: dict
  bundle:
    description: The fact C(gather_bundle) of the role P(equinix_metal.openshift.gather#role), for V(failure).
    type: raw
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.printing
  - equinix_metal.openshift._cluster.csr_rules
attributes:
  check_mode:
    support: full
    details: No file is written.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: The files contain the time.
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
"""

RETURN = r"""
status:
  description: The status.
  returned: O(kind=status)
  type: dict
  contains:
    cluster: {description: Name of the cluster., type: str, sample: demo.metal.test}
    generated_at: {description: "Time of the status by the clock of the controller, UTC.", type: str, sample: "2026-11-23T12:00:00Z"}
    exists: {description: "Whether the cluster exists, as far as known.", type: bool, sample: true}
    healthy: {description: Whether there are no findings., type: bool, sample: false}
    verdict: {description: The status in one line., type: str, sample: "demo.metal.test: 1 difference, 2 pending CSRs"}
    counts:
      description: Number of findings in each group.
      type: dict
      sample: {unreachable: 0, differences: 1, degraded: 0, certificates: 0, csrs: 2}
    findings:
      description: What differs from the inventory, or is not healthy.
      type: list
      elements: dict
      contains:
        group:
          description: One of C(unreachable), C(differences), C(degraded), C(certificates) and C(csrs).
          type: str
          sample: differences
        subject: {description: The machine or the object., type: str, sample: worker-1.demo.metal.test}
        text:
          description: What differs from the inventory, or is not healthy.
          type: str
          sample: its device has vanished, its Node is NotReady
        advice: {description: What to do next., type: str, sample: "run scale.yml, which replaces it"}
    plan:
      description: The plan of scale.yml with C(steps), C(counts), C(price_per_hour) before and after, and C(lines) for people. V(null) if
        nothing of the cluster exists.
      type: dict
      sample: {counts: {create: 1, change: 0, replace: 0, remove: 0}}
    notes:
      description: Notes such as the holder of the cluster lock, or an available update.
      type: list
      elements: str
      sample: ["Update available in stable-4.20: 4.20.34 (oc adm upgrade)"]
    metal_api:
      description: Whether the Metal API answers (C(answers)), and otherwise the C(problem).
      type: dict
      sample: {answers: true, problem: ""}
    cluster_api:
      description: Whether the API of the cluster answers (C(answers)), and otherwise the C(problem).
      type: dict
      sample: {answers: true, problem: ""}
    price_per_hour: {description: Price per hour of the devices on demand in USD. V(null) when it is not known., type: float, sample: 6.5}
    machines:
      description: The machines of the inventory, the devices and the Nodes, joined by name.
      type: list
      elements: dict
      contains:
        name: {description: Full host name., type: str, sample: worker-1.demo.metal.test}
        role: {description: Role in the cluster., type: str, sample: worker}
        pool: {description: "Machine pool, empty unless the inventory has the machine.", type: str, sample: worker}
        in_inventory: {description: Whether the inventory has the machine., type: bool, sample: true}
        device:
          description: Device with C(id), C(state), C(plan), C(metro), C(address), C(created_at), C(price_per_hour), or V(null).
          type: dict
        node:
          description: Node with C(ready), C(since), C(unschedulable), C(kubelet_version) and C(os_image). V(null) without one.
          type: dict
        findings: {description: Texts of the findings., type: list, elements: str, sample: []}
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
      description: The certificates that could be read, in the order of their expiry.
      type: list
      elements: dict
      contains:
        kind: {description: Kind of the certificate., type: str, sample: kubelet serving}
        subject: {description: Owner of the certificate., type: str, sample: worker-0.demo.metal.test}
        ends_at: {description: "Time of expiry, UTC.", type: str, sample: "2026-12-23T12:00:00Z"}
        days: {description: Whole days until it expires., type: int, sample: 29}
        left: {description: "Time until it expires, to display.", type: str, sample: 29 d}
        state: {description: "C(valid), C(ending) if it expires soon and was not renewed in time, or C(ended).", type: str, sample: valid}
        within_days: {description: Whether it expires within O(certificate_days)., type: bool, sample: true}
    certificate_requests:
      description: The pending CSRs, each with C(name), C(signer), C(node), C(reason) and the C(verdict) that
        M(equinix_metal.openshift.csr_approval) would return, with the user who filed it (C(requestor)), C(filed_at) in UTC, and C(age).
      type: list
      elements: dict
      sample: []
    locks:
      description: The cluster lock, if a run holds it, as M(equinix_metal.openshift.metal_cluster_info) returns it.
      type: list
      elements: dict
      sample: []
"""
