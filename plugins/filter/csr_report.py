# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: csr_report
short_description: The result of csr_approval as lines
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the result of M(equinix_metal.openshift.csr_approval) as lines for the operator, each printable and of limited length. What
    was approved is not in them, since the module's task has displayed it.
positional: machines
options:
  _input:
    description:
      - Result of M(equinix_metal.openshift.csr_approval).
    type: dict
    required: true
  machines:
    description:
      - Names of the expected machines. Refused requests for these are reported first.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Print CSR approval results
  ansible.builtin.debug:
    msg: "{{ approval | equinix_metal.openshift.csr_report(machines | map(attribute='name')) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample:
    - "REFUSED   csr-q8w4d for node 'intruder' (kube-apiserver-client-kubelet), left pending: no expected machine has the name 'intruder'"
    - "3 of 3 machines have joined"
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable

SHOWN = 20
"""Refused requests and alarms to print."""
LIMIT = 600


def csr_report(result: Mapping[str, Any], machines: Iterable[str]) -> list[str]:
    """Return the lines."""
    names = set(machines)
    try:
        denied = set(result.get("denied") or ())
        refused = [
            f"REFUSED   {entry['name']} for node '{entry['node']}' ({_signer(entry)}),"
            f" {'denied' if entry['name'] in denied else 'left pending'}: {entry['reason']}"
            for entry in sorted(result.get("refused") or (), key=lambda entry: entry["node"] not in names)
        ]
        alarms = [f"ALARM     {alarm['message']}" for alarm in result.get("alarms") or ()]
        lines = [*_some(refused, "refused requests"), *_some(alarms, "alarms")]
        lines.append(f"{len(result.get('joined') or ())} of {len(names)} machines have joined")
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise AnsibleFilterError(f"csr_report: the input has to be a result as csr_approval returns it: {problem!r}") from problem
    return [printable(line, LIMIT) for line in lines]


def _signer(entry: Mapping[str, Any]) -> str:
    return str(entry["signer"]).rpartition("/")[2]


def _some(lines: list[str], what: str) -> list[str]:
    more = len(lines) - SHOWN
    return lines if more <= 0 else [*lines[:SHOWN], f"and {more} more {what}"]


class FilterModule:
    """Offers csr_report."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"csr_report": csr_report}
