# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VLANs of a project, each in one metro."""

from __future__ import annotations

import uuid
from dataclasses import replace

from sandbox.metal.calls import Call, Reply, Route, paths, updates, whole_number
from sandbox.metal.device_input import DeviceInput, one_place
from sandbox.metal.errors import is_blank, unprocessable
from sandbox.metal.records import VirtualNetwork

# Numbers that may be asked for, and those handed out otherwise (vendor's OpenAPI text).
CHOSEN = range(2, 4000)
AUTOMATIC = range(1000, 2000)


def list_virtual_networks(call: Call) -> Reply:
    """Not paged (vendor's OpenAPI text). Filters: metro, facility, vxlan, tag."""
    found: list[VirtualNetwork] = call.world.store.virtual_networks.by("project", call.project().id)
    if codes := call.values("metro"):
        metros = {getattr(call.world.catalogue.metro(each), "code", None) for each in codes}
        found = [each for each in found if each.metro in metros]
    if numbers := call.values("vxlan"):
        found = [each for each in found if str(each.vxlan) in numbers]
    if tags := call.values("tag"):
        found = [each for each in found if tags.issubset(each.tags)]
    return Reply({"virtual_networks": [call.rendering.virtual_network(each, call.wanted) for each in found]})


def create_virtual_network(call: Call) -> Reply:
    project, world = call.project(), call.world
    read = DeviceInput(call)
    attributes = read.attributes("tags", "description")
    metro = one_place(call, read)
    by_facility = is_blank(call.field("metro"))
    # Those of a building could not choose their number, and 0 is what clients send that choose none (both: clients' code).
    asked = call.field("vxlan")
    vxlan = None
    if not by_facility and not is_blank(asked) and str(asked) != "0":
        vxlan = whole_number(asked)
        if vxlan not in CHOSEN:
            read.problems.append(f"Vxlan must be between {CHOSEN.start} and {CHOSEN.stop - 1}")
        elif metro is not None and world.store.virtual_networks.first("vxlan", (project.id, metro.code, vxlan)):
            read.problems.append("Vxlan has already been taken")
    quota = world.settings["quotas"]["virtual_networks"]
    if quota is not None and world.store.virtual_networks.count("project", project.id) >= quota:
        read.problems.append(f"Virtual networks quota of {quota} for this project has been reached")
    read.fail()
    assert metro is not None  # noqa: S101 - else fail() has raised
    if vxlan is None:
        taken = (number for number in AUTOMATIC if not world.store.virtual_networks.first("vxlan", (project.id, metro.code, number)))
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
    return Reply(call.rendering.virtual_network(vlan, call.wanted), 201)


def _vlan(call: Call) -> VirtualNetwork:
    vlan: VirtualNetwork = call.find(call.world.store.virtual_networks)
    return vlan


def show_virtual_network(call: Call) -> Reply:
    return Reply(call.rendering.virtual_network(_vlan(call), call.wanted))


def update_virtual_network(call: Call) -> Reply:
    """Description and tags; number and metro stay."""
    vlan = _vlan(call)
    read = DeviceInput(call)
    changes = read.attributes("tags", "description")
    read.fail()
    return Reply(call.rendering.virtual_network(call.world.store.put(replace(vlan, **changes)), call.wanted))


def delete_virtual_network(call: Call) -> Reply:
    """Refused while a port or a gateway is in it; who that is, its ``instances`` and ``metal_gateways`` say."""
    vlan = _vlan(call)
    if call.world.devices_in(vlan):
        raise unprocessable("Cannot delete Virtual Network when port is assigned")  # real
    if call.world.store.metal_gateways.count("vlan", vlan.id):
        raise unprocessable("Cannot delete Virtual Network when metal gateway is assigned")
    call.world.store.drop(vlan)
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("GET", list_virtual_networks, "/projects/{id}/virtual-networks"),
    *paths("POST", create_virtual_network, "/projects/{id}/virtual-networks"),
    *paths("GET", show_virtual_network, "/virtual-networks/{id}"),
    *updates("/virtual-networks/{id}", update_virtual_network),
    *paths("DELETE", delete_virtual_network, "/virtual-networks/{id}"),
]
