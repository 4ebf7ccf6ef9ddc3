#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: phase
short_description: Print which phase of a playbook begins
version_added: 0.1.0
description:
  - Note that this module is private to the playbooks of the collection. Its options may change without notice.
  - Prints a line such as C([3/9] Publish boot files (elapsed 2m10s\)), on the terminal, in the log and as an event in AWX.
options:
  title:
    description: The phase, one of O(phases). By default the name of the task.
    type: str
  phases:
    description: Titles of all phases of the playbook in their order.
    type: list
    elements: str
    required: true
  log:
    description: RV(ignore:log) of the previous phase. The first of O(phases) starts a new log.
    type: list
    elements: dict
    default: []
  plan:
    description: The plan of the playbook, if known. A phase without a step in it is printed with C(-v) only.
    type: raw
extends_documentation_fragment: [equinix_metal.openshift._attributes.info_module, equinix_metal.openshift._attributes.printing]
"""

EXAMPLES = r"""
- name: Publish boot files
  equinix_metal.openshift.phase:
    phases: [Create Ignition files, Publish boot files, Create devices]
    log: "{{ phase.log | default([]) }}"
  register: phase
"""

RETURN = r"""
log:
  description: The phases that have started, each with C(title), C(number) in O(phases), their C(count), and C(started_at) as a Unix time.
  returned: always
  type: list
  elements: dict
  sample: [{title: Publish boot files, number: 2, count: 3, started_at: 1795348991.2}]
"""
