# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service, which identifies a device by its source address (source of the vendor's service)."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route as HttpRoute
from starlette.types import ASGIApp

from metal_api.bgp import neighbors
from metal_api.catalogue.data import catalogue
from metal_api.core.addressing import network as parsed
from metal_api.core.app import JSONAnswer
from metal_api.core.bodies import LARGEST_UNKNOWN, Bounded
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.resource import Resource
from metal_api.core.world import World
from metal_api.device_services import Answering, machine_endpoint, report_url
from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.record import Device, Port
from metal_api.devices.routes import present
from metal_api.ip_reservations.record import Assignment, Reservation
from metal_api.metal_gateways import MetalGateway
from metal_api.servers import Servers
from metal_api.ssh_keys import SshKey
from metal_api.virtual_networks import VirtualNetwork


def reachable(world: World, device: Device) -> bool:
    """Return whether the device has access to the service: in layer 3 and hybrid modes, not in layer 2 (vendor's docs)."""
    return any(port.layer == 3 for port in world.store[Port].matching("device", device.id) if port.is_bond)


def document(world: World, device: Device) -> dict[str, Any]:
    """Return ``GET /metadata``, also the API's ``/devices/{id}/metadata``. Keys: recorded answers and the service's source."""
    known, store = catalogue(), world.store
    plan, metro = known.plans[device.plan], known.metros[device.metro]
    ports = store[Port].matching("device", device.id)
    eths = [port for port in ports if not port.is_bond]
    keys = [key.key for key in map(store[SshKey].get, device.ssh_key_ids) if key is not None]
    system = known.operating_systems[device.operating_system]
    vlan_ids = dict.fromkeys(id_ for port in ports for id_ in port.vlan_ids)
    gateways = [gateway for id_ in vlan_ids for gateway in store[MetalGateway].matching("vlan", id_) if gateway.state == "active"]
    shown: dict[str, Any] = {
        "id": device.id,
        "hostname": device.hostname,
        "iqn": f"iqn.{device.created_at[:7]}.net.packet:device.{device.id[:8]}",
        "operating_system": {
            "slug": system.slug,
            "distro": system.distro,
            "version": system.version,
            "license_activation": {"state": "unlicensed"},
            "image_tag": None,
        },
        "plan": plan.slug,
        "reserved": device.hardware_reservation_id is not None,
        "class": plan.slug,
        "facility": metro.facility,
        "metro": metro.code,
        "private_subnets": [world.environment.private_network],
        "tags": list(device.tags),
        "ssh_keys": keys,
        "customdata": device.customdata,
        "specs": plan.specs,
        "switch_short_id": device.switch_uuid,
        "state": device.state,
        "storage_source": "default",
        "storage": device.storage or {"disks": [], "raid": [], "filesystems": []},
        "volumes": [],
        "boot_drive_hint": plan.machine_drives[0].name if plan.machine_drives else "",
        "network": {
            "bonding": {"mode": 4, "link_aggregation": "mlag_ha", "mac": eths[0].mac if eths else None},
            "interfaces": [{"name": port.name, "mac": port.mac, "bond": port.bond_name if port.bonded else None} for port in eths],
            "addresses": [_address(world, assignment) for assignment in store[Assignment].matching("device", device.id)],
            "metal_gateways": [_gateway(world, gateway) for gateway in gateways],
        },
        "api_url": world.environment.metadata_url,
        "phone_home_url": f"{report_url(world, device)}/phone-home",
        "user_state_url": f"{report_url(world, device)}/events",
    }
    if sessions := neighbors(world, device):
        shown["bgp_neighbors"] = sessions
    if device.spot_instance:
        shown["spot"] = {"termination_time": device.termination_time} if device.termination_time else {}
    return shown


def _address(world: World, assignment: Assignment) -> dict[str, Any]:
    network = parsed(assignment.network)
    parent = world.store[Reservation].get(assignment.reservation_id)
    block = parsed(parent.network) if parent is not None and parent.network else network
    return {
        "id": assignment.id,
        "address_family": network.version,
        "netmask": str(network.netmask),
        "created_at": assignment.created_at,
        "public": assignment.public,
        "cidr": network.prefixlen,
        "management": assignment.management,
        "enabled": True,
        "network": str(network.network_address),
        "address": assignment.address,
        "gateway": assignment.gateway,
        "parent_block": {
            "network": block.network_address.exploded if block.version == 6 else str(block.network_address),
            "netmask": block.netmask.exploded if block.version == 6 else str(block.netmask),
            "cidr": block.prefixlen,
            "href": f"/ips/{assignment.reservation_id or assignment.id}",
        },
    }


def _gateway(world: World, gateway: MetalGateway) -> dict[str, Any]:
    """Return an entry of the list of gateways. The list is known, its entries are ours: the block, and the gateway's address in it."""
    block = parsed(str(world.store[Reservation][gateway.reservation_id].network))
    return {
        "id": gateway.id,
        "vlan": world.store[VirtualNetwork][gateway.vlan_id].vxlan,
        "network": str(block.network_address),
        "netmask": str(block.netmask),
        "cidr": block.prefixlen,
        "gateway": str(block.network_address + 1),
    }


def ec2_items(world: World, device: Device) -> dict[str, str | dict[str, Any]]:
    """Return the EC2-like tree: item -> text, or the items below it."""
    shown = document(world, device)
    system = shown["operating_system"]
    items: dict[str, str | dict[str, Any]] = {
        "instance-id": device.id,
        "hostname": device.hostname,
        "iqn": shown["iqn"],
        "plan": shown["plan"],
        "facility": shown["facility"],
        "tags": "\n".join(device.tags),
        "operating-system": {
            "slug": system["slug"],
            "distro": system["distro"],
            "version": system["version"],
            "license-activation": {"state": "unlicensed"},
            "image-tag": system["image_tag"] or "",
        },
        "public-keys": "\n".join(shown["ssh_keys"]),
    }
    if device.spot_instance:
        items["spot"] = {"termination-time": device.termination_time or ""}
    for name, family, public in (("public-ipv4", 4, True), ("public-ipv6", 6, True), ("local-ipv4", 4, False)):
        addresses = [
            a["address"]
            for a in shown["network"]["addresses"]
            if (a["address_family"], a["public"]) == (family, public) and a["management"]
        ]
        if addresses:
            items[name] = addresses[0]
    return items


def create_metadata_app(world: World) -> ASGIApp:
    """Return the application: ``/metadata`` and ``/userdata`` (also under ``/api/v1``), and the EC2-like tree under ``/2009-04-04``."""
    missing = {"message": "resource not found"}

    def visible(device: Device | None) -> Device | None:
        return device if device is not None and reachable(world, device) else None

    def metadata(device: Device | None, request: Request, body: bytes) -> Response:
        device = visible(device)
        return JSONAnswer(document(world, device)) if device is not None else JSONAnswer(missing, 404)

    def text(device: Device | None, request: Request, body: bytes) -> Response:
        device = visible(device)
        if device is not None and world.service(Servers).is_plain(device.id) and not world.service(Lifecycle).has_script(device):
            # Before its own boot a server has nothing that could ask: it is another machine with its address.
            return JSONAnswer(missing, 404)
        return PlainTextResponse(device.userdata) if device is not None and device.userdata else JSONAnswer(missing, 404)

    def ec2(device: Device | None, request: Request, body: bytes) -> Response:
        device = visible(device)
        item: Any = ec2_items(world, device) if device is not None else None
        for name in filter(None, request.path_params.get("item", "").split("/")):
            item = item.get(name) if isinstance(item, dict) else None
        if item is None:
            return JSONAnswer(missing, 404)
        return PlainTextResponse("\n".join(item) if isinstance(item, dict) else item)

    def get(path: str, answer: Answering) -> HttpRoute:
        return HttpRoute(path, machine_endpoint(world, "metadata", answer), methods=["GET"])

    routes = [
        *[get(f"{base}/metadata", metadata) for base in ("", "/api/v1")],
        *[get(f"{base}/userdata", text) for base in ("", "/api/v1")],
        get("/2009-04-04/meta-data", ec2),
        get("/2009-04-04/meta-data/{item:path}", ec2),
        get("/2009-04-04/user-data", text),
    ]
    return Bounded(Starlette(routes=routes), LARGEST_UNKNOWN)


def show_metadata(call: Call) -> Reply:
    return Reply(document(call.world, present(call)))


ROUTES: list[Route] = [*paths("GET", show_metadata, "/devices/{id}/metadata")]


RESOURCE = Resource(
    routes=ROUTES,
)
