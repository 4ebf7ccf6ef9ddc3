# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: adoption_problem
short_description: Why workers cannot be added to a cluster that was installed in another way
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns why bare metal workers cannot be added to a running cluster by the inventory, an empty string if they can.
positional: machines, devices, cluster
options:
  _input:
    description:
      - The running cluster, C(boot) of M(equinix_metal.openshift.cluster_boot_info).
    type: dict
    required: true
  machines:
    description:
      - Machines of the inventory by group, C(bootstrap), C(control_plane) and C(workers).
    type: dict
    required: true
  devices:
    description:
      - All devices of the project, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  cluster:
    description:
      - Name of the inventory's cluster with its base domain.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Fail if the cluster cannot be adopted
  ansible.builtin.assert:
    that: >-
      running.boot | equinix_metal.openshift.adoption_problem({'workers': workers}, project.devices, 'demo.metal.test') | length == 0
"""

RETURN = r"""
_value:
  description: The problem.
  type: str
  sample: its platform is AWS, whose cloud provider removes nodes that are no machines of its own
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.adoption import adoption_problem


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"adoption_problem": adoption_problem}
