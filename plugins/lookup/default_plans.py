# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: default_plans
short_description: Default plans of machines whose hosts do not set metal_plan
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the plan of each machine without one, for the playbooks of the collection. C(docs/capacity.md) describes how it is chosen.
  - Sends no request if every machine has a plan. A failed request is no error of the lookup, but the C(plan_problem) of each machine.
requirements:
  - packet-python
options:
  _terms:
    description:
      - The settings, one dictionary with C(machines) by group, C(cluster_name), C(base_domain), C(metal_api_url), C(metal_api_token),
        C(metal_project_id), C(timeout) in seconds and C(metal_api_retries), and optionally C(load_balancer_operating_system) and
        C(bootstrap_becomes).
      - An empty URL, token or project is read from the environment, from the variables that modules read.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Choose the plans of machines that have none
  ansible.builtin.set_fact:
    plans: "{{ lookup('equinix_metal.openshift.default_plans', settings) }}"
"""

RETURN = r"""
_list:
  description: >-
    For each term the plans by host name, each with C(plan) and C(has_default_plan), or with C(plan_problem): why there is none. A machine
    with a plan of its own is absent.
  type: list
  elements: dict
  sample: [{worker-0.demo.metal.test: {plan: c3.small.x86, has_default_plan: true}}]
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils.base.argspec import ENVIRONMENT, from_environment
from ..plugin_utils.world.default_plans import collect


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type information
    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Return the default plans for each term. Raises AnsibleLookupError for malformed settings."""
        if not all(isinstance(settings, Mapping) and isinstance(settings.get("machines"), Mapping) for settings in terms):
            raise AnsibleLookupError("default_plans: the settings have to be a mapping with the machines by group")
        return [collect({**settings, **_connection(settings)}) for settings in terms]


def _connection(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the Metal API, from the environment where they are empty."""
    variables = {"metal_api_url": "metal_api_url", "metal_api_token": "metal_api_token", "metal_project_id": "project_id"}
    return {name: settings.get(name) or from_environment(ENVIRONMENT[option]) or "" for name, option in variables.items()}
