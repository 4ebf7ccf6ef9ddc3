# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records as the API shows them. Fields and their order of magnitude: vendor's OpenAPI text and recorded answers.

What is a stub unless included: project, ssh_keys, hardware_reservation, virtual_networks of a port, assigned_to of a VLAN. What is whole
unless excluded: plan, operating_system, metro, facility, ip_addresses and network_ports of a device (recorded answers).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from sandbox.metal import provisioning
from sandbox.metal.address_space import gateway_and_address
from sandbox.metal.addressing import network as parsed
from sandbox.metal.addressing import written
from sandbox.metal.include import PLAIN, Wanted
from sandbox.metal.records import (
    ApiKey,
    Assignment,
    BgpConfig,
    BgpSession,
    Device,
    DeviceBatch,
    Event,
    HardwareReservation,
    MetalGateway,
    Organization,
    Port,
    Project,
    Reservation,
    SpotMarketRequest,
    SshKey,
    User,
    VirtualNetwork,
    VlanBatch,
    Vrf,
    VrfRoute,
)

if TYPE_CHECKING:
    from sandbox.metal.catalogue import Metro, OperatingSystem, Plan
    from sandbox.metal.world import MetalWorld

JSON = dict[str, Any]

ACTIONS = {"power_on": "Power On", "power_off": "Power Off", "reboot": "Reboot", "rescue": "Rescue", "reinstall": "Reinstall"}


class Rendering:
    """``base`` goes before every href: the path under which the client called (``/metal/v1`` or nothing)."""

    def __init__(self, world: MetalWorld, base: str) -> None:
        self.world = world
        self.store = world.store
        self.base = base

    # Accounts

    def user(self, user: User, wanted: Wanted = PLAIN) -> JSON:
        email = {"id": str(uuid.uuid5(uuid.UUID(user.id), "email")), "address": user.email, "default": True, "verified": True}
        return {
            "id": user.id,
            "short_id": user.id[:8],
            "first_name": user.first_name,
            "last_name": user.last_name,
            "full_name": f"{user.first_name} {user.last_name}",
            "email": user.email,
            "emails": [wanted.part("emails", f"#{email['id']}", lambda _: {**email, "href": f"#{email['id']}"})],
            "phone_number": user.phone_number,
            "timezone": user.timezone,
            "two_factor_auth": "",
            "fraud_score": "0.00",
            "max_projects": 0,
            "max_organizations": 0,
            "default_organization_id": user.organization_id,
            "default_project_id": user.project_id,
            "customdata": user.customdata,
            "avatar_url": "",
            "avatar_thumb_url": "",
            "created_at": user.created_at,
            "updated_at": user.updated_at,
            "last_login_at": user.updated_at,
            "href": f"{self.base}/users/{user.id}",
        }

    def author(self, user_id: str) -> JSON:
        """The few fields of a user that other objects show."""
        user = self.store.users.get(user_id) or next(iter(self.store.users))
        return {
            "id": user.id,
            "short_id": user.id[:8],
            "first_name": user.first_name,
            "last_name": user.last_name,
            "full_name": f"{user.first_name} {user.last_name}",
            "email": user.email,
            "avatar_thumb_url": "",
            "created_at": user.created_at,
            "updated_at": user.updated_at,
            "href": f"{self.base}/users/{user.id}",
        }

    def organization(self, organization: Organization, wanted: Wanted = PLAIN) -> JSON:
        projects = self.store.projects.by("organization", organization.id)
        return {
            "id": organization.id,
            "name": organization.name,
            "description": organization.description,
            "website": organization.website,
            "twitter": organization.twitter,
            "address": {"address": "1 Loopback Way", "city": "Localhost", "country": "US", "zip_code": "12700"},
            "customdata": organization.customdata,
            "credit_amount": 0.0,
            "projects": [wanted.part("projects", self._href("projects", each.id), self._of(self.project, each)) for each in projects],
            "members": [{"href": f"{self.base}/users/{each}"} for each in organization.member_ids],
            "memberships": [],
            "created_at": organization.created_at,
            "updated_at": organization.updated_at,
            "href": self._href("organizations", organization.id),
        }

    def project(self, project: Project, wanted: Wanted = PLAIN) -> JSON:
        organization = self.store.organizations[project.organization_id]
        devices = self.store.devices.by("project", project.id)
        keys = self.store.ssh_keys.by("project", project.id)
        return {
            "id": project.id,
            "name": project.name,
            "type": "default",
            "tags": list(project.tags),
            "customdata": project.customdata,
            "backend_transfer_enabled": project.backend_transfer_enabled,
            "bgp_config": {"href": f"{self.base}/projects/{project.id}/bgp-config"},
            "max_devices": self.world.settings["quotas"]["plans"] or {},
            "network_status": {},
            "organization": wanted.part(
                "organization", self._href("organizations", organization.id), self._of(self.organization, organization)
            ),
            "payment_method": {"href": f"#{project.payment_method_id or organization.id}"},
            "invitations": [],
            "members": [
                wanted.part("members", f"{self.base}/users/{each.id}", self._of(self.user, each)) for each in self.world.members(project)
            ],
            "memberships": [
                wanted.part(
                    "memberships",
                    self._href("memberships", membership_id(project, each)),
                    self._of(lambda user, _: self.membership(project, user), each),
                )
                for each in self.world.members(project)
            ],
            "volumes": [],
            "devices": [wanted.part("devices", self._href("devices", each.id), self._of(self.device, each)) for each in devices],
            "ssh_keys": [wanted.part("ssh_keys", self._href("ssh-keys", each.id), self._of(self.ssh_key, each)) for each in keys],
            "created_at": project.created_at,
            "updated_at": project.updated_at,
            "href": self._href("projects", project.id),
            "url": self._href("projects", project.id),
        }

    def membership(self, project: Project, user: User) -> JSON:
        return {
            "id": membership_id(project, user),
            "roles": ["admin"],
            "bound_roles": [],
            "project": {"href": self._href("projects", project.id)},
            "user": {"href": f"{self.base}/users/{user.id}"},
            "created_at": project.created_at,
            "updated_at": project.created_at,
            "href": self._href("memberships", membership_id(project, user)),
        }

    def ssh_key(self, key: SshKey, wanted: Wanted = PLAIN) -> JSON:
        owner = f"{self.base}/projects/{key.project_id}" if key.project_id else f"{self.base}/users/{key.user_id}"
        return {
            "id": key.id,
            "label": key.label,
            "key": key.key,
            "fingerprint": key.fingerprint,
            "tags": list(key.tags),
            "entity": {"href": owner},
            # An object: clients break on a bare path (clients' code).
            "owner": {"href": owner},
            "user": {"href": owner} if key.user_id else None,
            "created_at": key.created_at,
            "updated_at": key.updated_at,
            "href": self._href("ssh-keys", key.id),
        }

    def api_key(self, key: ApiKey, *, with_token: bool = True) -> JSON:
        """A project's key carries its project and no whole user, a user's key the other way round (SDKs tell them apart by it)."""
        shown: JSON = {
            "id": key.id,
            "description": key.description,
            **({"token": key.token} if with_token else {}),
            "read_only": key.read_only,
            "created_at": key.created_at,
            "updated_at": key.updated_at,
        }
        if key.project_id:
            shown["project"] = self.project(self.store.projects[key.project_id])
        elif key.user_id:
            shown["user"] = self.user(self.store.users[key.user_id])
        return shown

    # Catalogue

    def metro(self, metro: Metro) -> JSON:
        return _metro(self.base, metro)

    def facility(self, metro: Metro, wanted: Wanted = PLAIN) -> JSON:
        """Without ``address``: clients of the Go SDK break on anything but a whole one, and none is known. Its metro is whole always."""
        return _facility(self.base, metro)

    def plan(self, plan: Plan, wanted: Wanted = PLAIN) -> JSON:
        if not wanted:
            return _plan(self.base, plan, tuple(self.world.catalogue.metros.values()))
        metros = self.world.catalogue.metros.values()
        shown = dict(_plan(self.base, plan, tuple(metros)))
        if wanted.whole("available_in"):
            shown["available_in"] = [{**self.facility(each), "price": {"hour": plan.price_hour}} for each in metros]
        if wanted.whole("available_in_metros"):
            shown["available_in_metros"] = [{**self.metro(each), "price": {"hour": plan.price_hour}} for each in metros]
        return shown

    def operating_system(self, system: OperatingSystem) -> JSON:
        return _operating_system(self.base, system)

    # Devices

    def device(self, device: Device, wanted: Wanted = PLAIN) -> JSON:
        catalogue, store = self.world.catalogue, self.store
        plan, metro = catalogue.plans[device.plan], catalogue.metros[device.metro]
        system = catalogue.operating_systems[device.operating_system]
        project_href = self._href("projects", device.project_id)
        keys = [key for key in map(store.ssh_keys.get, device.ssh_key_ids) if key is not None]
        reservation = store.hardware_reservations.get(device.hardware_reservation_id)
        short = device.id[:8]
        part, base = wanted.part, self.base
        return {
            "id": device.id,
            "short_id": short,
            "hostname": device.hostname,
            "description": device.description,
            "state": device.state,
            "tags": list(device.tags),
            "image_url": None,
            "billing_cycle": device.billing_cycle,
            "user": "root",
            "iqn": f"iqn.{device.created_at[:7]}.net.packet:device.{short}",
            "locked": device.locked,
            "bonding_mode": 4,
            "created_at": device.created_at,
            "updated_at": device.updated_at,
            "created_by": self.author(device.created_by),
            "ipxe_script_url": device.ipxe_script_url,
            "always_pxe": device.always_pxe,
            "storage": device.storage,
            "customdata": device.customdata,
            "operating_system": part(
                "operating_system", f"{base}/operating-systems/{system.id}", lambda _: self.operating_system(system), whole=True
            ),
            "facility": part("facility", f"{base}/facilities/{metro.facility_id}", lambda _: self.facility(metro), whole=True),
            "metro": part("metro", f"{base}/metros/{metro.id}", lambda _: self.metro(metro), whole=True),
            "project": part("project", project_href, self._of(self.project, store.projects[device.project_id])),
            "project_lite": {"href": project_href},
            "ssh_keys": [part("ssh_keys", self._href("ssh-keys", each.id), self._of(self.ssh_key, each)) for each in keys],
            "volumes": [],
            "ip_addresses": [
                part("ip_addresses", self._href("ips", each.id), self._of(self.assignment, each), whole=True)
                for each in store.assignments.by("device", device.id)
            ],
            "plan": part("plan", f"{base}/plans/{plan.id}", self._of(self.plan, plan), whole=True),
            "userdata": device.userdata,
            "switch_uuid": device.switch_uuid,
            "network_ports": [
                part("network_ports", self._href("ports", each.id), self._of(self.port, each), whole=True)
                for each in store.ports.by("device", device.id)
            ],
            "network_frozen": device.network_frozen,
            "hardware_reservation": part(
                "hardware_reservation",
                self._href("hardware-reservations", reservation.id),
                self._of(self.hardware_reservation, reservation),
            )
            if reservation is not None
            else None,
            "firmware_set_id": None,
            "root_password": self.world.shown_password(device),
            "sos": f"sos.{metro.facility}.platformequinix.com",
            "spot_instance": device.spot_instance,
            "spot_price_max": device.spot_price_max,
            "termination_time": device.termination_time,
            "provisioning_events": [self._provisioning_event(device, type_, wanted) for type_ in provisioning.types(device)],
            # Shown while there is something to wait for (vendor's OpenAPI text).
            "provisioning_percentage": provisioning.percentage(device) if device.state in provisioning.STATES else None,
            "actions": [{"type": each, "name": ACTIONS[each]} for each in allowed_actions(device)],
            "href": self._href("devices", device.id),
        }

    def _provisioning_event(self, device: Device, type_: str, wanted: Wanted) -> Any:
        event = self.store.events.get(device.progress.get(type_))
        if event is not None:
            return wanted.part("provisioning_events", self._href("events", event.id), lambda _: self.event(event), whole=True)
        # Still to come.
        body = provisioning.EVENTS[type_]
        waiting: JSON = {
            "id": None,
            "type": type_,
            "body": body,
            "state": None,
            "created_at": None,
            "relationships": [],
            "ip": None,
            "modified_by": None,
            "interpolated": body,
            "href": "#",
        }
        return wanted.part("provisioning_events", "#", lambda _: waiting, whole=True)

    def event(self, event: Event) -> JSON:
        related = self._href("devices", event.device_id) if event.device_id else self._href("projects", event.project_id)
        return {
            "id": event.id,
            "type": event.type,
            "body": event.body,
            "state": event.state,
            "created_at": event.created_at,
            "relationships": [{"href": related}],
            "ip": event.ip,
            "modified_by": self.author(event.user_id) if event.user_id else None,
            "interpolated": event.body,
            "href": self._href("events", event.id),
        }

    # Network

    def port(self, port: Port, wanted: Wanted = PLAIN) -> JSON:
        store = self.store
        vlans = [vlan for vlan in map(store.virtual_networks.get, port.vlan_ids) if vlan is not None]
        native = store.virtual_networks.get(port.native_vlan_id)

        def shown(name: str, vlan: VirtualNetwork) -> Any:
            return wanted.part(name, self._href("virtual-networks", vlan.id), self._of(self.virtual_network, vlan))

        result: JSON = {
            "id": port.id,
            "type": "NetworkBondPort" if port.is_bond else "NetworkPort",
            "name": port.name,
            "data": {"bonded": port.bonded} if port.is_bond else {"mac": port.mac, "bonded": port.bonded},
            "disbond_operation_supported": True,
            "native_virtual_network": shown("native_virtual_network", native) if native else None,
            "virtual_networks": [shown("virtual_networks", each) for each in vlans],
            "connected_port": None,
            "hardware": {"href": f"{self.base}/hardware/{port.device_id}"},
            "href": self._href("ports", port.id),
        }
        if port.is_bond:
            result["network_type"] = network_type(port, store.ports.by("bond", port.id))
        else:
            result["bond"] = {"id": port.bond_id, "name": port.bond_name}
        return result

    def virtual_network(self, vlan: VirtualNetwork, wanted: Wanted = PLAIN) -> JSON:
        metro = self.world.catalogue.metros[vlan.metro]
        return {
            "id": vlan.id,
            "description": vlan.description,
            "vxlan": vlan.vxlan,
            "metro_code": None if vlan.by_facility else vlan.metro,
            "metro": None if vlan.by_facility else wanted.part("metro", f"{self.base}/metros/{metro.id}", lambda _: self.metro(metro)),
            "facility": wanted.part("facility", f"{self.base}/facilities/{metro.facility_id}", lambda _: self.facility(metro))
            if vlan.by_facility
            else None,
            "facility_code": metro.facility if vlan.by_facility else None,
            "assigned_to": wanted.part(
                "assigned_to",
                self._href("projects", vlan.project_id),
                self._of(self.project, self.store.projects[vlan.project_id]),
            ),
            "assigned_to_virtual_circuit": False,
            "instances": [
                wanted.part("instances", self._href("devices", each.id), self._of(self.device, each))
                for each in self.world.devices_in(vlan)
            ],
            "metal_gateways": [self._gateway_lite(each) for each in self.store.metal_gateways.by("vlan", vlan.id)],
            "tags": list(vlan.tags),
            "created_at": vlan.created_at,
            "href": self._href("virtual-networks", vlan.id),
        }

    def vlan_assignment(self, port: Port, vlan: VirtualNetwork, wanted: Wanted = PLAIN) -> JSON:
        id_ = self.world.vlan_assignment_id(port.id, vlan.id)
        return {
            "id": id_,
            "native": port.native_vlan_id == vlan.id,
            "state": "assigned",
            "vlan": vlan.vxlan,
            "port": wanted.part("port", self._href("ports", port.id), self._of(self.port, port)),
            "virtual_network": wanted.part(
                "virtual_network", self._href("virtual-networks", vlan.id), self._of(self.virtual_network, vlan)
            ),
            "created_at": vlan.created_at,
            "updated_at": vlan.created_at,
            "href": f"{self.base}/ports/{port.id}/vlan-assignments/{id_}",
        }

    def vlan_batch(self, batch: VlanBatch, wanted: Wanted = PLAIN) -> JSON:
        port = self.store.ports.get(batch.port_id)
        return {
            "id": batch.id,
            "state": batch.state,
            "quantity": len(batch.assignments),
            "error_messages": list(batch.error_messages),
            "vlan_assignments": [
                {"id": each["vlan_id"], "vlan": each["vlan"], "state": each["state"], "native": each["native"]}
                for each in batch.assignments
            ],
            "port": wanted.part("port", self._href("ports", batch.port_id), lambda inner: self.port(port, inner))
            if port is not None
            else None,
            "project": {"href": self._href("projects", batch.project_id)},
            "created_at": batch.created_at,
            "updated_at": batch.updated_at,
            "href": f"{self.base}/ports/{batch.port_id}/vlan-assignments/batches/{batch.id}",
        }

    def assignment(self, assignment: Assignment, wanted: Wanted = PLAIN) -> JSON:
        metro = self.world.catalogue.metros[assignment.metro]
        network = written(assignment.network)
        parent = self.store.reservations.get(assignment.reservation_id)
        block = written(parent.network) if parent is not None and parent.network else network
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
                "href": self._href("ips", assignment.reservation_id or assignment.id),
            },
            "assigned_to": wanted.part(
                "assigned_to", self._href("devices", assignment.device_id), self._of(self.device, self.store.devices[assignment.device_id])
            ),
            "interface": {"href": self._href("ports", assignment.port_id)},
            "facility": wanted.part("facility", f"{self.base}/facilities/{metro.facility_id}", lambda _: self.facility(metro)),
            "metro": wanted.part("metro", f"{self.base}/metros/{metro.id}", lambda _: self.metro(metro), whole=True),
            "href": self._href("ips", assignment.id),
        }

    def reservation(self, reservation: Reservation, wanted: Wanted = PLAIN) -> JSON:
        """A ``vrf`` block has its VRF with it, by which SDKs tell the two models apart."""
        block = reservation.network
        network = parsed(block) if block else None
        metro = self.world.catalogue.metros[reservation.metro] if reservation.metro else None
        gateway, address = gateway_and_address(network) if network else (None, None)
        project = self.store.projects[reservation.project_id]
        user = self.store.users.get(reservation.requested_by)
        used_by = self.store.metal_gateways.first("reservation", reservation.id)
        vrf = self.store.vrfs.get(reservation.vrf_id)
        shown = {
            "id": reservation.id,
            "type": reservation.type,
            "state": reservation.state,
            "address_family": network.version if network else 4,
            # No quantity: the Go SDK takes no field for public blocks that its text does not have.
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
            "project": wanted.part("project", self._href("projects", project.id), self._of(self.project, project)),
            "project_lite": {"href": self._href("projects", project.id)},
            "requested_by": wanted.part("requested_by", f"{self.base}/users/{reservation.requested_by}", self._of(self.user, user))
            if user is not None
            else None,
            "assignments": [
                wanted.part("assignments", self._href("ips", each.id), self._of(self.assignment, each))
                for each in self.store.assignments.by("reservation", reservation.id)
            ],
            "facility": wanted.part("facility", f"{self.base}/facilities/{metro.facility_id}", lambda _: self.facility(metro), whole=True)
            if metro
            else None,
            "metro": wanted.part("metro", f"{self.base}/metros/{metro.id}", lambda _: self.metro(metro), whole=True) if metro else None,
            "available": f"{self._href('ips', reservation.id)}/available",
            "metal_gateway": self._gateway_lite(used_by) if used_by is not None else None,
            "created_at": reservation.created_at,
            "href": self._href("ips", reservation.id),
        }
        if vrf is not None:
            shown["vrf"] = wanted.part("vrf", self._href("vrfs", vrf.id), self._of(self.vrf, vrf), whole=True)
            shown["created_by"] = {"href": f"{self.base}/users/{reservation.requested_by}"}
        return shown

    def _gateway_lite(self, gateway: MetalGateway) -> JSON:
        block = parsed(str(self.store.reservations[gateway.reservation_id].network))
        return {
            "id": gateway.id,
            "state": gateway.state,
            "vlan": self.store.virtual_networks[gateway.vlan_id].vxlan,
            # The first host of the block, with its prefix (vendor's OpenAPI text).
            "gateway_address": f"{block.network_address + 1}/{block.prefixlen}",
            "created_at": gateway.created_at,
            "updated_at": gateway.updated_at,
            "href": self._href("metal-gateways", gateway.id),
        }

    def metal_gateway(self, gateway: MetalGateway, wanted: Wanted = PLAIN) -> JSON:
        store = self.store
        block = store.reservations[gateway.reservation_id]
        vlan, vrf = store.virtual_networks[gateway.vlan_id], store.vrfs.get(gateway.vrf_id)
        lite = self._gateway_lite(gateway)
        lite.pop("vlan")
        shown = {
            **lite,
            "created_by": {"href": f"{self.base}/users/{gateway.created_by}"},
            "project": wanted.part(
                "project", self._href("projects", gateway.project_id), self._of(self.project, store.projects[gateway.project_id])
            ),
            "virtual_network": wanted.part(
                "virtual_network", self._href("virtual-networks", vlan.id), self._of(self.virtual_network, vlan)
            ),
            "ip_reservation": wanted.part("ip_reservation", self._href("ips", block.id), self._of(self.reservation, block)),
        }
        if vrf is not None:
            shown["vrf"] = wanted.part("vrf", self._href("vrfs", vrf.id), self._of(self.vrf, vrf))
        if set(shown["ip_reservation"]) == {"href"}:
            # A bare stub is of neither model of the SDKs: the type, and the stub of the VRF, are what they tell them apart by (ours).
            shown["ip_reservation"] |= {"type": block.type, **({"vrf": {"href": shown["vrf"]["href"]}} if vrf is not None else {})}
        return shown

    def vrf(self, vrf: Vrf, wanted: Wanted = PLAIN) -> JSON:
        metro, user = self.world.catalogue.metros[vrf.metro], self.store.users[vrf.created_by]
        return {
            "id": vrf.id,
            "name": vrf.name,
            "description": vrf.description,
            "local_asn": vrf.local_asn,
            "ip_ranges": list(vrf.ip_ranges),
            "tags": list(vrf.tags),
            "bill": False,
            "bgp_dynamic_neighbors_enabled": False,
            "bgp_dynamic_neighbors_export_route_map": False,
            "bgp_dynamic_neighbors_bfd_enabled": False,
            "virtual_circuits": [],
            "metro": wanted.part("metro", f"{self.base}/metros/{metro.id}", lambda _: self.metro(metro), whole=True),
            "project": wanted.part(
                "project", self._href("projects", vrf.project_id), self._of(self.project, self.store.projects[vrf.project_id])
            ),
            "created_by": wanted.part("created_by", f"{self.base}/users/{user.id}", self._of(self.user, user)),
            "created_at": vrf.created_at,
            "updated_at": vrf.updated_at,
            "href": self._href("vrfs", vrf.id),
        }

    def vrf_route(self, route: VrfRoute, wanted: Wanted = PLAIN) -> JSON:
        store = self.store
        gateway = store.metal_gateways[route.gateway_id]
        vlan, vrf = store.virtual_networks[gateway.vlan_id], store.vrfs[route.vrf_id]
        return {
            "id": route.id,
            "type": "static",
            "status": route.status,
            "prefix": route.prefix,
            "next_hop": route.next_hop,
            "tags": list(route.tags),
            "vrf": wanted.part("vrf", self._href("vrfs", vrf.id), self._of(self.vrf, vrf)),
            "metal_gateway": wanted.part("metal_gateway", self._href("metal-gateways", gateway.id), self._of(self.metal_gateway, gateway)),
            "virtual_network": wanted.part(
                "virtual_network", self._href("virtual-networks", vlan.id), self._of(self.virtual_network, vlan)
            ),
            "created_at": route.created_at,
            "updated_at": route.updated_at,
            "href": self._href("routes", route.id),
        }

    # BGP

    def bgp_config(self, config: BgpConfig, wanted: Wanted = PLAIN) -> JSON:
        project = self.store.projects[config.project_id]
        return {
            "id": config.id,
            "status": config.status,
            "deployment_type": config.deployment_type,
            "asn": config.asn,
            "md5": config.md5,
            "route_object": None,
            "max_prefix": 10,
            "ranges": [],
            "sessions": [self.bgp_session(each) for each in self.store.bgp_sessions.by("project", config.project_id)],
            "project": wanted.part("project", self._href("projects", project.id), self._of(self.project, project)),
            "requested_at": config.requested_at,
            "created_at": config.created_at,
            "href": self._href("bgp-configs", config.id),
        }

    def bgp_session(self, session: BgpSession, wanted: Wanted = PLAIN) -> JSON:
        device = self.store.devices[session.device_id]
        return {
            "id": session.id,
            "address_family": session.address_family,
            "status": session.status,
            "default_route": session.default_route,
            "learned_routes": [],
            "switch_name": f"sw-{device.switch_uuid}",
            "device": wanted.part("device", self._href("devices", device.id), self._of(self.device, device)),
            "created_at": session.created_at,
            "updated_at": session.updated_at,
            "href": self._href("bgp/sessions", session.id),
        }

    # Orders for several, and reserved machines

    def hardware_reservation(self, reservation: HardwareReservation, wanted: Wanted = PLAIN) -> JSON:
        plan, metro = self.world.catalogue.plans[reservation.plan], self.world.catalogue.metros[reservation.metro]
        device = self.store.devices.get(reservation.device_id)
        project = self.store.projects[reservation.project_id]
        return {
            "id": reservation.id,
            "short_id": reservation.id[:8],
            "custom_rate": reservation.custom_rate,
            "provisionable": reservation.provisionable,
            "spare": reservation.spare,
            "need_of_service": reservation.need_of_service,
            "switch_uuid": reservation.switch_uuid,
            "termination_time": reservation.termination_time,
            "plan": wanted.part("plan", f"{self.base}/plans/{plan.id}", self._of(self.plan, plan), whole=True),
            "facility": wanted.part("facility", f"{self.base}/facilities/{metro.facility_id}", lambda inner: self.facility(metro, inner)),
            "project": wanted.part("project", self._href("projects", project.id), self._of(self.project, project)),
            "device": wanted.part("device", self._href("devices", device.id), self._of(self.device, device))
            if device is not None
            else None,
            "created_at": reservation.created_at,
            "href": self._href("hardware-reservations", reservation.id),
        }

    def device_batch(self, batch: DeviceBatch, wanted: Wanted = PLAIN) -> JSON:
        devices = [device for device in map(self.store.devices.get, batch.device_ids) if device is not None]
        return {
            "id": batch.id,
            "state": batch.state,
            "quantity": batch.quantity,
            "error_messages": list(batch.error_messages),
            "devices": [wanted.part("devices", self._href("devices", each.id), self._of(self.device, each)) for each in devices],
            "project": wanted.part(
                "project", self._href("projects", batch.project_id), self._of(self.project, self.store.projects[batch.project_id])
            ),
            "created_at": batch.created_at,
            "updated_at": batch.updated_at,
            "href": self._href("batches", batch.id),
        }

    def spot_market_request(self, request: SpotMarketRequest, wanted: Wanted = PLAIN) -> JSON:
        catalogue, store = self.world.catalogue, self.store
        plan, metros = catalogue.plans[request.plan], [catalogue.metros[each] for each in request.metros]
        devices = store.devices.by("spot_market_request", request.id)
        return {
            "id": request.id,
            "devices_min": request.devices_min,
            "devices_max": request.devices_max,
            "max_bid_price": request.max_bid_price,
            "end_at": request.end_at,
            "metro": None
            if request.by_facility
            else wanted.part("metro", f"{self.base}/metros/{metros[0].id}", lambda _: self.metro(metros[0]), whole=True),
            "facilities": [{"href": f"{self.base}/facilities/{each.facility_id}"} for each in metros] if request.by_facility else None,
            "devices": [wanted.part("devices", self._href("devices", each.id), self._of(self.device, each)) for each in devices],
            "plan": wanted.part("plan", f"{self.base}/plans/{plan.id}", self._of(self.plan, plan)),
            "project": wanted.part(
                "project", self._href("projects", request.project_id), self._of(self.project, store.projects[request.project_id])
            ),
            "created_at": request.created_at,
            "href": self._href("spot-market-requests", request.id),
        }

    def _href(self, collection: str, id_: str) -> str:
        return f"{self.base}/{collection}/{id_}"

    @staticmethod
    def _of(render: Callable[[Any, Wanted], JSON], record: object) -> Callable[[Wanted], JSON]:
        return lambda wanted: render(record, wanted)


def membership_id(project: Project, user: User) -> str:
    """That a user sees a project has no record of its own: its id is made of both."""
    return str(uuid.uuid5(uuid.UUID(project.id), user.id))


def allowed_actions(device: Device) -> list[str]:
    """What can be asked of a device now (ours in detail: the real table of states is not documented)."""
    return {"active": ["power_off", "reboot", "rescue", "reinstall"], "inactive": ["power_on", "rescue", "reinstall"]}.get(device.state, [])


def network_type(bond: Port, members: list[Port]) -> str:
    """The composite type of a bond (vendor's OpenAPI text names them; which is which: clients' code)."""
    all_bonded = bond.bonded and all(each.bonded for each in members)
    if bond.layer == 3 and bond.bonded:
        if not all_bonded:
            return "hybrid"
        return "hybrid-bonded" if bond.vlan_ids else "layer3"
    return "layer2-bonded" if all_bonded else "layer2-individual"


# The catalogue does not change: these answers are made once and shared, nobody writes into them.


@cache
def _metro(base: str, metro: Metro) -> JSON:
    return {
        "id": metro.id,
        "name": metro.name,
        "code": metro.code,
        "country": metro.country,
        "href": f"{base}/locations/metros/{metro.id}",
    }


@cache
def _facility(base: str, metro: Metro) -> JSON:
    return {
        "id": metro.facility_id,
        "name": f"{metro.name} {metro.facility}",
        "code": metro.facility,
        "features": ["baremetal", "backend_transfer", "layer_2", "global_ipv4", "ibx"],
        "ip_ranges": [],
        "metro": _metro(base, metro),
        "href": f"{base}/facilities/{metro.facility_id}",
    }


_PLANS: dict[tuple[str, str], JSON] = {}


def _plan(base: str, plan: Plan, metros: tuple[Metro, ...]) -> JSON:
    if (shown := _PLANS.get((base, plan.slug))) is None:
        shown = _PLANS[base, plan.slug] = {
            "id": plan.id,
            "slug": plan.slug,
            "name": plan.slug,
            "description": f"{plan.slug}: {plan.cores} cores, {plan.memory_gb} GB",
            "line": "baremetal",
            "legacy": False,
            "class": plan.slug,
            "type": plan.type,
            "categories": list(plan.categories),
            "deployment_types": ["on_demand", "spot_market"],
            "pricing": {"hour": plan.price_hour},
            "specs": plan.specs,
            "available_in": [{"href": f"{base}/facilities/{each.facility_id}", "price": {"hour": plan.price_hour}} for each in metros],
            "available_in_metros": [{"href": f"{base}/metros/{each.id}", "price": {"hour": plan.price_hour}} for each in metros],
            "href": f"{base}/plans/{plan.id}",
        }
    return shown


@cache
def _operating_system(base: str, system: OperatingSystem) -> JSON:
    return {
        "id": system.id,
        "slug": system.slug,
        "name": system.name,
        "distro": system.distro,
        "distro_label": system.name.split(" ", maxsplit=1)[0],
        "version": system.version,
        "provisionable_on": list(system.on),
        "preinstallable": False,
        "pricing": {},
        "licensed": system.licensed,
        "lifecycle_state": "active",
        "default_operating_system": system.default,
        "build_date": None,
        "release_notes": None,
        "href": f"{base}/operating-systems/{system.id}",
    }
