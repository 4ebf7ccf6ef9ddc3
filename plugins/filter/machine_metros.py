# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: machine_metros
short_description: Metros in which machines are or may be placed
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the metros of machines, also those of C(metal_placement), for objects that are needed in each of them, such as VLANs.
  - A machine whose device exists is in the metro of that device only.
positional: devices
options:
  _input:
    description:
      - Machines, as P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    required: true
  devices:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Print the metros of the workers
  ansible.builtin.debug:
    msg: "{{ groups['workers'] | equinix_metal.openshift.machines(hostvars) | equinix_metal.openshift.machine_metros }}"
"""

RETURN = r"""
_value:
  description: Codes of the metros, sorted. Without V(any).
  type: list
  elements: str
  sample: [da, ny]
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.placement import metros_of


def machine_metros(machines: Iterable[Mapping[str, Any]], devices: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """Return the metros. Raises AnsibleFilterError for a malformed input."""
    try:
        return metros_of(machines, devices)
    except (KeyError, TypeError, AttributeError) as problem:
        raise AnsibleFilterError(f"machine_metros: the input has to be machines of the filter machines: {problem!r}") from problem


class FilterModule:
    """Offers machine_metros."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"machine_metros": machine_metros}
