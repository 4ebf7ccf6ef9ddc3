# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: metallb_changes
short_description: Objects with which MetalLB announces addresses to the routers of the Metal API
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the address pool, its advertisement, and a BGPPeer for each router of each node.
  - Peers of neighbors with MD5 read the password from the Secret C(equinix-metal) of the namespace.
  - A BGPPeer of a node that is gone has to be deleted. Those without the label C(equinix-metal.openshift/managed) stay.
positional: namespace, found
options:
  _input:
    description:
      - Addresses for Services, networks or ranges.
    type: list
    elements: str
    required: true
  namespace:
    description:
      - Namespace of MetalLB.
    type: str
    required: true
  found:
    description:
      - What exists. C(nodes) that announce; C(neighbors) by host name of the device, as M(equinix_metal.openshift.metal_bgp_info) returns
        them; C(peers), the BGPPeers of the namespace; C(reservations), whose addresses are added, as
        M(equinix_metal.openshift.metal_ip_reservation_info) returns them.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Create the address pool and its BGP peers
  kubernetes.core.k8s:
    definition: "{{ (['198.51.100.0/29'] | equinix_metal.openshift.metallb_changes('metallb-system', found)).present }}"
"""

RETURN = r"""
_value:
  description: What to change.
  type: dict
  contains:
    present:
      description: Objects to create or patch.
      type: list
      elements: dict
      sample: [{kind: IPAddressPool, metadata: {name: equinix-metal}}]
    absent:
      description: BGPPeers to delete.
      type: list
      elements: dict
      sample: []
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_services.metallb import metallb_changes


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"metallb_changes": metallb_changes}
