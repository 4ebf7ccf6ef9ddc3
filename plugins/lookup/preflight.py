# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight
short_description: What there is, before anything is ordered
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Looks at the Metal API, the mirror, DNS, a balancer that exists, a cluster that exists, and this computer, as the role
    P(equinix_metal.openshift.validate#role) wants it for the filter P(equinix_metal.openshift.preflight#filter). Nothing is changed
    anywhere, and nothing is asked twice.
  - What does not wait for another answer is asked at the same time.
  - What cannot be read is no error here; the filter says what follows from that.
requirements:
  - packet-python
  - dnspython
options:
  _terms:
    description:
      - What is wanted, one dictionary, as the filter takes it.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Judge what is wanted by what there is
  ansible.builtin.set_fact:
    report: "{{ wanted | equinix_metal.openshift.preflight(lookup('equinix_metal.openshift.preflight', wanted)) }}"
"""

RETURN = r"""
_list:
  description: For each term what was read, by name. What was not asked is not there.
  type: list
  elements: dict
  sample: [{project: {msg: Could not read the project}, controller: {architecture: x86_64}}]
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._preflight import (
    balancer,
    cluster,
    controller,
    installer,
    metal,
    mirror,
    names,
)


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type information
    """Lookup of what the checks of the role validate need."""

    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Raises AnsibleLookupError when it is not called as the role does."""
        if not all(isinstance(wanted, Mapping) and "machines" in wanted for wanted in terms):
            raise AnsibleLookupError("preflight: what is wanted has to be a mapping with the machines by group")
        return [world(_read(wanted)) for wanted in terms]


def _read(value: Any) -> Any:
    """The value with nothing left to be templated: that is Ansible's work, and not to be done in several threads."""
    if isinstance(value, Mapping):
        return {name: _read(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_read(item) for item in value]
    return value


def world(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What was read, by name."""
    with ThreadPoolExecutor() as pool:
        looks = [pool.submit(room.look, wanted) for room in (metal, mirror, names, controller, cluster)]
    found = {name: reading for look in looks for name, reading in look.result().items()}
    # These two want to know what the others have read.
    return {**found, **balancer.look(wanted, found), **installer.look(wanted, found)}
