# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bootstrap_ignition
short_description: The bootstrap device's Ignition config, with the settings of the nodes
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns C(bootstrap.ign) with what MachineConfigs do for the nodes, since they do not apply to the bootstrap device. These are the
    script and the unit that give it an address in the network of the nodes, if that is a VLAN or the private network, those of the
    firewall of the nodes, if it is enabled, and the time servers. Without them it is returned unchanged.
positional: settings
options:
  _input:
    description:
      - Content of C(bootstrap.ign), as C(openshift-install) writes it.
    type: raw
    required: true
  settings:
    description:
      - Settings of the manifests, of which C(node_network), those of C(node_firewall) and C(time_servers) are read.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write bootstrap.ign with the settings of the nodes
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'bootstrap.ign') | equinix_metal.openshift.bootstrap_ignition(settings) }}"
    dest: bootstrap.ign
    mode: "0600"
"""

RETURN = r"""
_value:
  description: The content, JSON.
  type: str
  sample: '{"ignition":{"version":"3.2.0"},"storage":{"files":[]},"systemd":{"units":[]}}'
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.chrony import with_bootstrap_time_servers
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.node_firewall import (
    with_bootstrap_firewall,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.node_network import (
    with_bootstrap_network,
)


def bootstrap_ignition(bootstrap_ign: str | Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the content. Before ansible-core 2.19 a text of JSON is a dictionary once it was a variable, so it may be either."""
    text = bootstrap_ign if isinstance(bootstrap_ign, str) else json.dumps(bootstrap_ign)
    with_network = with_bootstrap_network(text, settings)
    return with_bootstrap_time_servers(with_bootstrap_firewall(with_network, settings), settings)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"bootstrap_ignition": bootstrap_ignition}
