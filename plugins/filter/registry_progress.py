# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: registry_progress
short_description: Whether the image registry runs as it is configured
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns whether the registry operator has applied its Config as it is now.
options:
  _input:
    description:
      - The Config of the registry operator.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Print why the registry does not run
  ansible.builtin.debug:
    msg: "{{ (found.resources | equinix_metal.openshift.registry_progress).message }}"
"""

RETURN = r"""
_value:
  description: The state.
  type: dict
  contains:
    ready:
      description: Whether the Config is applied.
      type: bool
      sample: true
    message:
      description: What the operator reports.
      type: str
      sample: the operator has applied its Config
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.image_registry import registry_progress


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"registry_progress": registry_progress}
