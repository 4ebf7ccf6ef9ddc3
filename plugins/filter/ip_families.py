# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ip_families
short_description: IP versions of networks
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the IP versions of networks, each once. The service networks of a cluster have the IP versions of its nodes.
positional: _input
options:
  _input:
    description:
      - Networks in CIDR notation. Malformed ones are left out, preflight reports them.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Print whether the cluster is dual stack
  ansible.builtin.debug:
    msg: "{{ openshift_service_networks | equinix_metal.openshift.ip_families | length == 2 }}"
"""

RETURN = r"""
_value:
  description: The IP versions, V(4) and V(6), in the order of the networks.
  type: list
  elements: int
  sample: [4, 6]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import ip_families


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"ip_families": ip_families}
