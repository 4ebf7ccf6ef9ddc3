# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of VLANs, IP reservations and their free addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options, identifier, identifiers
from ..base.errors import CollectionError
from .ip_reservation import IpReservation
from .resource import matches
from .vlan import Vlan

if TYPE_CHECKING:
    from ..clients.metal import MetalClient

_TEXTS: Mapping[str, Any] = {"type": "list", "elements": "str"}

VLAN_INFO_OPTIONS = Options(
    {
        "ids": identifiers(),
        "metro": {"type": "str"},
        "vxlans": {"type": "list", "elements": "int"},
        "tags": _TEXTS,
        "description": {"type": "str"},
    }
)
IP_RESERVATION_INFO_OPTIONS = Options(
    {
        "ids": identifiers(),
        "types": {**_TEXTS, "aliases": ["type"], "choices": ["public_ipv4", "global_ipv4", "private_ipv4", "public_ipv6", "vrf"]},
        "metro": {"type": "str"},
        "tags": _TEXTS,
        "details": {"type": "str"},
        "states": _TEXTS,
    }
)
AVAILABLE_ADDRESSES_INFO_OPTIONS = Options(
    {"ip_reservation_id": identifier(aliases=["reserved_ip_block_id"]), "cidr": {"type": "int", "default": 32}}
)


def find_vlans(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_vlan_info`` returns."""
    listed = client.read_list(
        f"projects/{params['project_id']}/virtual-networks",
        "virtual_networks",
        params={"metro": params["metro"] or None},
        doing="list the project's VLANs",
    )
    filters = {"id": params["ids"], "vxlan": params["vxlans"], **{name: params[name] for name in ("metro", "tags", "description")}}
    kept = [result for result in map(Vlan.result, listed) if matches(result, filters)]
    return {"virtual_networks": sorted(kept, key=lambda each: (str(each["metro"]), each["vxlan"] or 0))}


def find_ip_reservations(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_ip_reservation_info`` returns."""
    listed = client.read_list(
        f"projects/{params['project_id']}/ips",
        "ip_addresses",
        # Without types the API leaves out the blocks it created itself (known from packngo).
        params={"types": params["types"] or "public_ipv4,global_ipv4,private_ipv4,public_ipv6,vrf"},
        doing="list the project's IP reservations",
    )
    filters = {"id": params["ids"], "type": params["types"], "state": params["states"]}
    filters |= {name: params[name] for name in ("metro", "tags", "details")}
    return {"ip_reservations": [result for result in map(IpReservation.result, listed) if matches(result, filters)]}


def find_available_addresses(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_available_addresses_info`` returns: free subnets of one block, or of all public and global ones."""
    cidr = params["cidr"]
    # Sizes that the API accepts (vendor's OpenAPI text).
    if not 20 <= cidr <= 128:
        raise CollectionError(f"cidr must be 20 to 128, not {cidr}")
    blocks: list[Any]
    if params["ip_reservation_id"]:
        blocks = [params["ip_reservation_id"]]
    else:
        reservations = find_ip_reservations(
            client,
            {
                **dict.fromkeys(("ids", "metro", "tags", "details")),
                "project_id": params["project_id"],
                "types": ["public_ipv4", "global_ipv4"],
                "states": ["created"],
            },
        )
        blocks = [block["id"] for block in reservations["ip_reservations"]]
    available: list[str] = []
    for block in blocks:
        answer = client.read(f"ips/{block}/available", params={"cidr": cidr}, doing=f"list the free addresses of IP reservation {block}")
        free = answer.get("available")
        available += [subnet for subnet in free if isinstance(subnet, str)] if isinstance(free, list) else []
    return {"available": available}
