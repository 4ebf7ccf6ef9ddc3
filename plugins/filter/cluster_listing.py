# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_listing
short_description: Objects of clusters, as lines to print
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the result of M(equinix_metal.openshift.metal_cluster_info) as lines, each object with its kind, place, creation time and id.
  - Values of the API are escaped as by P(equinix_metal.openshift.printable#filter).
positional: _input
options:
  _input:
    description:
      - The clusters.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the objects of all clusters
  ansible.builtin.debug:
    msg: "{{ everywhere.clusters | equinix_metal.openshift.cluster_listing }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample:
    - "demo.metal.test: 1 object, devices cost 0.5 US dollars per hour"
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable


def _device(device: Mapping[str, Any]) -> Iterator[str]:
    lock = ", locked" if device.get("locked") else ""
    yield f"  device    {device.get('hostname')}, {device.get('plan')} in {device.get('metro')}, {device.get('state')}{lock},"
    yield f"            since {device.get('created_at')} ({device.get('id')})"


def _addresses(block: Mapping[str, Any]) -> Iterator[str]:
    size = f"/{block['cidr']}" if block.get("cidr") else ""
    place = block.get("metro") or "all metros"
    yield f"  addresses {block.get('network') or 'pending'}{size} in {place}, since {block.get('created_at')} ({block.get('id')})"


def _network(network: Mapping[str, Any]) -> Iterator[str]:
    yield f"  VLAN      {network.get('vxlan')} in {network.get('metro')}, since {network.get('created_at')} ({network.get('id')})"


def _gateway(gateway: Mapping[str, Any]) -> Iterator[str]:
    where = f"{gateway.get('gateway_address')} of VLAN {gateway.get('vxlan')}"
    yield f"  gateway   {where}, since {gateway.get('created_at')} ({gateway.get('id')})"


def _lock(lock: Mapping[str, Any]) -> Iterator[str]:
    when = f"since {lock.get('acquired_at')}, renewed {lock.get('renewed_at')}"
    yield f"  lock      of {lock.get('operation')} by {lock.get('holder')}, {when} ({lock.get('id')})"


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "devices": _device,
    "ip_reservations": _addresses,
    "virtual_networks": _network,
    "metal_gateways": _gateway,
    "locks": _lock,
}


def _cluster(cluster: Mapping[str, Any]) -> Iterator[str]:
    price = cluster.get("price_per_hour")
    cost = f"devices cost {price} US dollars per hour" if isinstance(price, (int, float)) else "price of the devices unknown"
    count = cluster.get("count")
    yield f"{cluster.get('name')}: {count} object{'' if count == 1 else 's'}, {cost}"
    for kind, lines in KINDS.items():
        for each in cluster.get(kind) or []:
            yield from lines(each)


def cluster_listing(clusters: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines."""
    return [printable(line) for cluster in clusters for line in _cluster(cluster)]


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"cluster_listing": cluster_listing}
