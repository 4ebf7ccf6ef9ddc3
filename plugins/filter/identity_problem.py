# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: identity_problem
short_description: Check that a running cluster is the cluster of the inventory
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Compares the name and the infraID of a running cluster with the inventory, the existing devices and the files in the cluster folder.
    With the kubeconfig of another cluster, that cluster's nodes would be drained and deleted.
positional: cluster, devices, infra_id
options:
  _input:
    description:
      - The running cluster, C(boot) of M(equinix_metal.openshift.cluster_boot_info).
    type: dict
    required: true
  cluster:
    description:
      - Name of the inventory's cluster with its base domain.
    type: str
    required: true
  devices:
    description:
      - The devices with the ownership tag of the inventory's cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    default: []
  infra_id:
    description:
      - C(infraID) of the metadata.json in the cluster folder. Empty without one.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Fail if the kubeconfig connects to another cluster
  ansible.builtin.assert:
    that: running.boot | equinix_metal.openshift.identity_problem('demo.metal.test', found.devices) | length == 0
"""

RETURN = r"""
_value:
  description: Why it is another cluster, empty if it is not.
  type: str
  sample: the kubeconfig connects to other.metal.test (infraID other-k2x7p), and the inventory is of demo.metal.test
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_state import identity_problem


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"identity_problem": identity_problem}
