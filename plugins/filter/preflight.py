# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight
short_description: What is to be said of an inventory before anything is ordered
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Judges what is wanted by what was read of the world, and makes the report of the role P(equinix_metal.openshift.validate#role).
  - Asks nobody itself. What was not read makes its checks V(not checkable).
positional: world
options:
  _input:
    description:
      - What is wanted, the settings of the role and the machines by group.
    type: dict
    required: true
  world:
    description:
      - What was read, by the names the role gives it. Each is what a task registered.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: See which servers to ask for before the whole report can be made
  ansible.builtin.debug:
    msg: "{{ (wanted | equinix_metal.openshift.preflight({})).servers }}"
  vars:
    wanted:
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
    cluster:
      description: The cluster.
      type: str
      sample: demo.metal.test
    checks:
      description: Every check, those that failed last.
      type: list
      elements: dict
      contains:
        check:
          description: What was checked.
          type: str
          sample: pull secret
        verdict:
          description:
            - V(passed), V(warning), V(failed), or V(not checkable) with the reason as what was found. A V(warning) ends no run.
          type: str
          sample: failed
        found:
          description: What was found.
          type: str
          sample: given, but no JSON
        expected:
          description: What was expected.
          type: str
          sample: a JSON object with "auths"
        advice:
          description: What to do. Empty when there is nothing.
          type: str
          sample: take the whole pull secret
    passed:
      description: How many checks passed.
      type: int
      sample: 40
    warnings:
      description: How many passed with a warning.
      type: int
      sample: 0
    not_checkable:
      description: How many could not be made.
      type: int
      sample: 3
    failed:
      description: How many failed.
      type: int
      sample: 1
    machines_to_order:
      description: How many machines are missing.
      type: int
      sample: 6
    price_per_hour:
      description: What they cost in an hour, in US dollars. Null when it is not known.
      type: float
      sample: 4.5
    price_of_the_run:
      description: What the run will cost, roughly. Null when it is not known.
      type: float
      sample: 4.5
    price_per_month:
      description: What those that stay cost in a month of 730 hours. Null when it is not known.
      type: float
      sample: 2737.5
    servers:
      description: What to ask M(equinix_metal.openshift.metal_capacity_info) for.
      type: list
      elements: dict
      sample: [{plan: c3.small.x86, metro: da, quantity: 4}]
    summary:
      description: One line.
      type: str
      sample: 40 passed, 3 not checkable, 1 failed; 6 machines are to be ordered
    text:
      description: The lines to show, the summary last.
      type: list
      elements: str
      sample: ["passed         cluster name  'demo'"]
    problems:
      description: What failed, with what was expected and what to do, as lines to show.
      type: list
      elements: str
      sample: ["- pull secret: given, but no JSON"]
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.variables import VARIABLES
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.report import judge


def variable_errors(given: Mapping[str, Any]) -> list[str]:
    """Return which variables have a value of another type than theirs, or none of their choices, without the values of secrets.

    An empty value counts as not set.
    """
    problems: list[str] = []
    for name, value in given.items():
        spec = VARIABLES[name].spec() if name in VARIABLES else {}
        if not spec or value is None or value == "":
            continue
        result = ArgumentSpecValidator({name: spec}).validate({name: value})
        if result.error_messages:
            problems += [f"{name} is not of type {spec['type']}"] if spec.get("no_log") else result.error_messages
    return problems


def preflight(wanted: Any, world: Any = None) -> dict[str, Any]:
    """The report; raises AnsibleFilterError when it is not called as the role does."""
    if not isinstance(wanted, Mapping) or not isinstance(wanted.get("machines"), Mapping):
        raise AnsibleFilterError("preflight: what is wanted has to be a mapping with the machines by group")
    if world is not None and not isinstance(world, Mapping):
        raise AnsibleFilterError(f"preflight: what was read has to be a mapping, not {type(world).__name__}")
    given = wanted.get("variables") or {}
    variables = {
        "known_variables": VARIABLES,
        "given_variables": sorted(given),
        "variable_errors": variable_errors(given),
    }
    return judge({**wanted, **variables}, world or {})


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"preflight": preflight}
