# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: state_problem
short_description: Check that existing objects of a cluster belong to the install in its folder
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - The files of an install and the devices that were ordered with them have the same infraID, which is new for each install.
  - Returns an empty string when all existing objects of the cluster belong to that install, or when none exists.
positional: infra_id, directory, begun
options:
  _input:
    description:
      - The cluster, as M(equinix_metal.openshift.metal_cluster_info) returns it.
    type: dict
    required: true
  infra_id:
    description:
      - C(infraID) of the metadata.json in the cluster folder. Empty without one.
    type: str
    required: true
  directory:
    description:
      - The cluster folder, for messages.
    type: str
    required: true
  begun:
    description:
      - Whether an install was begun in the folder. Addresses and networks are created before the Ignition files, so they belong to it
        although the folder has no infraID yet.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Fail if the cluster is of another install
  ansible.builtin.assert:
    that: found.clusters[0] | equinix_metal.openshift.state_problem('demo-x7k2p', '/clusters/demo.example.com') | length == 0
"""

RETURN = r"""
_value:
  description: Why existing objects do not belong to that install.
  type: str
  sample: "demo.example.com exists and its files are not in /clusters/demo.example.com: worker-0 (infra id demo-x7k2p, created 2026-11-21)"
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_state import state_problem as problem_of


def state_problem(cluster: Any, infra_id: Any, directory: Any, begun: bool = False) -> str:
    """Return the problem; raises AnsibleFilterError for a malformed cluster."""
    if not isinstance(cluster, Mapping) or "devices" not in cluster:
        raise AnsibleFilterError("state_problem: the input has to be a cluster as metal_cluster_info returns it")
    return problem_of(cluster, str(infra_id or ""), str(directory), begun=begun)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"state_problem": state_problem}
