# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks of the IP ranges of a VRF, requested under /projects/{id}/ips like other blocks."""

from __future__ import annotations

import ipaddress
import uuid
from typing import Any

from metal_api.core.addressing import contains
from metal_api.core.addressing import network as parsed
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.errors import not_found, unprocessable
from metal_api.ip_reservations.record import Reservation
from metal_api.vrfs import Vrf

# Prefix lengths of a reservation by family (clients' code; vendor's OpenAPI text).
RESERVATIONS = {4: range(22, 30), 6: range(64, 65)}


def request_block(call: Call, project_id: str, attributes: dict[str, Any]) -> Reservation:
    """Reserve a free subnet of one of the VRF's ranges: ``{"type": "vrf", "vrf_id", "network", "cidr"}``. Raises 422."""
    world = call.world
    vrf = world.store[Vrf].get(str(call.field("vrf_id") or call.field("vrf") or ""))
    if vrf is None or vrf.project_id != project_id:
        raise unprocessable("Vrf must exist")
    try:
        network = ipaddress.ip_network(f"{call.field('network')}/{call.field('cidr')}")
    except ValueError:
        raise unprocessable("Network and cidr are not a subnet") from None
    allowed = RESERVATIONS[network.version]
    if network.prefixlen not in allowed:
        raise unprocessable(f"Cidr must be between {allowed[0]} and {allowed[-1]}")
    if not any(contains(parsed(ip_range), network) for ip_range in vrf.ip_ranges):
        raise unprocessable("Network is not within an IP range of the VRF")
    taken = [parsed(str(reservation.network)) for reservation in world.store[Reservation].matching("vrf", vrf.id)]
    if any(contains(other, network) or contains(network, other) for other in taken):
        raise unprocessable("Network has already been taken")
    details = call.field("details")
    return Reservation(
        id=str(uuid.uuid4()),
        project_id=project_id,
        type="vrf",
        quantity=min(network.num_addresses, 1 << 32),
        network=str(network),
        metro=vrf.metro,
        state="created",
        created_at=world.now(),
        requested_by=call.caller.user_id,
        vrf_id=vrf.id,
        details=str(details) if details is not None else None,
        **attributes,
    )


def list_blocks(call: Call) -> Reply:
    reservations = call.world.store[Reservation].matching("vrf", call.find(Vrf).id)
    return Reply({"ip_addresses": [call.shown(reservation) for reservation in reservations]})


def show_block(call: Call) -> Reply:
    vrf = call.find(Vrf, call.params["vrf_id"])
    block = call.world.store[Reservation].get(call.id)
    if block is None or block.vrf_id != vrf.id:
        raise not_found()
    return Reply(call.shown(block))


ROUTES: list[Route] = [
    *paths("GET", list_blocks, "/vrfs/{id}/ips"),
    *paths("GET", show_block, "/vrfs/{vrf_id}/ips/{id}"),
]
