#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: phase
short_description: Print which phase of a playbook begins
version_added: 0.1.0
description:
  - Prints one line, such as C([3/9] Publish boot files (elapsed 2m10s\)), on the terminal, in the log and as an event in AWX.
  - Hands on when each phase began, for the next phase, for the reports and for M(equinix_metal.openshift.report).
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  title:
    description: The phase, one of O(phases). By default the name of the task.
    type: str
  phases:
    description: The titles of all phases of the playbook, in their order.
    type: list
    elements: str
    required: true
  log:
    description: What the phase before has returned as RV(ignore:log). The first of O(phases) begins anew.
    type: list
    elements: dict
    default: []
  plan:
    description: The plan of the playbook, once it is made. The title of a phase without a step in it is printed with C(-v) only.
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
  description: The phases that have begun, this one last.
  returned: always
  type: list
  elements: dict
  contains:
    title: {description: Title of the phase., type: str, sample: Publish boot files}
    number: {description: "Its place in O(phases), from 1 on. V(null) when it is not one of them.", type: int, sample: 2}
    count: {description: How many phases there are., type: int, sample: 3}
    started_at: {description: "When it began, in seconds since 1970.", type: float, sample: 1795348991.2}
"""
