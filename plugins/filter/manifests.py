# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: manifests
short_description: Read and check manifests in files and folders
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads manifests on the controller. Each has to be YAML or JSON, with C(apiVersion), C(kind) and C(metadata.name) in every document;
    otherwise bootstrap would fail an hour later. All problems are reported together.
  - A folder without such files, a Butane config and a Kustomization are refused, since nothing builds them.
positional: _input
options:
  _input:
    description: Paths of files and folders. Of a folder all files C(*.yml), C(*.yaml) and C(*.json) are read. An entry of several lines is
      a manifest itself.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Print which manifests a folder has
  ansible.builtin.debug:
    msg: "{{ ['manifests'] | equinix_metal.openshift.manifests | map(attribute='name') }}"
"""

RETURN = r"""
_value:
  description: The files.
  type: list
  elements: dict
  contains:
    name: {description: Name of the file., type: str, sample: 99-worker-chrony.yml}
    content: {description: Content of the file., type: str, sample: "kind: MachineConfig..."}
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.base.errors import CollectionError
from ..plugin_utils.manifests.user_manifests import user_manifests


def manifests(paths: Any) -> list[dict[str, str]]:
    """Return name and content of each file. Raises AnsibleFilterError with all problems."""
    try:
        return user_manifests(paths)
    except CollectionError as problem:
        raise AnsibleFilterError(str(problem)) from None  # ansible-core 2.19 appends the text of a cause


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"manifests": manifests}
