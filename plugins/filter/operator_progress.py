# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: operator_progress
short_description: Whether OLM has installed an operator
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the state of an operator from the Subscription and the ClusterServiceVersion of its namespace.
positional: package
options:
  _input:
    description:
      - Subscriptions and ClusterServiceVersions of the operator's namespace.
    type: list
    elements: dict
    required: true
  package:
    description:
      - The operator's package.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Print why the operator is not installed
  ansible.builtin.debug:
    msg: "{{ (found.resources | equinix_metal.openshift.operator_progress('lvms-operator')).message }}"
"""

RETURN = r"""
_value:
  description: The state.
  type: dict
  contains:
    installed:
      description: Name of the ClusterServiceVersion that OLM has installed, empty before.
      type: str
      sample: lvms-operator.v4.20.0
    ready:
      description: Whether the operator runs.
      type: bool
      sample: true
    failed:
      description: Whether the catalogue has no such package or channel, so that waiting does not help.
      type: bool
      sample: false
    message:
      description: What OLM reports.
      type: str
      sample: "lvms-operator.v4.20.0 is Succeeded: install strategy completed with no errors"
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_services.olm import operator_progress


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"operator_progress": operator_progress}
