# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders blocks of addresses, and addresses on devices."""

from __future__ import annotations

from metal_api.accounts.record import Project, User
from metal_api.catalogue.data import catalogue
from metal_api.catalogue.rendering import facility_part, metro_part
from metal_api.core.addressing import gateway_and_address, network_texts
from metal_api.core.addressing import network as parsed
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.store import JSON
from metal_api.ip_reservations.record import Assignment, Reservation
from metal_api.vrfs import Vrf


def render_assignment(view: Rendering, assignment: Assignment, include: Include) -> JSON:
    metro = catalogue().metros[assignment.metro]
    network = network_texts(assignment.network)
    parent = view.store[Reservation].get(assignment.reservation_id)
    block = network_texts(parent.network) if parent is not None and parent.network else network
    return {
        "id": assignment.id,
        "address_family": network.version,
        "netmask": network.netmask,
        "created_at": assignment.created_at,
        "public": assignment.public,
        "cidr": network.prefix,
        "management": assignment.management,
        "manageable": True,
        "enabled": True,
        "global_ip": assignment.global_ip,
        "customdata": assignment.customdata,
        "project": {},
        "project_lite": {},
        "network": network.address,
        "address": assignment.address,
        "gateway": assignment.gateway,
        "parent_block": {
            # Written out in full for IPv6 (recorded answers of the metadata service).
            "network": block.full_address,
            "netmask": block.full_netmask,
            "cidr": block.prefix,
            "href": view.path("ips", assignment.reservation_id or assignment.id),
        },
        "assigned_to": view.part(include, "assigned_to", view.store["devices"][assignment.device_id]),
        "interface": {"href": view.path("ports", assignment.port_id)},
        "facility": facility_part(view, include, metro),
        "metro": metro_part(view, include, metro, by_default=True),
        "href": view.path("ips", assignment.id),
    }


def render_reservation(view: Rendering, reservation: Reservation, include: Include) -> JSON:
    """Render a reservation, a ``vrf`` block with its VRF, by which SDKs distinguish the two models."""
    block = reservation.network
    network = parsed(block) if block else None
    metro = catalogue().metros[reservation.metro] if reservation.metro else None
    gateway, address = gateway_and_address(network) if network else (None, None)
    project = view.store[Project][reservation.project_id]
    user = view.store[User].get(reservation.requested_by)
    used_by = view.store["metal_gateways"].first("reservation", reservation.id)
    vrf = view.store[Vrf].get(reservation.vrf_id)
    shown = {
        "id": reservation.id,
        "type": reservation.type,
        "state": reservation.state,
        "address_family": network.version if network else 4,
        # No quantity: the Go SDK accepts no unknown field in public blocks.
        "network": str(network.network_address) if network else None,
        "netmask": str(network.netmask) if network else None,
        "cidr": network.prefixlen if network else 32 - (reservation.quantity.bit_length() - 1),
        "gateway": gateway,
        "address": address,
        "public": reservation.type not in {"private_ipv4", "vrf"},
        "management": False,
        "manageable": True,
        "enabled": network is not None,
        "global_ip": reservation.type == "global_ipv4",
        "addon": reservation.requested,
        "bill": reservation.requested,
        "tags": list(reservation.tags),
        "details": reservation.details,
        "customdata": reservation.customdata,
        "project": view.part(include, "project", project),
        "project_lite": {"href": view.path("projects", project.id)},
        "requested_by": view.part(include, "requested_by", user) if user is not None else None,
        "assignments": view.parts(include, "assignments", view.store[Assignment].matching("reservation", reservation.id)),
        "facility": facility_part(view, include, metro, by_default=True) if metro else None,
        "metro": metro_part(view, include, metro, by_default=True) if metro else None,
        "available": f"{view.path('ips', reservation.id)}/available",
        "metal_gateway": view.brief(used_by) if used_by is not None else None,
        "created_at": reservation.created_at,
        "href": view.path("ips", reservation.id),
    }
    if vrf is not None:
        shown["vrf"] = view.part(include, "vrf", vrf, by_default=True)
        shown["created_by"] = {"href": f"{view.base}/users/{reservation.requested_by}"}
    return shown
