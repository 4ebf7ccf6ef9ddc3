# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of clusters at the Metal API, found by their ownership tags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options, identifiers
from ..base.errors import CollectionError
from ..base.tags import CLUSTER_TAG, INFRA_TAG, ROLE_TAG, tag_values
from ..lock.cluster_lock import lock_of_network
from ..lock.record import is_lock
from ..machines.device import device_result
from ..metal.gateway import SUBNET_SIZES, Gateway, list_gateways
from ..metal.ip_reservation import IpReservation
from ..metal.objects import filter_tag
from ..metal.vlan import Vlan

if TYPE_CHECKING:
    from ..clients.metal import MetalClient

CLUSTER_INFO_OPTIONS = Options({"names": {"type": "list", "elements": "str"}, "project_ids": identifiers("all")})

KINDS = ("devices", "ip_reservations", "virtual_networks", "metal_gateways")
"""Kinds of objects of a cluster. They are deleted in reverse order."""

LOCKS = "locks"
"""Networks that are lock objects of runs. They are deleted with their run and do not belong to the cluster."""

LOCK_ATTRIBUTES = ("id", "run", "holder", "operation", "job", "acquired_at", "renewed_at", "expires_at", "project_id")

Result = dict[str, Any]


def find_clusters(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of ``metal_cluster_info``: clusters by name, each with all objects that have its ownership tag.

    Calls: three lists for each project, and one more where a VLAN or a block of the size of a gateway's is a cluster's.
    """
    names = params["names"]
    clusters: dict[str, dict[str, list[Result]]] = defaultdict(lambda: {kind: [] for kind in (*KINDS, LOCKS)})
    for project in _projects(client, params):
        for kind, result in _belongings(client, project, names):
            for name in tag_values(result["tags"], CLUSTER_TAG):
                if names is None or name in names:
                    clusters[name][kind].append({**result, "project_id": project})
    for belongings in clusters.values():
        blocks = [block for block in belongings["ip_reservations"] if (block["quantity"] or 0) >= min(SUBNET_SIZES)]
        for project in {virtual_network["project_id"] for virtual_network in (*belongings["virtual_networks"], *blocks)}:
            belongings["metal_gateways"] += _gateways(client, project, belongings["virtual_networks"], blocks)
    # A requested name is in the result even if the cluster has no objects.
    return {"clusters": [_cluster(name, clusters[name]) for name in sorted({*clusters, *(names or [])})]}


def _projects(client: MetalClient, params: Mapping[str, Any]) -> list[str]:
    project_ids = params["project_ids"] or [identity for identity in [params["project_id"]] if identity]
    if not project_ids:
        raise CollectionError("No project is set: set project_id, project_ids or the environment variable METAL_PROJECT_ID")
    if "all" not in project_ids:
        return list(dict.fromkeys(project_ids))
    listed = client.read_list("projects", "projects", doing="list the projects")
    return [str(project["id"]) for project in listed if project.get("id")]


def _belongings(client: MetalClient, project: str, names: Sequence[str] | None) -> Iterator[tuple[str, Result]]:
    """Yield the kind and attributes of each object of a project that can have tags and may be of these clusters."""
    doing = f"of project {project}"
    # The API filters devices by one tag, and other objects not at all.
    tag = {"tag": filter_tag([f"{CLUSTER_TAG}{names[0]}"]) if names and len(names) == 1 else None}
    for device in client.read_list(f"projects/{project}/devices", "devices", params=tag, doing=f"list the devices {doing}"):
        yield "devices", device_result(device)
    types = {"types": "public_ipv4,global_ipv4,vrf"}
    for block in client.read_list(f"projects/{project}/ips", "ip_addresses", params=types, doing=f"list the IP reservations {doing}"):
        yield "ip_reservations", IpReservation.result(block)
    for network in client.read_list(f"projects/{project}/virtual-networks", "virtual_networks", doing=f"list the VLANs {doing}"):
        result = Vlan.result(network)
        if is_lock(result["tags"]):
            yield LOCKS, {**result, **lock_of_network(network).result()}
        else:
            yield "virtual_networks", result


def _gateways(
    client: MetalClient, project: str, networks: Iterable[Mapping[str, Any]], blocks: Iterable[Mapping[str, Any]]
) -> list[Result]:
    """Return the gateways in these VLANs or with these blocks: a gateway has no tags, and its VLAN may be of another owner."""
    ours = {network["id"] for network in (*networks, *blocks) if network["project_id"] == project}
    listed = map(Gateway.result, list_gateways(client, {"project_id": project}, f"list the gateways of project {project}"))
    return [{**result, "project_id": project} for result in listed if ours & {result["virtual_network_id"], result["ip_reservation_id"]}]


def _cluster(name: str, belongings: Mapping[str, list[Result]]) -> dict[str, Any]:
    devices = [_device(result) for result in belongings["devices"]]
    # Reserved hardware is paid by contract, whether or not it has a device.
    billed = [device["price_per_hour"] for device in devices if not device["hardware_reservation_id"]]
    known = [price for price in billed if price is not None]
    return {
        "name": name,
        **{kind: sorted(belongings[kind], key=lambda result: (str(result["created_at"]), str(result["id"]))) for kind in KINDS[1:]},
        "devices": sorted(devices, key=lambda device: (str(device["hostname"]), str(device["id"]))),
        LOCKS: [{name: result[name] for name in LOCK_ATTRIBUTES} for result in belongings[LOCKS]],
        "project_ids": sorted({result["project_id"] for kind in (*KINDS, LOCKS) for result in belongings[kind]}),
        "count": sum(len(belongings[kind]) for kind in KINDS),
        "price_per_hour": round(sum(known), 4) if len(known) == len(billed) else None,
    }


def _device(result: Result) -> Result:
    names = (
        "id",
        "hostname",
        "plan",
        "price_per_hour",
        "metro",
        "state",
        "locked",
        "created_at",
        "termination_time",
        "hardware_reservation_id",
        "project_id",
    )
    return {
        **{name: result[name] for name in names},
        "role": next(iter(tag_values(result["tags"], ROLE_TAG)), None),
        "infra_id": next(iter(tag_values(result["tags"], INFRA_TAG)), None),
    }
