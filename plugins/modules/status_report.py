#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: status_report
short_description: Print the status of a cluster, and write it as JSON and as an HTML page
version_added: 0.1.0
description:
  - Prints what M(equinix_metal.openshift.cluster_status) has returned, the verdict first, and writes it to files on the controller.
  - With O(fail_on) it fails when there are findings of these groups, so that the playbook ends with an exit code for monitoring.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  status:
    description:
      - The status, RV(equinix_metal.openshift.cluster_status#module:status).
    type: dict
    required: true
  file:
    description:
      - File to write the status to, as JSON. Empty writes none.
    type: path
    default: ""
  page:
    description:
      - File to write the status to, as one HTML page that loads nothing else and has no scripts. Empty writes none.
    type: path
    default: ""
  fail_on:
    description:
      - Groups of findings with which the task fails, after everything was printed and written. V(any) stands for all groups.
    type: list
    elements: str
    choices: [none, any, unreachable, differences, degraded, certificates, csrs]
    default: [none]
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.printing
attributes:
  check_mode:
    support: full
    details:
      - No file is written.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - The files have the time of the status.
seealso:
  - module: equinix_metal.openshift.cluster_status
"""

EXAMPLES = r"""
- name: Print the status of the cluster, and fail if machines differ from the inventory
  equinix_metal.openshift.status_report:
    status: "{{ current.status }}"
    page: /var/www/html/status.html
    fail_on: [differences, unreachable]
"""

RETURN = r"""
lines:
  description: The printed lines.
  returned: success
  type: list
  elements: str
  sample:
    - demo.metal.test is healthy
"""
