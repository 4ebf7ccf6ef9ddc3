# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: device_report
short_description: Results of metal_device_set as lines
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns one line for each device of a result of M(equinix_metal.openshift.metal_device_set) that was created or changed, or has failed.
positional: check_mode
options:
  _input:
    description:
      - The C(outcomes) of M(equinix_metal.openshift.metal_device_set), by host name.
    type: dict
    required: true
  check_mode:
    description:
      - Whether the results are predictions.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Print the result of each device
  equinix_metal.openshift.print_lines:
    lines: "{{ workers.outcomes | equinix_metal.openshift.device_report(ansible_check_mode) }}"
"""

RETURN = r"""
_value:
  description: The lines, in the order of the outcomes.
  type: list
  elements: str
  sample: ["worker-0.demo.metal.test: created"]
"""

from collections.abc import Callable, Mapping
from typing import Any


def device_report(outcomes: Mapping[str, Mapping[str, Any]], check_mode: bool = False) -> list[str]:
    """Return a line for each device that was created, changed or replaced, or has failed."""
    changed = {name: outcome for name, outcome in outcomes.items() if outcome["error"] or outcome["action"] != "none"}
    return [f"{hostname}: {_result(outcome, check_mode)}" for hostname, outcome in changed.items()]


def _result(outcome: Mapping[str, Any], check_mode: bool) -> str:
    if outcome["error"]:
        return f"{outcome['status']}, {outcome['error']}"
    failed = f", after {len(outcome['replacements'])} failed" if outcome["replacements"] else ""
    return f"{'would be ' if check_mode else ''}{outcome['action']}{failed}"


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"device_report": device_report}
