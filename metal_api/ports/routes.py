# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of ports: VLANs, bonds and layers. rules.py has the conditions."""

from __future__ import annotations

from collections.abc import Callable

from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.errors import not_found
from metal_api.devices.record import Device, Port
from metal_api.ports.rendering import render_vlan_assignment, vlan_assignment_id
from metal_api.ports.rules import Ports
from metal_api.virtual_networks import VirtualNetwork


def find(call: Call) -> tuple[Ports, Port]:
    port = call.world.store[Port].get(call.id)
    device = call.world.store[Device].get(port.device_id) if port is not None else None
    if port is None or device is None or not call.caller.sees(device.project_id):
        raise not_found()
    return Ports(call.world, device), port


def show_port(call: Call) -> Reply:
    return Reply(call.shown(find(call)[1]))


def _changing(change: Callable[[Call, Ports, Port], Port]) -> Callable[[Call], Reply]:
    def handler(call: Call) -> Reply:
        ports, port = find(call)
        return Reply(call.shown(change(call, ports, port)))

    return handler


def list_vlan_assignments(call: Call) -> Reply:
    port = find(call)[1]
    vlans = [call.world.store[VirtualNetwork][id_] for id_ in port.vlan_ids]
    return Reply({"vlan_assignments": [render_vlan_assignment(call.rendering, port, vlan, call.include) for vlan in vlans]})


def show_vlan_assignment(call: Call) -> Reply:
    port = find(call)[1]
    for vlan in (call.world.store[VirtualNetwork][id_] for id_ in port.vlan_ids):
        if vlan_assignment_id(port, vlan) == call.params["assignment_id"]:
            return Reply(render_vlan_assignment(call.rendering, port, vlan, call.include))
    raise not_found()


def _to_layer_2(call: Call, ports: Ports, port: Port) -> Port:
    """Convert a port to layer 2, and assign the VLAN in the body, if any (vendor's OpenAPI text: the body is that of an assignment)."""
    vnid = call.field("vnid")
    vlan = ports.vlan(vnid) if vnid else None
    port = ports.to_layer_2(port)
    return ports.assign(port, vlan) if vlan is not None else port


# Flags and the VLAN come in the query or in the body (vendor's OpenAPI text, clients' code).
ROUTES: list[Route] = [
    *paths("GET", show_port, "/ports/{id}"),
    *paths("POST", _changing(lambda call, ports, port: ports.assign(port, ports.vlan(call.field("vnid")))), "/ports/{id}/assign"),
    *paths("POST", _changing(lambda call, ports, port: ports.unassign(port, ports.vlan(call.field("vnid")))), "/ports/{id}/unassign"),
    *paths("POST", _changing(lambda call, ports, port: ports.bond(port, all_of_it=call.flag("bulk_enable"))), "/ports/{id}/bond"),
    *paths("POST", _changing(lambda call, ports, port: ports.disbond(port, all_of_it=call.flag("bulk_disable"))), "/ports/{id}/disbond"),
    *paths("POST", _changing(_to_layer_2), "/ports/{id}/convert/layer-2"),
    *paths(
        "POST", _changing(lambda call, ports, port: ports.to_layer_3(port, call.body.get("request_ips"))), "/ports/{id}/convert/layer-3"
    ),
    *paths("POST", _changing(lambda call, ports, port: ports.set_native(port, ports.vlan(call.field("vnid")))), "/ports/{id}/native-vlan"),
    *paths("DELETE", _changing(lambda _, ports, port: ports.clear_native(port)), "/ports/{id}/native-vlan"),
    *paths("GET", list_vlan_assignments, "/ports/{id}/vlan-assignments"),
    *paths("GET", show_vlan_assignment, "/ports/{id}/vlan-assignments/{assignment_id}"),
]
