# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_identity
short_description: Which devices have a Node, and which of them have another name
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the devices whose machines have joined the cluster, and those of them that have another name than their Node.
  - The id of a device is its identity. By its name a renamed device would be taken for none, and another one ordered.
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
    that: (found.devices | equinix_metal.openshift.node_identity(cluster.nodes)).renamed == []
"""

RETURN = r"""
_value:
  description: The devices that have a Node.
  type: dict
  contains:
    joined:
      description: Their ids.
      type: list
      elements: str
      sample: [7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11]
    renamed:
      description: A sentence for each with another name than its Node, with the command that restores the name.
      type: list
      elements: str
      sample: []
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_identity import identify


def node_identity(devices: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the devices that have a Node, and those with another name. Raises AnsibleFilterError for a malformed input."""
    try:
        identities = identify(nodes, devices)
        joined = [str(device["id"]) for device in devices if identities.node_of(str(device["id"]))]
        return {"joined": joined, "renamed": [each.text for each in identities.renamed]}
    except (KeyError, TypeError, AttributeError) as problem:
        raise AnsibleFilterError(
            f"node_identity: the input has to be devices and nodes as the modules return them: {problem!r}"
        ) from problem


class FilterModule:
    """Offers node_identity."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"node_identity": node_identity}
