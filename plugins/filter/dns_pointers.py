# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: dns_pointers
short_description: PTR records of the hosts of a cluster
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns one entry for each address in a reverse zone that a host of the cluster has, or no longer has. Names of services have none.
positional: cluster, zone
options:
  _input:
    description:
      - Records, as P(equinix_metal.openshift.cluster_dns_records#filter) returns them.
    type: list
    elements: dict
    required: true
  cluster:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    required: true
  zone:
    description:
      - The reverse zone, such as V(2.0.192.in-addr.arpa).
    type: str
    required: true
  changes:
    description:
      - Changes of these records, as M(equinix_metal.openshift.dns_records) returns them. The PTR records of former addresses are deleted.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Print the PTR records of a cluster
  ansible.builtin.debug:
    msg: "{{ records | equinix_metal.openshift.dns_pointers('demo.metal.test', '2.0.192.in-addr.arpa') }}"
"""

RETURN = r"""
_value:
  description: The records, as O(equinix_metal.openshift.dns_records#module:records) has them.
  type: list
  elements: dict
  sample: [{name: 10.2.0.192.in-addr.arpa, type: PTR, values: [worker-0.demo.metal.test.]}]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_dns import pointer_records


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"dns_pointers": pointer_records}
