# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes of a port, with their conditions.

| type of the bond | layer | eth ports | VLANs |
|---|---|---|---|
| layer3 | 3 | all bonded | none |
| hybrid-bonded | 3 | all bonded | on the bond |
| hybrid | 3 | one out of the bond | on that one |
| layer2-bonded | 2 | all bonded | on the bond |
| layer2-individual | 2 | out of the bond | on each |

Effects: vendor's OpenAPI text and clients' code. Texts marked real were seen in public issue threads, the others are ours.

Two rules follow tests of clients that ran against the real service rather than the OpenAPI text: a bond keeps its VLANs when it is taken
apart (packet-python's live tests) and when it is converted to layer 3 (equinix.cloud's and terraform-provider-equinix' tests).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from metal_api.core.call import whole_number
from metal_api.core.errors import unprocessable
from metal_api.core.world import World
from metal_api.devices.addresses import equip
from metal_api.devices.record import Device, Port
from metal_api.ip_reservations.address_space import AddressSpace
from metal_api.ip_reservations.record import Assignment
from metal_api.metal_gateways import activate
from metal_api.virtual_networks import VirtualNetwork


class Ports:
    """The ports of one device. Each method changes a port or raises 422, and has to be called in a transaction."""

    def __init__(self, world: World, device: Device) -> None:
        self._world = world
        self._store = world.store
        self._device = device

    def vlan(self, name: object) -> VirtualNetwork:
        """Return a VLAN of the device's project and metro, by id or number (also as text)."""
        text = str(name or "")
        if not text:
            raise unprocessable("Vnid can't be blank")
        vlan = self._store[VirtualNetwork].get(text)
        if vlan is None and (number := whole_number(text)) is not None:
            vlan = self._store[VirtualNetwork].first("vxlan", (self._device.project_id, self._device.metro, number))
        if vlan is None or (vlan.project_id, vlan.metro) != (self._device.project_id, self._device.metro):
            raise unprocessable(f"Virtual network {text} does not exist in this project and metro")
        return vlan

    def assign(self, port: Port, vlan: VirtualNetwork) -> Port:
        self._changeable()
        if not port.is_bond and port.bonded:
            raise unprocessable(f"{port.name} is bonded: assign the virtual network to {port.bond_name}, or disbond the port first")
        if port.is_bond and not port.bonded:
            raise unprocessable(f"{port.name} is not bonded: assign the virtual network to its ports")
        if vlan.id in port.vlan_ids:
            raise unprocessable(f"Virtual network {vlan.vxlan} already assigned")  # real in its beginning
        port = self._store.put(replace(port, vlan_ids=(*port.vlan_ids, vlan.id)))
        activate(self._world, vlan.id)
        return port

    def unassign(self, port: Port, vlan: VirtualNetwork) -> Port:
        if vlan.id not in port.vlan_ids:
            raise unprocessable(f"Virtual network {vlan.vxlan} not assigned")  # real
        if port.native_vlan_id == vlan.id:
            raise unprocessable(f"Virtual network {vlan.vxlan} is the native one of {port.name}: remove it as native first")
        return self._store.put(replace(port, vlan_ids=tuple(id_ for id_ in port.vlan_ids if id_ != vlan.id)))

    def set_native(self, port: Port, vlan: VirtualNetwork) -> Port:
        """Set the native VLAN: an assigned one, of at least two, and not on a bond in the hybrid modes (vendor's docs)."""
        if vlan.id not in port.vlan_ids:
            raise unprocessable(f"Virtual network {vlan.vxlan} must be assigned to {port.name} before it can be its native one")
        if len(port.vlan_ids) < 2:
            raise unprocessable("At least two virtual networks must be assigned before one of them can be native")
        if port.is_bond and port.layer == 3:
            raise unprocessable(f"{port.name} is in Layer 3: it cannot have a native virtual network")
        return self._store.put(replace(port, native_vlan_id=vlan.id))

    def clear_native(self, port: Port) -> Port:
        return self._store.put(replace(port, native_vlan_id=None))

    def bond(self, port: Port, *, all_of_it: bool) -> Port:
        """Bond a port. A bond means all its eth ports. Bonded ports stay bonded."""
        self._changeable()
        bond, members = self._family(port)
        joining = [candidate for candidate in (members if all_of_it or port.is_bond else [port]) if not candidate.bonded]
        self._without_vlans(joining)
        for member in joining:
            self._store.put(replace(member, bonded=True))
        if joining and not bond.bonded:
            self._store.put(replace(bond, bonded=True))
        return self._store[Port][port.id]

    def disbond(self, port: Port, *, all_of_it: bool) -> Port:
        """Disbond a port, or with ``all_of_it`` all ports of its bond, which is possible in both layers.

        terraform-provider-equinix and equinix.cloud disbond in layer 3 and convert afterwards, packngo does it in the reverse order, and
        both were tested against the real service. The bond keeps its addresses until it is converted, and its VLANs until they are
        unassigned (packet-python's live tests). A native VLAN has to be removed first (ours).

        The last port of a bond in layer 3 with addresses cannot be disbonded alone (ours).
        """
        self._changeable()
        bond, members = self._family(port)
        whole_bond = all_of_it or port.is_bond
        removed = [candidate for candidate in (members if whole_bond else [port]) if candidate.bonded]
        remaining = [candidate for candidate in members if candidate.bonded and candidate not in removed]
        addressed = any(assignment.port_id == bond.id for assignment in self._store[Assignment].matching("device", self._device.id))
        if removed and not remaining and not whole_bond and addressed:
            raise unprocessable(f"{bond.name} is in Layer 3: its last port cannot be disbonded before it is converted to Layer 2")
        if removed:
            self._without_native(bond)
        for member in removed:
            self._store.put(replace(member, bonded=False))
        # A bond whose ports are disbonded one by one stays bonded itself (clients' code).
        if not remaining and whole_bond:
            self._store.put(replace(bond, bonded=False))
        return self._store[Port][port.id]

    def to_layer_2(self, port: Port) -> Port:
        """Convert a port to layer 2, which removes all its addresses, also the management ones (vendor's OpenAPI text)."""
        self._convertible(port)
        if port.layer == 2:
            raise unprocessable(f"{port.name} is already configured for Layer 2")  # real
        for assignment in self._store[Assignment].matching("device", self._device.id):
            if assignment.port_id == port.id:
                self._world.service(AddressSpace).free(assignment)
                self._store.drop(assignment)
        return self._store.put(replace(port, layer=2))

    def to_layer_3(self, port: Port, request_ips: object) -> Port:
        """Convert a port to layer 3. Its VLANs stay: the bond is hybrid-bonded then.

        The OpenAPI text requires to unassign them first, but equinix.cloud and terraform-provider-equinix converted bonds with VLANs in
        their tests against the real service. A native VLAN has to be removed first: a bond in layer 3 has none (vendor's docs).

        ``request_ips``: list of address_family and public, by default that of the device's order.
        """
        self._convertible(port)
        if port.layer == 3:
            raise unprocessable(f"{port.name} is already configured for Layer 3")
        _unused, members = self._family(port)
        if not port.bonded or not all(member.bonded for member in members):
            raise unprocessable(f"{port.name} is not bonded: bond its ports before it is converted to Layer 3")
        self._without_native(port)
        port = self._store.put(replace(port, layer=3))
        first = next(candidate for candidate in self._store[Port].matching("device", self._device.id) if candidate.is_bond)
        if port.id == first.id:
            equip(self._world, self._device, self._requested_addresses(request_ips))
        return port

    def _requested_addresses(self, request_ips: object) -> tuple[dict[str, Any], ...]:
        ordered = self._device.wanted_addresses
        if not request_ips:
            return ordered
        if not isinstance(request_ips, list) or not all(isinstance(item, dict) for item in request_ips):
            raise unprocessable("Request ips must be a list of objects")
        # Each kind once (ours): metal-cli 0.18 repeats its last one for each of its flags.
        addresses = {}
        for entry in request_ips:
            family, public = entry.get("address_family", 4), entry.get("public", True) is not False
            if family not in (4, 6) or (family == 6 and not public):
                raise unprocessable("Request ips: address_family must be 4 or 6, and 6 is public")
            same = [address for address in ordered if (address["address_family"], address["public"]) == (family, public)]
            fresh = {"address_family": family, "public": public, "cidr": 127 if family == 6 else 31, "ip_reservations": []}
            addresses[family, public] = same[0] if same else fresh
        return tuple(addresses.values())

    def _family(self, port: Port) -> tuple[Port, list[Port]]:
        bond = port if port.bond_id is None else self._store[Port][port.bond_id]
        return bond, self._store[Port].matching("bond", bond.id)

    def _changeable(self) -> None:
        if self._device.network_frozen:
            raise unprocessable("The network of this device is frozen")

    def _convertible(self, port: Port) -> None:
        self._changeable()
        if not port.is_bond:
            raise unprocessable(f"{port.name} is not a bond port: only those can be converted")

    @staticmethod
    def _without_native(port: Port) -> None:
        if port.native_vlan_id is not None:
            raise unprocessable(f"{port.name} has a native virtual network: remove it as native first")

    @staticmethod
    def _without_vlans(ports: list[Port]) -> None:
        for port in ports:
            if port.vlan_ids:
                raise unprocessable(f"{port.name} has virtual networks assigned: unassign them first")
