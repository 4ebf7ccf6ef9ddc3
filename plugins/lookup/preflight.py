# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight
short_description: Read the state of APIs, mirror, DNS and controller for the preflight checks
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Note that this lookup is private to the playbooks and roles of the collection. Its options and results may change without notice.
  - Reads the state of the Metal API, the mirror, DNS, an existing load balancer, an existing cluster and the controller. Changes nothing.
    Independent requests are sent at the same time. A failed one is no error of the lookup; the checks report the consequences.
requirements:
  - packet-python
  - dnspython
options:
  _terms:
    description: The settings of the role, one dictionary, with the machines by group.
    type: list
    elements: dict
    required: true
  only:
    description: Part to read. V(default_plans) returns the plans of machines whose hosts do not set C(metal_plan), by host name.
    type: str
    choices: [default_plans]
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display

from ..plugin_utils.world import cluster, controller, default_plans, images, installer, load_balancer, metadata, metal, mirror, names


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type information
    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Return the readings for each term. Raises AnsibleLookupError for malformed settings."""
        self.set_options(var_options=variables, direct=kwargs)
        if not all(isinstance(settings, Mapping) and isinstance(settings.get("machines"), Mapping) for settings in terms):
            raise AnsibleLookupError("preflight: the settings have to be a mapping with the machines by group")
        read = default_plans.collect if self.get_option("only") else collect
        return [read(_templated(settings)) for settings in terms]


def _templated(value: Any) -> Any:
    """Return the value with all templates rendered, since Ansible's templating is not thread-safe."""
    if isinstance(value, Mapping):
        return {name: _templated(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_templated(item) for item in value]
    return value


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    with ThreadPoolExecutor() as pool:
        results = [pool.submit(source.collect, settings) for source in (metal, mirror, images, names, metadata, controller, cluster)]
    readings = {name: reading for result in results for name, reading in result.result().items()}
    # These need the readings of the others.
    readings |= metal.collect_others(settings, readings)
    return {**readings, **load_balancer.collect(settings, readings), **installer.collect(settings, readings, Display().display)}
