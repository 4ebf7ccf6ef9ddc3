# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders ports and VLAN assignments."""

from __future__ import annotations

import uuid
from typing import Any

from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.store import JSON
from metal_api.devices.record import Port
from metal_api.virtual_networks import VirtualNetwork


def render_port(view: Rendering, port: Port, include: Include) -> JSON:
    store = view.store
    vlans = [vlan for vlan in map(store[VirtualNetwork].get, port.vlan_ids) if vlan is not None]
    native = store[VirtualNetwork].get(port.native_vlan_id)

    def shown(name: str, vlan: VirtualNetwork) -> Any:
        return view.part(include, name, vlan)

    result: JSON = {
        "id": port.id,
        "type": "NetworkBondPort" if port.is_bond else "NetworkPort",
        "name": port.name,
        "data": {"bonded": port.bonded} if port.is_bond else {"mac": port.mac, "bonded": port.bonded},
        "disbond_operation_supported": True,
        "native_virtual_network": shown("native_virtual_network", native) if native else None,
        "virtual_networks": [shown("virtual_networks", vlan) for vlan in vlans],
        "connected_port": None,
        "hardware": {"href": f"{view.base}/hardware/{port.device_id}"},
        "href": view.path("ports", port.id),
    }
    if port.is_bond:
        result["network_type"] = network_type(port, store[Port].matching("bond", port.id))
    else:
        result["bond"] = {"id": port.bond_id, "name": port.bond_name}
    return result


def render_vlan_assignment(view: Rendering, port: Port, vlan: VirtualNetwork, include: Include) -> JSON:
    id_ = vlan_assignment_id(port, vlan)
    return {
        "id": id_,
        "native": port.native_vlan_id == vlan.id,
        "state": "assigned",
        "vlan": vlan.vxlan,
        "port": view.part(include, "port", port),
        "virtual_network": view.part(include, "virtual_network", vlan),
        "created_at": vlan.created_at,
        "updated_at": vlan.created_at,
        "href": f"{view.base}/ports/{port.id}/vlan-assignments/{id_}",
    }


def network_type(bond: Port, members: list[Port]) -> str:
    """Return the composite type of a bond (names: vendor's OpenAPI text; conditions: clients' code)."""
    all_bonded = bond.bonded and all(member.bonded for member in members)
    if bond.layer == 3 and bond.bonded:
        if not all_bonded:
            return "hybrid"
        return "hybrid-bonded" if bond.vlan_ids else "layer3"
    return "layer2-bonded" if all_bonded else "layer2-individual"


def vlan_assignment_id(port: Port, vlan: VirtualNetwork) -> str:
    """Return the id of a VLAN assignment, computed from both ids: assignments have no records."""
    return str(uuid.uuid5(uuid.UUID(port.id), vlan.id))
