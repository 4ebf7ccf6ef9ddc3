# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: boot_profiles
short_description: Boot profiles of machines
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Lists the boot profiles of machines. Machines with the same architecture, install disk and consoles share a profile, that is a boot
    script and a live config.
positional: defaults
options:
  _input:
    description:
      - Machines, as P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    required: true
  defaults:
    description:
      - Attributes of machines that do not set them. Without machines this is the only profile.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the boot profiles of the workers
  ansible.builtin.debug:
    msg: "{{ workers | equinix_metal.openshift.boot_profiles({'boot_profile': 'x86_64', 'architecture': 'x86_64'}) }}"
"""

RETURN = r"""
_value:
  description: The profiles, each with the attributes that O(defaults) has.
  type: list
  elements: dict
  sample: [{boot_profile: x86_64, architecture: x86_64}]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.boot_files import boot_profiles


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"boot_profiles": boot_profiles}
