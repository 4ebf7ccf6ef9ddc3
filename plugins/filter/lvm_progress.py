# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: lvm_progress
short_description: Whether the volume groups of LVM Storage exist
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the state of an LVMCluster.
options:
  _input:
    description:
      - The LVMClusters of the namespace.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the nodes without a volume group
  ansible.builtin.debug:
    msg: "{{ (found.resources | equinix_metal.openshift.lvm_progress).message }}"
"""

RETURN = r"""
_value:
  description: The state.
  type: dict
  contains:
    ready:
      description: Whether the volume groups exist.
      type: bool
      sample: true
    message:
      description: The state, and the nodes without a volume group.
      type: str
      sample: Ready
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_services.lvms import lvm_progress


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"lvm_progress": lvm_progress}
