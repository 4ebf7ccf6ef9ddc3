# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where devices are in the simulated networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from metal_api.core.addressing import network as parsed
from metal_api.core.world import World
from metal_api.devices.record import Port
from metal_api.ip_reservations.record import Assignment, Reservation
from metal_api.metal_gateways import MetalGateway
from metal_api.virtual_networks import VirtualNetwork


@dataclass(frozen=True)
class Attachment:
    """Where the first bond of a device is. ``layer3``: whether packets to its management addresses reach it; ``vlans``: numbers of the
    VLANs whose frames reach it with their tag; ``gateways``: for each of them the addresses of its active gateways. ``management``: its
    management addresses of both IP versions.
    """

    layer3: bool = True
    vlans: frozenset[int] = frozenset()
    gateways: Mapping[int, frozenset[str]] = field(default_factory=dict)
    management: tuple[Assignment, ...] = ()


AttachmentOf = Callable[[str], Attachment]
"""Returns where the bond of a device is, by its id."""


def attachment(world: World, device_id: str) -> Attachment:
    """Return where the device's first bond is, with its VLANs while it is bonded. Frames of the native VLAN have no tag."""
    bond = next((port for port in world.store[Port].matching("device", device_id) if port.is_bond), None)
    if bond is None:
        return Attachment()
    management = tuple(each for each in world.store[Assignment].matching("device", device_id) if each.management)
    if not bond.bonded:
        return Attachment(layer3=bond.layer == 3, management=management)
    networks = (world.store[VirtualNetwork].get(id_) for id_ in bond.vlan_ids if id_ != bond.native_vlan_id)
    vlans = [vlan for vlan in networks if vlan is not None]
    gateways = {vlan.vxlan: frozenset(active_addresses(world, vlan.id)) for vlan in vlans}
    return Attachment(layer3=bond.layer == 3, vlans=frozenset(gateways), gateways=gateways, management=management)


def active_addresses(world: World, vlan_id: str) -> list[str]:
    """Return the addresses of the gateways of a VLAN that route packets, without prefix."""
    store = world.store
    active = [gateway for gateway in store[MetalGateway].matching("vlan", vlan_id) if gateway.state == "active"]
    return [str(parsed(str(store[Reservation][gateway.reservation_id].network)).network_address + 1) for gateway in active]
