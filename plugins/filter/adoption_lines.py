# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: adoption_lines
short_description: What is managed of a cluster that was installed in another way
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns lines with the release, platform and network of a running cluster, its nodes with the devices of the project that they run on,
    and what is managed from now on.
positional: nodes, machines, devices, cluster
options:
  _input:
    description:
      - The running cluster, C(boot) of M(equinix_metal.openshift.cluster_boot_info).
    type: dict
    required: true
  nodes:
    description:
      - Its Nodes, as M(equinix_metal.openshift.node_info) returns them.
    type: list
    elements: dict
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
- name: Print what is managed
  equinix_metal.openshift.print_lines:
    lines: >-
      {{ running.boot | equinix_metal.openshift.adoption_lines(found.nodes, {'workers': workers}, project.devices, 'demo.metal.test') }}
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample: ["demo.metal.test runs OpenShift 4.20.33 (platform None, network OVNKubernetes, machines x86_64, infraID demo-x7k2p)"]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.adoption import adoption_lines


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"adoption_lines": adoption_lines}
