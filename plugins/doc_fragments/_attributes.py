# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules promise, as data: check mode, diff mode, idempotence, action group."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and predict the changes without writing anything.
  diff_mode:
    description: Returns what was changed (in check mode what would be), or shows it with C(--diff), never with a secret in it.
  idempotent:
    description: Running it a second time changes nothing and writes nothing.
"""

    # A module that changes something.
    CHANGING = r"""
options: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""

    # A module that only reads.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not change anything.
  diff_mode:
    support: N/A
    details:
      - This module does not change anything.
  idempotent:
    support: full
    details:
      - This module does not change anything.
"""

    # Modules in the action group of all that speak the Metal API.
    METAL = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/equinix_metal.openshift.metal) in C(module_defaults) to set the options of the connection once.
    support: full
    membership:
      - equinix_metal.openshift.metal
"""

    # Modules in the action group of all that speak to the cluster.
    CLUSTER = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/equinix_metal.openshift.cluster) in C(module_defaults) to set the options of the connection once.
    support: full
    membership:
      - equinix_metal.openshift.cluster
"""

    # What only prints: it is its action plugin, and runs nothing on a host.
    PRINTING = r"""
options: {}
attributes:
  action:
    description: Runs on the controller, where the playbook runs.
    support: full
"""
