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
  - Reads the state of the Metal API, the mirror, DNS, an existing load balancer, an existing cluster and the controller for the role
    P(equinix_metal.openshift.validate#role). Changes nothing, and sends each request once.
  - Independent requests are sent at the same time.
  - A failed request is no error of the lookup; the role reports the consequences.
requirements:
  - packet-python
  - dnspython
options:
  _terms:
    description: The settings of the role, one dictionary, with the machines by group.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Print what was read
  ansible.builtin.debug:
    msg: "{{ lookup('equinix_metal.openshift.preflight', settings) | to_nice_json }}"
"""

RETURN = r"""
_list:
  description: For each term the readings by name. A reading without a request is absent.
  type: list
  elements: dict
  sample: [{project: {msg: Could not read the project}, controller: {architecture: x86_64}}]
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display

from ..plugin_utils.world import cluster, controller, images, installer, load_balancer, metadata, metal, mirror, names


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type information
    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Return the readings for each term. Raises AnsibleLookupError for malformed settings."""
        if not all(isinstance(settings, Mapping) and "machines" in settings for settings in terms):
            raise AnsibleLookupError("preflight: the settings have to be a mapping with the machines by group")
        return [collect(_templated(settings)) for settings in terms]


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
