# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pool_hosts
short_description: Worker hosts for pool sizes that are given as numbers
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the worker hosts when pools have other sizes than in the inventory, and the hosts to add to the inventory for that.
  - The hosts of a pool are numbered. A larger pool gets hosts with the numbers that are missing, a smaller one loses the highest numbers. A
    pool without hosts gets V(<pool>-0) and so on.
  - In place of a size, a list has the hosts that stay.
  - It fails for an unknown pool, for control plane machines, for a size that is not a number, and for hosts without a number in their
    names.
positional: sizes
options:
  _input:
    description: The hosts by group, C(groups).
    type: dict
    required: true
  sizes:
    description: The sizes by pool, as in the variable C(openshift_pool_sizes).
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Add the missing hosts of the pools
  ansible.builtin.add_host:
    name: "{{ item.name }}"
    groups: ["{{ item.group }}"]
  loop: "{{ (groups | equinix_metal.openshift.pool_hosts({'worker': 3})).added }}"
"""

RETURN = r"""
_value:
  description: The hosts.
  type: dict
  contains:
    added:
      description: The hosts that the inventory does not have, each with C(name) and C(group).
      type: list
      elements: dict
      sample: [{name: worker-2, group: worker}]
    workers: {description: The names of all worker hosts., type: list, elements: str, sample: [worker-0, worker-1, worker-2]}
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.base.errors import CollectionError
from ..plugin_utils.machines.pools import pool_hosts as hosts_with_sizes


def pool_hosts(groups: Any, sizes: Any) -> dict[str, list[Any]]:
    """Return ``added`` and ``workers``. Raises AnsibleFilterError for sizes that cannot be used."""
    if not isinstance(groups, Mapping):
        raise AnsibleFilterError(f"pool_hosts: the input has to be the hosts by group, not {type(groups).__name__}")
    try:
        return hosts_with_sizes(groups, sizes)
    except CollectionError as problem:
        raise AnsibleFilterError(str(problem)) from None  # ansible-core 2.19 appends the text of a cause


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"pool_hosts": pool_hosts}
