# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight
short_description: Report of the preflight checks
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Checks the settings of a cluster with the readings of the lookup P(equinix_metal.openshift.preflight#lookup).
  - Returns the report of the role P(equinix_metal.openshift.validate#role).
  - Sends no requests. A check without its reading is V(not checkable).
positional: readings
requirements:
  - netaddr
options:
  _input:
    description: The settings of the cluster, with the machines by group in C(machines).
    type: dict
    required: true
  readings:
    description: The readings by name, as the lookup P(equinix_metal.openshift.preflight#lookup) returns them.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Fail if a check failed
  ansible.builtin.assert:
    that: report.failed == 0
    fail_msg: "{{ report.checks | selectattr('verdict', 'equalto', 'failed') | map(attribute='found') | list }}"
  vars:
    report: "{{ settings | equinix_metal.openshift.preflight({}) }}"
    settings:
      cluster_name: demo
      base_domain: example.com
      machines:
        bootstrap: []
        control_plane: []
        workers: []
        load_balancer: []
"""

RETURN = r"""
_value:
  description: The report.
  type: dict
  contains:
    cluster: {description: The cluster., type: str, sample: demo.metal.test}
    checks:
      description: All checks, failed ones last.
      type: list
      elements: dict
      contains:
        check: {description: Name of the check., type: str, sample: pull secret}
        verdict:
          description: V(passed), V(warning), V(failed), or V(not checkable) with the reason in C(found). A V(warning) does not end a run.
          type: str
          sample: failed
        found: {description: The finding., type: str, sample: "given, but no JSON"}
        expected: {description: The requirement., type: str, sample: a JSON object with "auths"}
        advice: {description: "What to do, or an empty string.", type: str, sample: take the whole pull secret}
        is_notable:
          description: Whether the check is printed although it passed, such as the default plans of machines to order.
          type: bool
          sample: false
    passed: {description: Number of checks that passed., type: int, sample: 40}
    warnings: {description: Number of checks with a warning., type: int, sample: 0}
    not_checkable: {description: Number of checks that could not be made., type: int, sample: 3}
    failed: {description: Number of checks that failed., type: int, sample: 1}
    machines_to_order: {description: Number of machines that the run will order., type: int, sample: 6}
    price_per_hour: {description: Price of these machines in USD per hour. Null if unknown., type: float, sample: 4.5}
    price_of_the_run: {description: Estimated price of the run in USD. Null if unknown., type: float, sample: 4.5}
    price_per_month:
      description: Price of the machines that remain after the run in USD per month of 730 hours. Null if unknown.
      type: float
      sample: 2737.5
    plan:
      description: The plan of the playbook in C(playbook) of O(_input), V(null) without one.
      type: dict
      contains:
        counts:
          description: Number of objects to create, to change, to replace and to remove.
          type: dict
          sample: {create: 2, change: 0, replace: 0, remove: 1}
        price_per_hour:
          description: Price per hour in USD C(before) and C(after), V(null) when not known.
          type: dict
          sample: {before: 7.8, after: 9.1}
        unknown: {description: "Sources that did not answer, each with the reason.", type: dict, sample: {}}
        kept: {description: "Workers that are not in the inventory and are kept, with the reason.", type: dict, sample: {}}
        replaceable:
          description: Number of devices that may be deleted and ordered again because they fail.
          type: int
          sample: 0
        steps:
          description: The steps, each with C(phase), C(verb), C(kind), C(object), C(reason), C(detail), C(before), C(after),
            C(price_per_hour) and C(known_after).
          type: list
          elements: dict
          sample: [{phase: Create worker devices, verb: create, kind: device, object: worker-4.demo.metal.test}]
        lines:
          description: The plan for people.
          type: list
          elements: str
          sample: ["demo.metal.test, scale.yml: 2 to create, 1 to remove; 7.80 -> 9.10 USD an hour"]
    summary: {description: The counts in one line., type: str, sample: "40 passed, 3 not checkable, 1 failed; 6 machines are to be ordered"}
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils.preflight.report import judge
from ..plugin_utils.rules.variables import variable_errors
from ..plugin_utils.settings.networks import LIBRARY_ERROR
from ..plugin_utils.settings.variables import VARIABLES


def preflight(settings: Any, readings: Any = None) -> dict[str, Any]:
    """Return the report. Raises AnsibleFilterError for settings without machines and for readings that are no mapping."""
    if LIBRARY_ERROR is not None:
        raise AnsibleFilterError(f"The Python library netaddr is not installed on the controller: {LIBRARY_ERROR}")
    if not isinstance(settings, Mapping) or not isinstance(settings.get("machines"), Mapping):
        raise AnsibleFilterError("preflight: the settings must be a dictionary with the machines by group")
    if readings is not None and not isinstance(readings, Mapping):
        raise AnsibleFilterError(f"preflight: the readings must be a dictionary, not {type(readings).__name__}")
    given_values = settings.get("variables") or {}
    variables = {
        "known_variables": VARIABLES,
        "given_variables": sorted(given_values),
        "variable_errors": variable_errors(given_values),
    }
    return judge({**settings, **variables}, readings or {})


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"preflight": preflight}
