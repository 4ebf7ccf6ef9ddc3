# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: phase_times
short_description: Duration of each phase of a playbook, as lines
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the log of M(equinix_metal.openshift.phase) as lines for M(equinix_metal.openshift.print_lines). The last phase ends now.
positional: _input
options:
  _input:
    description:
      - The log.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the duration of each phase
  equinix_metal.openshift.print_lines:
    lines: "{{ play_phase.log | equinix_metal.openshift.phase_times }}"
"""

RETURN = r"""
_value:
  description: A line for each phase, and one with the total.
  type: list
  elements: str
  sample: ["Elapsed:   12s  Delete devices", "           12s  total"]
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._summary import phase_lines


def phase_times(log: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the duration of each phase."""
    return phase_lines(log, time.time())


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"phase_times": phase_times}
