# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VLANs of a project, each in one metro."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project
from metal_api.catalogue.data import catalogue
from metal_api.catalogue.places import one_place
from metal_api.catalogue.rendering import facility_part, metro_part
from metal_api.core.body import Body
from metal_api.core.call import Call, Reply, Route, paths, updates, whole_number
from metal_api.core.errors import is_blank, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with
from metal_api.core.store import JSON, Kind, Record, Store

# Numbers that may be requested, and those that the service chooses (vendor's OpenAPI text).
CHOSEN = range(2, 4000)
AUTOMATIC = range(1000, 2000)


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualNetwork(Record):
    project_id: str
    vxlan: int
    metro: str
    created_at: str
    # Created with a facility, by an older client: rendered with the facility and without a metro.
    by_facility: bool = False
    description: str | None = None
    tags: tuple[str, ...] = ()


def render_virtual_network(view: Rendering, vlan: VirtualNetwork, include: Include) -> JSON:
    metro = catalogue().metros[vlan.metro]
    return {
        "id": vlan.id,
        "description": vlan.description,
        "vxlan": vlan.vxlan,
        "metro_code": None if vlan.by_facility else vlan.metro,
        "metro": None if vlan.by_facility else metro_part(view, include, metro),
        "facility": facility_part(view, include, metro) if vlan.by_facility else None,
        "facility_code": metro.facility if vlan.by_facility else None,
        "assigned_to": view.part(include, "assigned_to", view.store[Project][vlan.project_id]),
        "assigned_to_virtual_circuit": False,
        "instances": view.parts(include, "instances", devices_in(view.store, vlan)),
        "metal_gateways": [view.brief(gateway) for gateway in view.store["metal_gateways"].matching("vlan", vlan.id)],
        "tags": list(vlan.tags),
        "created_at": vlan.created_at,
        "href": view.path("virtual-networks", vlan.id),
    }


def devices_in(store: Store, vlan: VirtualNetwork) -> list[Any]:
    """Return the devices with a port in ``vlan``, without those that are deprovisioning.

    packet-python's live tests delete the device, its VLANs and the project, one call after the other.
    """
    ids = dict.fromkeys(port.device_id for port in store["ports"].matching("in_use", True) if vlan.id in port.vlan_ids)
    return [device for device in (store["devices"][id_] for id_ in ids) if device.state != "deprovisioning"]


def list_virtual_networks(call: Call) -> Reply:
    """Not paged (vendor's OpenAPI text). Filters: metro, facility, vxlan, tag."""
    vlans: list[VirtualNetwork] = call.world.store[VirtualNetwork].matching("project", project_of(call).id)
    if codes := call.values("metro"):
        metros = {getattr(catalogue().metro(code), "code", None) for code in codes}
        vlans = [vlan for vlan in vlans if vlan.metro in metros]
    if numbers := call.values("vxlan"):
        vlans = [vlan for vlan in vlans if str(vlan.vxlan) in numbers]
    if tags := call.values("tag"):
        vlans = [vlan for vlan in vlans if tags.issubset(vlan.tags)]
    return Reply({"virtual_networks": [call.shown(vlan) for vlan in vlans]})


def create_virtual_network(call: Call) -> Reply:
    project, world = project_of(call), call.world
    read = Body(call.body)
    attributes = read.attributes("tags", "description")
    metro = one_place(call, read)
    by_facility = is_blank(call.field("metro"))
    # With a facility the number cannot be chosen, and clients send 0 for no choice (both: clients' code).
    requested = call.field("vxlan")
    vxlan = None
    if not by_facility and not is_blank(requested) and str(requested) != "0":
        vxlan = whole_number(requested)
        if vxlan not in CHOSEN:
            read.problems.append(f"Vxlan must be between {CHOSEN.start} and {CHOSEN.stop - 1}")
        elif metro is not None and world.store[VirtualNetwork].first("vxlan", (project.id, metro.code, vxlan)):
            read.problems.append("Vxlan has already been taken")
    quota = world.policy.quota("virtual_networks")
    if quota is not None and world.store[VirtualNetwork].count("project", project.id) >= quota:
        read.problems.append(f"Virtual networks quota of {quota} for this project has been reached")
    read.fail()
    assert metro is not None  # noqa: S101 - else fail() has raised
    if vxlan is None:
        taken = (number for number in AUTOMATIC if not world.store[VirtualNetwork].first("vxlan", (project.id, metro.code, number)))
        vxlan = next(taken, None)
        if vxlan is None:
            raise unprocessable("There is no free VLAN number left in this metro")
    vlan = world.store.put(
        VirtualNetwork(
            id=str(uuid.uuid4()),
            project_id=project.id,
            vxlan=vxlan,
            metro=metro.code,
            by_facility=by_facility,
            created_at=world.now(),
            **attributes,
        )
    )
    return Reply(call.shown(vlan), 201)


def show_virtual_network(call: Call) -> Reply:
    return Reply(call.shown(call.find(VirtualNetwork)))


def update_virtual_network(call: Call) -> Reply:
    """Update description and tags; number and metro cannot change."""
    vlan = call.find(VirtualNetwork)
    read = Body(call.body)
    changes = read.attributes("tags", "description")
    read.fail()
    return Reply(call.shown(call.world.store.put(replace(vlan, **changes))))


def delete_virtual_network(call: Call) -> Reply:
    """Delete a VLAN without ports, and its gateways with it: metal-cli's end-to-end tests do so. ``instances`` block its deletion."""
    vlan = call.find(VirtualNetwork)
    if devices_in(call.world.store, vlan):
        raise unprocessable("Cannot delete Virtual Network when port is assigned")  # real
    call.world.erase(vlan)
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("GET", list_virtual_networks, "/projects/{id}/virtual-networks"),
    *paths("POST", create_virtual_network, "/projects/{id}/virtual-networks"),
    *paths("GET", show_virtual_network, "/virtual-networks/{id}"),
    *updates("/virtual-networks/{id}", update_virtual_network),
    *paths("DELETE", delete_virtual_network, "/virtual-networks/{id}"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[
        Kind(
            VirtualNetwork,
            "virtual_networks",
            "virtual-networks",
            render_virtual_network,
            keys={"project": lambda r: r.project_id, "vxlan": lambda r: (r.project_id, r.metro, r.vxlan)},
        )
    ],
    on_erase={Project: drop_with(VirtualNetwork, "project")},
)
