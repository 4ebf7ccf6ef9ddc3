# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of devices as a resource."""

from __future__ import annotations

from dataclasses import replace

from metal_api.core.resource import Resource, drop_with, resume_each
from metal_api.core.store import Kind
from metal_api.core.world import World
from metal_api.devices.record import Port
from metal_api.ports import batches, routes
from metal_api.ports.batches import VlanBatch
from metal_api.ports.rendering import render_port
from metal_api.virtual_networks import VirtualNetwork


def _leave(world: World, vlan: VirtualNetwork) -> None:
    """Take a deleted VLAN off the ports of devices that are deprovisioning, which do not block its deletion."""
    for port in world.store[Port].matching("in_use", True):
        if vlan.id in port.vlan_ids:
            native = None if port.native_vlan_id == vlan.id else port.native_vlan_id
            world.store.put(replace(port, vlan_ids=tuple(id_ for id_ in port.vlan_ids if id_ != vlan.id), native_vlan_id=native))


RESOURCE = Resource(
    # Batches first: the router would match "batches" as an assignment's id.
    routes=[*batches.ROUTES, *routes.ROUTES],
    kinds=[
        Kind(
            Port,
            "ports",
            "ports",
            render_port,
            keys={
                "device": lambda r: r.device_id,
                "bond": lambda r: r.bond_id,
                "in_use": lambda r: True if r.vlan_ids else None,
            },
        ),
        Kind(VlanBatch, "vlan_batches", show=batches.render_vlan_batch, keys={"port": lambda r: r.port_id}),
    ],
    resume=resume_each(VlanBatch, lambda r: r.state in batches.UNDER_WAY, batches.run),
    on_erase={Port: drop_with(VlanBatch, "port"), VirtualNetwork: _leave},
)
