# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: registry_changes
short_description: Objects to write so that the internal image registry is as chosen
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Compares the Config of the registry operator and its PersistentVolumeClaim with a choice, and returns what has to be written.
  - A PersistentVolumeClaim that exists is not changed.
positional: current, size, storage_class
options:
  _input:
    description:
      - The choice.
    type: str
    choices: [removed, emptydir, pvc]
    required: true
  current:
    description:
      - The Config of the registry operator, and the PersistentVolumeClaims of its namespace.
    type: list
    elements: dict
    required: true
  size:
    description:
      - Size of the PersistentVolumeClaim.
    type: str
    required: true
  storage_class:
    description:
      - Storage class of the PersistentVolumeClaim. Empty is the default one of the cluster.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Configure the image registry
  kubernetes.core.k8s:
    definition: "{{ 'emptydir' | equinix_metal.openshift.registry_changes(registry.resources, '100Gi') }}"
"""

RETURN = r"""
_value:
  description: Objects to create or patch.
  type: list
  elements: dict
  sample: [{kind: Config, metadata: {name: cluster}, spec: {managementState: Removed}}]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.image_registry import registry_changes


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"registry_changes": registry_changes}
