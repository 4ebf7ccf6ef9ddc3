# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_state
short_description: State of a cluster, from its folder and its devices
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads the state of a cluster from its files on the controller, and sorts its devices by role.
  - The file C(kubeconfig) in the folder is written when the bootstrap is complete.
positional: devices
options:
  _input:
    description: The cluster folder on the controller. It may be absent.
    type: path
    required: true
  devices:
    description: The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    default: []
  network:
    description: The machine network, which decides which addresses of a device are its node addresses. V(layer3) and V(bond) use the public
      addresses of a device, V(private) the private ones. V(vlan) uses those in the VLAN of the cluster, which are tags of the devices.
    type: str
    choices: [layer3, bond, private, vlan]
    default: layer3
"""

EXAMPLES = r"""
- name: Print the addresses of the control plane
  ansible.builtin.debug:
    msg: "{{ ('clusters/demo.metal.test' | equinix_metal.openshift.cluster_state(found.devices)).addresses.control_plane }}"
"""

RETURN = r"""
_value:
  description: The state of the cluster.
  type: dict
  contains:
    bootstrap_complete: {description: Whether bootstrap is complete., type: bool, sample: true}
    begun:
      description: Whether an installation was started in the folder. Its file C(project) is written before the first object is created.
      type: bool
      sample: true
    adopted:
      description: Whether the cluster was installed by other means, so its control plane and its DNS records are not managed.
      type: bool
      sample: false
    infra_id: {description: "The C(infraID) of the installation, empty before its Ignition files exist.", type: str, sample: demo-x7k2p}
    cluster_id:
      description: The C(clusterID) of the installation, empty before its Ignition files exist.
      type: str
      sample: 0c9b2f6e-5d0c-4b1e-9d3a-0a4c8d1f7e21
    devices:
      description: The devices by role, C(bootstrap), C(control_plane), C(workers) and C(load_balancer), each sorted by host name.
      type: dict
    addresses:
      description: An address at which the controller reaches each of these devices in the same way, of those that have one. IPv4 is
        preferred.
      type: dict
      sample: {bootstrap: [], control_plane: [192.0.2.10, 192.0.2.11, 192.0.2.12], workers: [192.0.2.20], load_balancer: []}
    api_addresses:
      description: The addresses at which the controller reaches the API of the control plane. These are its node addresses, with
        O(network=private) the addresses of the load balancers, if there are any, and with O(network=vlan) its public addresses.
      type: list
      sample: [192.0.2.10, 192.0.2.11, 192.0.2.12]
    bootstrap_api_addresses:
      description: The same with the bootstrap device, which serves the API until the bootstrap is complete.
      type: list
      sample: [192.0.2.10, 192.0.2.11, 192.0.2.12, 192.0.2.9]
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.cluster.devices import devices_by_role
from ..module_utils.nodes.addresses import MACHINE_NETWORKS, api_addresses, reachable_addresses


def cluster_state(directory: str, devices: Iterable[Mapping[str, Any]] = (), network: str = "layer3") -> dict[str, Any]:
    """Return the state; raises AnsibleFilterError for an unreadable metadata.json or an unknown machine network."""
    if network not in MACHINE_NETWORKS:
        raise AnsibleFilterError(f"cluster_state: network has to be one of {', '.join(MACHINE_NETWORKS)}, not {network}")
    folder = Path(directory).expanduser()
    metadata = _metadata(folder / "ignition" / "metadata.json")
    by_role = devices_by_role(devices)
    return {
        "bootstrap_complete": (folder / "kubeconfig").is_file(),
        "begun": (folder / "project").is_file(),
        "adopted": (folder / "adopted").is_file(),
        "infra_id": metadata.get("infraID", ""),
        "cluster_id": metadata.get("clusterID", ""),
        "devices": by_role,
        "addresses": {role: reachable_addresses(members, network) for role, members in by_role.items()},
        "api_addresses": api_addresses(by_role, network),
        "bootstrap_api_addresses": api_addresses(by_role, network, bootstrap=True),
    }


def _metadata(path: Path) -> dict[str, Any]:
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise AnsibleFilterError(f"cluster_state: cannot read {path}: {problem}") from problem
    return metadata if isinstance(metadata, dict) else {}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"cluster_state": cluster_state}
