# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The DNS records of a cluster.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_devices import Device, devices_by_role
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_addresses import node_addresses

Record = dict[str, Any]
"""``name`` and ``values``; without values the record must not exist."""

SERVICES = ("api", "api-int", "*.apps", "api-members", "ingress-members")
"""Records that are no host names. A load balancer resolves the last two."""


def cluster_dns_records(  # noqa: PLR0913 - the options of the filter, passed by keyword
    devices: Sequence[Device],
    cluster: str,
    *,
    state: str = "present",
    machines: Collection[str] = (),
    workers: Collection[str] = (),
    removed: Iterable[str] = (),
    bootstrap_complete: bool = False,
    balanced: bool = False,
    nodes: Sequence[Mapping[str, Any]] = (),
    entries: Mapping[str, Sequence[str]] | None = None,
    adopted: bool = False,
    network: str = "layer3",
    families: Sequence[int] = (4,),
) -> list[Record]:
    """Return every record of the cluster, desired or to be deleted. See the filter of this name.

    The records of an adopted cluster's services lead to machines that are not managed, so they are in neither list.
    """
    end = f".{cluster}"
    known = [name for name in dict.fromkeys([*removed, *(device["hostname"] for device in devices)]) if name.endswith(end)]
    if state == "absent":
        return [{"name": name, "values": []} for name in [*(service + end for service in SERVICES if not adopted), *known]]

    def of(device: Device) -> list[str]:
        return node_addresses(device, network, families)

    def all_of(found: Iterable[Device]) -> list[str]:
        return sorted(address for device in found for address in of(device))

    named = [device for device in devices if of(device) and (not machines or device["hostname"] in machines)]
    by_role = devices_by_role(named)
    bootstrap = by_role["bootstrap"]
    api = all_of([*by_role["control_plane"], *([] if bootstrap_complete else bootstrap)])
    ingress = all_of(_ingress(by_role, workers, nodes, balanced=balanced))
    services = [api, api, ingress, [], []]
    if balanced:
        own = all_of(by_role["load_balancer"])
        api_entry, ingress_entry = (sorted((entries or {}).get(kind) or own) for kind in ("api", "ingress"))
        services = [api_entry, api_entry, ingress_entry, api, ingress]
    hosts = [
        {"name": device["hostname"], "values": of(device)}
        for device in named
        if device["hostname"].endswith(end) and not (bootstrap_complete and device in bootstrap)
    ]
    desired = {record["name"] for record in hosts}
    return [
        *({"name": service + end, "values": values} for service, values in zip(SERVICES, services, strict=True) if not adopted),
        *hosts,
        *({"name": name, "values": []} for name in known if name not in desired),
    ]


def _ingress(
    by_role: Mapping[str, list[Device]], workers: Collection[str], nodes: Sequence[Mapping[str, Any]], *, balanced: bool
) -> list[Device]:
    """Return the devices that ingress leads to.

    A load balancer checks which of them run a router, so it gets all that may. Records without one lead to those that do. As long as the
    cluster reports neither, they are the workers of the inventory, or the control plane if it has none.
    """
    members = [*by_role["control_plane"], *by_role["workers"]]
    for state in ("may_run_router",) if balanced else ("router", "may_run_router"):
        names = {node["name"] for node in nodes if node.get(state)}
        if found := [device for device in members if device["hostname"] in names]:
            return found
    if not workers:
        return by_role["workers"] or by_role["control_plane"]
    return [device for device in by_role["workers"] if device["hostname"] in workers]


def record_type(address: str) -> str:
    """Return the type of the DNS record of an address."""
    return "AAAA" if ":" in address else "A"


def zone_lines(records: Iterable[Mapping[str, Any]], cluster: str, ttl: int) -> list[str]:
    """Return a line of a zone file for each address, and a comment for each host name whose record has to be deleted."""
    services = {f"{service}.{cluster}" for service in SERVICES}
    records = list(records)
    lines = [f"{record['name']}. {ttl} IN {record_type(address)} {address}" for record in records for address in record["values"]]
    return lines + [f"; delete {record['name']}." for record in records if not record["values"] and record["name"] not in services]
