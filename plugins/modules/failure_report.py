#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: failure_report
short_description: Print why a playbook failed, and end it
version_added: 0.1.0
description:
  - Without O(report), in a C(rescue), prints what failed, on which object and why, and returns it. It reads the variables that Ansible sets
    there (C(ansible_failed_task), C(ansible_failed_result)), so nothing has to be handed in.
  - With O(report), as the last task of the play, prints what failed, on which object, why, what to do next, what is still billed and where
    the failure bundle is, and fails. So this is the last thing on the screen, whatever was tried in between.
  - Nothing of a task or a loop's item with C(no_log) is printed or returned, and no value of an extra variable.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  cluster:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    default: ""
  log:
    description:
      - The phases of the playbook so far, as M(equinix_metal.openshift.phase) has returned them.
    type: list
    elements: dict
    default: []
  report:
    description:
      - RV(ignore:report) of the call in the C(rescue). With it the module ends the play.
    type: dict
  resources:
    description:
      - What M(equinix_metal.openshift.metal_cluster_info) has returned for the cluster, also when it failed. Without it nothing is printed
        about billed objects.
    type: raw
  bundle:
    description:
      - The fact C(gather_bundle) of the role P(equinix_metal.openshift.gather#role).
    type: raw
  state_store:
    description:
      - Value of C(openshift_state_store). In a job of AWX, whose files are removed at its end, it says where the failure bundle is saved.
    type: str
    default: folder
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.printing
seealso:
  - module: equinix_metal.openshift.phase
"""

EXAMPLES = r"""
# In the rescue section of a block
- name: Print the error
  equinix_metal.openshift.failure_report:
    cluster: demo.example.com
    log: "{{ play_phase.log | default([]) }}"
  register: play_failure

- name: List what is still billed
  equinix_metal.openshift.metal_cluster_info:
    names: [demo.example.com]
  register: resources
  failed_when: false

# The last task of the play
- name: Fail with the failure report
  equinix_metal.openshift.failure_report:
    report: "{{ play_failure.report }}"
    resources: "{{ resources }}"
  when: play_failure is defined
"""

RETURN = r"""
report:
  description: What failed, for the last call.
  returned: without O(report)
  type: dict
  contains:
    title:
      description: Which playbook failed for which cluster, in which phase, after how long.
      type: str
      sample: Install of demo.example.com failed in phase 5 of 9, Create bootstrap and control plane devices (after 4m12s)
    cluster:
      description: The cluster.
      type: str
      sample: demo.example.com
    task:
      description: Name of the task.
      type: str
      sample: Create the devices
    action:
      description: The module or action of the task.
      type: str
      sample: metal_device_set
    object:
      description: The object that the task was about, as far as its options name it.
      type: str
      sample: ""
    items:
      description: Each object that failed, of a loop its items, of a set its devices, with C(name) and C(reason).
      type: list
      elements: dict
      sample:
        - name: master-1.demo.example.com
          reason: "Cannot create device master-1.demo.example.com: the API returned 422: There aren't available servers"
    reasons:
      description: Lines that say why the task failed, where no C(items) do.
      type: list
      elements: str
      sample: []
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
  returned: without O(report)
  type: dict
  sample: {failed: true, msg: No space left on device}
"""
