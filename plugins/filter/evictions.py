# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: evictions
short_description: Workers whose devices the Metal API deletes soon
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the workers whose devices have a termination time in the next seconds, and the limits of one drain of all their Nodes.
positional: _input
options:
  _input:
    description: The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  nodes:
    description: The Nodes of the cluster, as M(equinix_metal.openshift.node_info) returns them. A worker has the name of its Node, also
      when its device was renamed.
    type: list
    elements: dict
    default: []
  within:
    description: Time in seconds until the termination time, at most.
    type: int
    default: 300
"""

EXAMPLES = r"""
- name: Print which workers are deleted soon
  ansible.builtin.debug:
    msg: "{{ (found.devices | equinix_metal.openshift.evictions).lines }}"
"""

RETURN = r"""
_value:
  description: The evictions.
  type: dict
  contains:
    evictions:
      description: The workers, the first to be deleted first, each with C(hostname), C(termination_time) and C(seconds).
      type: list
      elements: dict
      sample: [{hostname: worker-0.demo.metal.test, termination_time: "2026-11-21T09:02:00Z", seconds: 104}]
    nodes:
      description: Names of their Nodes, or the host name in lower case of a device without a Node.
      type: list
      elements: str
      sample: [worker-0.demo.metal.test]
    timeout: {description: "Seconds that a drain of all of them may take, until shortly before the last deletion.", type: int, sample: 94}
    grace_period: {description: "Seconds that a pod may have to end, until shortly before the first deletion.", type: int, sample: 94}
    lines:
      description: The workers as lines to print.
      type: list
      elements: str
      sample: ["worker-0.demo.metal.test: the Metal API deletes its device at 2026-11-21T09:02:00Z, in 104 s"]
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils.machines.evictions import evictions as evictions_of


def evictions(devices: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]] = (), within: int = 300) -> dict[str, Any]:
    """Return the evictions of the next seconds. Raises AnsibleFilterError for a malformed input."""
    try:
        return evictions_of(devices, nodes, now=datetime.now(UTC), within=int(within))
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise AnsibleFilterError(f"evictions: the input has to be devices as this collection returns them: {problem!r}") from problem


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"evictions": evictions}
