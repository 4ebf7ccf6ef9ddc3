# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight_lines
short_description: Report of the preflight checks as lines
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the report of the filter P(equinix_metal.openshift.preflight#filter) as lines for M(equinix_metal.openshift.print_lines). Failed
    and unknown checks are listed with what to do, the others are one line.
positional: _input
options:
  _input:
    description: The report.
    type: dict
    required: true
  verbose:
    description: Whether to list passed checks, too.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Print the report
  equinix_metal.openshift.print_lines:
    lines: "{{ validate_report | equinix_metal.openshift.preflight_lines(verbose=ansible_verbosity > 0) }}"
"""

RETURN = r"""
_value:
  description: The lines, failed checks last, and the summary.
  type: list
  elements: str
  sample:
    - 38 checks passed (all of them with -v)
    - FAILED   pull secret  it is not JSON
    - "         expected: a JSON object with auths"
    - "         to do:    set openshift_pull_secret to the JSON text"
    - 38 passed, 0 not checkable, 1 failed; 0 machines to order
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..plugin_utils.preflight.report import screen_lines


def preflight_lines(report: Mapping[str, Any], verbose: bool = False) -> list[str]:
    """Return the report as lines."""
    return screen_lines(report, verbose=verbose)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"preflight_lines": preflight_lines}
