# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What clusters have at the Metal API, told by the ownership mark alone.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options, identifiers
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotFoundError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.tags import CLUSTER_TAG, INFRA_TAG, ROLE_TAG, tag_values
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.cluster_lock import lock_of_network
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.record import is_lock
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import device_result
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import price_per_hour
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.gateway import Gateway, list_gateways
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ip_reservation import IpReservation
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import filter_tag
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.vlan import Vlan

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient

CLUSTER_INFO_OPTIONS = Options({"names": {"type": "list", "elements": "str"}, "project_ids": identifiers("all")})

KINDS = ("devices", "ip_reservations", "virtual_networks", "metal_gateways")
"""What a cluster can have, in the order in which it is given back the other way round."""

LOCKS = "locks"
"""Networks that are the lock of a run which writes to the cluster now: they are gone with that run and are nothing the cluster has."""

LOCK_FACTS = ("id", "holder", "operation", "job", "acquired_at", "renewed_at", "expires_at", "project_id")

Facts = dict[str, Any]


def find_clusters(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_cluster_info`` returns: the clusters by name, each with all that carries its mark.

    Calls: three lists for each project, one more where one of its VLANs is a cluster's, and one for the prices of all.
    """
    wanted = params["names"]
    found: dict[str, dict[str, list[Facts]]] = defaultdict(lambda: {kind: [] for kind in (*KINDS, LOCKS)})
    for project in _projects(client, params):
        for kind, facts in _belongings(client, project, wanted):
            for name in tag_values(facts["tags"], CLUSTER_TAG):
                if wanted is None or name in wanted:
                    found[name][kind].append({**facts, "project_id": project})
    for belongings in found.values():
        for project in {network["project_id"] for network in belongings["virtual_networks"]}:
            belongings["metal_gateways"] += _gateways(client, project, belongings["virtual_networks"])
    prices = _prices(client) if any(belongings["devices"] for belongings in found.values()) else {}
    # A name that was asked for is answered also when nothing is left of it.
    return {"clusters": [_cluster(name, found[name], prices) for name in sorted({*found, *(wanted or [])})]}


def _projects(client: MetalClient, params: Mapping[str, Any]) -> list[str]:
    given = params["project_ids"] or [each for each in [params["project_id"]] if each]
    if not given:
        raise CollectionError("No project is given: set project_id, project_ids or the environment variable METAL_PROJECT_ID")
    if "all" not in given:
        return list(dict.fromkeys(given))
    listed = client.read_list("projects", "projects", doing="list the projects")
    return [str(project["id"]) for project in listed if project.get("id")]


def _belongings(client: MetalClient, project: str, wanted: Sequence[str] | None) -> Iterator[tuple[str, Facts]]:
    """Everything of a project that can carry tags and may be a wanted cluster's, as what kind it is, and its facts."""
    doing = f"of project {project}"
    # The API narrows devices by one tag, and nothing else.
    tag = {"tag": filter_tag([f"{CLUSTER_TAG}{wanted[0]}"]) if wanted and len(wanted) == 1 else None}
    for device in client.read_list(f"projects/{project}/devices", "devices", params=tag, doing=f"list the devices {doing}"):
        yield "devices", device_result(device)
    types = {"types": "public_ipv4,global_ipv4,vrf"}
    for block in client.read_list(f"projects/{project}/ips", "ip_addresses", params=types, doing=f"list the IP reservations {doing}"):
        yield "ip_reservations", IpReservation.result(block)
    for network in client.read_list(f"projects/{project}/virtual-networks", "virtual_networks", doing=f"list the VLANs {doing}"):
        facts = Vlan.result(network)
        if is_lock(facts["tags"]):
            yield LOCKS, {**facts, **lock_of_network(network).result()}
        else:
            yield "virtual_networks", facts


def _gateways(client: MetalClient, project: str, networks: Iterable[Mapping[str, Any]]) -> list[Facts]:
    """A gateway has no tags: it is its VLAN's."""
    ours = {network["id"] for network in networks if network["project_id"] == project}
    listed = map(Gateway.result, list_gateways(client, {"project_id": project}, f"list the gateways of project {project}"))
    return [{**facts, "project_id": project} for facts in listed if facts["virtual_network_id"] in ours]


def _prices(client: MetalClient) -> dict[Any, float | None]:
    try:
        return {plan.get("slug"): price_per_hour(plan) for plan in client.read_list("plans", "plans", doing="read the plans' prices")}
    except NotFoundError:
        # A service for one's own rack may know no plans; what is there can be told without prices.
        return {}


def _cluster(name: str, belongings: Mapping[str, list[Facts]], prices: Mapping[Any, float | None]) -> dict[str, Any]:
    devices = [_device(facts, prices) for facts in belongings["devices"]]
    # Reserved hardware is paid for by its contract, with a machine on it or without.
    billed = [device["price_per_hour"] for device in devices if not device["hardware_reservation_id"]]
    known = [price for price in billed if price is not None]
    return {
        "name": name,
        **{kind: sorted(belongings[kind], key=lambda facts: (str(facts["created_at"]), str(facts["id"]))) for kind in KINDS[1:]},
        "devices": sorted(devices, key=lambda device: (str(device["hostname"]), str(device["id"]))),
        LOCKS: [{name: facts[name] for name in LOCK_FACTS} for facts in belongings[LOCKS]],
        "project_ids": sorted({facts["project_id"] for kind in (*KINDS, LOCKS) for facts in belongings[kind]}),
        "count": sum(len(belongings[kind]) for kind in KINDS),
        "price_per_hour": round(sum(known), 4) if len(known) == len(billed) else None,
    }


def _device(facts: Facts, prices: Mapping[Any, float | None]) -> Facts:
    told = ("id", "hostname", "plan", "metro", "state", "locked", "created_at", "termination_time", "hardware_reservation_id", "project_id")
    return {
        **{name: facts[name] for name in told},
        "role": next(iter(tag_values(facts["tags"], ROLE_TAG)), None),
        "infra_id": next(iter(tag_values(facts["tags"], INFRA_TAG)), None),
        "price_per_hour": prices.get(facts["plan"]),
    }
