# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unhealthy_machines
short_description: Machines that need a repair or a replacement
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the machines of the inventory whose device failed, was deleted or is switched off, or whose Node is not Ready.
positional: machines, nodes
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  machines:
    description:
      - The machines of the inventory, C(control_plane) and C(workers), each a list as P(equinix_metal.openshift.machines#filter) returns
        them.
    type: dict
    required: true
  nodes:
    description:
      - The Nodes of the cluster, as M(equinix_metal.openshift.node_info) returns them.
    type: list
    elements: dict
    required: true
  replace_after:
    description:
      - Time in seconds for which the Node of a worker may be not Ready before the worker is due for replacement; V(0) is never.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Print which machines need a repair
  ansible.builtin.debug:
    msg: "{{ found.devices | equinix_metal.openshift.unhealthy_machines(machines, cluster.nodes) | map(attribute='line') | list }}"
"""

RETURN = r"""
_value:
  description: The machines by host name.
  type: list
  elements: dict
  contains:
    hostname:
      description: Host name.
      type: str
      sample: worker-1.demo.metal.test
    inventory_hostname:
      description: Name of the host in the inventory.
      type: str
      sample: worker-1
    role:
      description: V(worker) or V(control-plane).
      type: str
      sample: worker
    kind:
      description: V(device_failed), V(device_missing) (its Node is left), V(device_off) or V(node_not_ready).
      type: str
      sample: node_not_ready
    reason:
      description: What is wrong with the machine.
      type: str
      sample: "its Node is not Ready (Ready=Unknown: Kubelet stopped posting node status.)"
    since:
      description: Since when its Node is not Ready, V(null) if it is Ready or has no Node.
      type: str
      sample: "2026-05-04T10:00:00Z"
    seconds:
      description: For how many seconds its Node is not Ready.
      type: int
      sample: 1800
    is_due:
      description: Whether C(scale.yml) may replace the machine, by O(replace_after).
      type: bool
      sample: true
    line:
      description: All of it as a line, with the next step.
      type: str
      sample: >-
        device_failed: worker-1.demo.metal.test: its device 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11 is in the state failed. Replace it:
        ansible-playbook replace.yml -e openshift_replace=worker-1
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift import replacement


def unhealthy_machines(
    devices: Iterable[Mapping[str, Any]],
    machines: Mapping[str, Sequence[Mapping[str, Any]]],
    nodes: Iterable[Mapping[str, Any]],
    *,
    replace_after: int = 0,
) -> list[dict[str, Any]]:
    """Return the unhealthy machines."""
    try:
        fleet = replacement.Fleet(devices, nodes, machines)
        return replacement.unhealthy_machines(fleet, now=datetime.now(UTC), replace_after=int(replace_after))
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        needed = "the input has to be devices, machines and nodes as this collection returns them"
        raise AnsibleFilterError(f"unhealthy_machines: {needed}: {problem!r}") from problem


class FilterModule:
    """Offers unhealthy_machines."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"unhealthy_machines": unhealthy_machines}
