# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_manifests
short_description: Create the manifests that the settings of a cluster ask for
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the manifests that are created from variables of the inventory, for the folder C(openshift) of the installer. Manifests of the
    user are read by P(equinix_metal.openshift.manifests#filter).
positional: _input
options:
  _input:
    description:
      - Settings of the role P(equinix_metal.openshift.ignition#role), by their names without C(ignition_).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Print which manifests the settings ask for
  ansible.builtin.debug:
    msg: "{{ {} | equinix_metal.openshift.cluster_manifests | map(attribute='name') }}"
"""

RETURN = r"""
_value:
  description: The files.
  type: list
  elements: dict
  contains:
    name:
      description: Name of the file.
      type: str
      sample: machineconfig-98-worker-chrony.yaml
    content:
      description: Content of the file.
      type: str
      sample: '{"kind": "MachineConfig"}'
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests import ManifestError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests import (
    cluster_manifests as manifests_of,
)


def cluster_manifests(settings: Any) -> list[dict[str, str]]:
    """Return name and content of each manifest; raises AnsibleFilterError for two of one name."""
    try:
        return manifests_of(settings)
    except ManifestError as problem:
        raise AnsibleFilterError(f"cluster_manifests: {problem}") from problem


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"cluster_manifests": cluster_manifests}
