# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: names_in
short_description: Names in a list or a text
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the names of a list, or of a text that separates them by commas, each once. The values of C(-e name=value) are texts.
options:
  _input:
    description:
      - The list or text.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Print the names
  ansible.builtin.debug:
    msg: "{{ 'worker-0, worker-1' | equinix_metal.openshift.names_in }}"
"""

RETURN = r"""
_value:
  description: The names.
  type: list
  elements: str
  sample: [worker-0, worker-1]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.replacement import names_of


class FilterModule:
    """Offers names_in."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"names_in": names_of}
