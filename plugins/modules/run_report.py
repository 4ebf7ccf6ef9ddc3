#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_report
short_description: Write what a run has done as an HTML page
version_added: 0.1.0
description:
  - Writes, at the end of a playbook, one HTML page with the phases and devices of the run on a time axis, notices of CSR approval and of
    APIs that did not answer, the number of API calls and of those that were repeated after a fault, the changes, and the price per hour.
  - The tasks and modules of the run record these from the first M(equinix_metal.openshift.phase) on. The record is deleted with the report.
  - The page loads nothing, has no scripts and no secrets.
  - A report that cannot be written is a warning.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  cluster:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    required: true
  file:
    description:
      - File to write. Empty is a file in C(reports) below O(directory), with the playbook and the time in its name.
    type: path
    default: ""
  directory:
    description:
      - Folder of the cluster. If it does not exist, and without O(file), no report is written.
    type: path
    default: ""
  keep:
    description:
      - Number of reports to keep below O(directory), the newest ones; V(0) keeps all.
    type: int
    default: 20
  failure:
    description:
      - What M(equinix_metal.openshift.failure_report) has returned as C(report), for a run that failed.
    type: dict
    default: {}
  resources:
    description:
      - What M(equinix_metal.openshift.metal_cluster_info) has returned, for a run without a summary.
    type: raw
    default: {}
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
    support: N/A
    details:
      - Each run has a report of its own. It is not counted as a change.
"""

EXAMPLES = r"""
- name: Write the run report
  equinix_metal.openshift.run_report:
    cluster: demo.metal.test
    directory: clusters/demo.metal.test
"""

RETURN = r"""
path:
  description: The file that was written, V(null) without one.
  returned: success
  type: str
  sample: clusters/demo.metal.test/reports/install-20261123T120000Z.html
"""
