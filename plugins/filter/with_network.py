# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: with_network
short_description: Networks, with another one if they do not contain it
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the machine networks of a cluster with the subnet of the gateway in its VLAN. The subnet is added unless one of the networks
    contains it.
positional: network
options:
  _input:
    description:
      - Networks in CIDR notation. Malformed ones are kept, openshift-install reports them.
    type: list
    elements: str
    required: true
  network:
    description:
      - The network to add, in CIDR notation. Empty adds none.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Print the machine networks
  ansible.builtin.debug:
    msg: "{{ openshift_machine_networks | equinix_metal.openshift.with_network('198.51.100.0/27') }}"
"""

RETURN = r"""
_value:
  description: The networks.
  type: list
  elements: str
  sample: [10.0.0.0/16, 198.51.100.0/27]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import with_network


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"with_network": with_network}
