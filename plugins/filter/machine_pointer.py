# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: machine_pointer
short_description: Ignition pointer of one machine
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the Ignition pointer of a machine, made from that of its role. It leads to the machine's own MachineConfigPool, if it has one,
    and gives the kubelet the labels and taints that the node registers with.
  - The kubelet may not set all labels. Those of C(kubernetes.io) and C(k8s.io) are left out, except for C(node.kubernetes.io),
    C(kubelet.kubernetes.io), and region and zone of C(topology.kubernetes.io).
positional: machine
options:
  _input:
    description:
      - Ignition pointer of the machine's role, as text. An empty one stays empty.
    type: str
    required: true
  machine:
    description:
      - The machine, as P(equinix_metal.openshift.machines#filter) returns it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the pointer of a worker
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.file', 'worker.ign') | equinix_metal.openshift.machine_pointer(worker) }}"
"""

RETURN = r"""
_value:
  description: The pointer. Without labels, taints and an own MachineConfigPool it is that of the role.
  type: str
  sample: '{"ignition":{"config":{"merge":[{"source":"https://api-int.demo.metal.test:22623/config/infra"}]},"version":"3.2.0"}}'
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.machine_pointer import machine_pointer as pointer_of


def machine_pointer(pointer: Any, machine: Mapping[str, Any]) -> str:
    """Return the pointer. A text of JSON may have become a dictionary, before ansible-core 2.19."""
    text = json.dumps(pointer, separators=(",", ":"), sort_keys=True) if isinstance(pointer, Mapping) else pointer or ""
    return pointer_of(text, machine)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"machine_pointer": machine_pointer}
