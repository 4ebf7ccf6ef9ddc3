# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: renamed_devices
short_description: Devices whose host name is not the name of their Node
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the devices that have another name than their Node, a sentence each, with the command that restores the name.
  - The id of a device is its identity. By its name such a device would be taken for none, and another one ordered.
positional: _input
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  nodes:
    description:
      - The Nodes of the cluster, as M(equinix_metal.openshift.node_info) returns them.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Fail if a device has another name than its node
  ansible.builtin.assert:
    that: found.devices | equinix_metal.openshift.renamed_devices(cluster.nodes) == []
"""

RETURN = r"""
_value:
  description: The devices, empty when all have the names of their Nodes.
  type: list
  elements: str
  sample: []
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_identity import identify


def renamed_devices(devices: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each device with another name than its Node. Raises AnsibleFilterError for a malformed input."""
    try:
        return [each.text for each in identify(nodes, devices).renamed]
    except (KeyError, TypeError, AttributeError) as problem:
        raise AnsibleFilterError(
            f"renamed_devices: the input has to be devices and nodes as the modules return them: {problem!r}"
        ) from problem


class FilterModule:
    """Offers renamed_devices."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"renamed_devices": renamed_devices}
