# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: printable
short_description: Escape foreign text for safe printing
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns tags, names and messages from an API or a host as one line that cannot imitate other output. Control characters, ANSI escape
    sequences, line ends, bidirectional and invisible formatting are escaped (C(\n), C(\x1b), C(\u202e)); a long text is cut and marked as
    cut.
positional: _input
options:
  _input:
    description: The text. Other values are converted to text.
    type: raw
    required: true
  limit:
    description: Number of characters to keep.
    type: int
    default: 256
"""

EXAMPLES = r"""
- name: Print the tags of a device
  ansible.builtin.debug:
    msg: "{{ device.tags | map('equinix_metal.openshift.printable') | join(', ') }}"
"""

RETURN = r"""
_value:
  description: One line.
  type: str
  sample: worker-0\nPLAY RECAP
"""

from collections.abc import Callable
from typing import Any

from ..module_utils.base.printable import printable


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"printable": printable}
