# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BGP: the configuration of a project, sessions of devices, and a device's neighbours."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace
from typing import Any

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project
from metal_api.core.call import Call, Reply, Route, paths, updates
from metal_api.core.errors import is_blank, not_valid, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with, resume_each
from metal_api.core.store import JSON, Kind, Record
from metal_api.core.world import World
from metal_api.devices.record import Device
from metal_api.ip_reservations.record import Assignment, Reservation

FAMILIES = {"ipv4": 4, "ipv6": 6}
LARGEST_ASN = 4294967295
_MD5 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[a-zA-Z\d]{10,20}")

# Values of IBX sites (recorded answers, vendor's docs).
PEER_ASN = 65530
PEERS = {
    4: ("169.254.255.1", "169.254.255.2"),
    6: ("fc00:0000:0000:0000:0000:0000:0000:000e", "fc00:0000:0000:0000:0000:0000:0000:000f"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BgpConfig(Record):
    """A project's BGP configuration. ``status``: requested, enabled, disabled."""

    project_id: str
    deployment_type: str
    asn: int
    status: str
    requested_at: str
    created_at: str
    md5: str | None = None
    use_case: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BgpSession(Record):
    """``address_family``: ipv4, ipv6. ``status``: unknown, up, down."""

    device_id: str
    project_id: str
    address_family: str
    status: str
    created_at: str
    updated_at: str
    default_route: bool = False


def render_bgp_config(view: Rendering, config: BgpConfig, include: Include) -> JSON:
    project = view.store[Project][config.project_id]
    return {
        "id": config.id,
        "status": config.status,
        "deployment_type": config.deployment_type,
        "asn": config.asn,
        "md5": config.md5,
        "route_object": None,
        "max_prefix": 10,
        "ranges": [],
        "sessions": [view(session) for session in view.store[BgpSession].matching("project", config.project_id)],
        "project": view.part(include, "project", project),
        "requested_at": config.requested_at,
        "created_at": config.created_at,
        "href": view.path("bgp-configs", config.id),
    }


def render_bgp_session(view: Rendering, session: BgpSession, include: Include) -> JSON:
    device = view.store[Device][session.device_id]
    return {
        "id": session.id,
        "address_family": session.address_family,
        "status": session.status,
        "default_route": session.default_route,
        "learned_routes": [],
        "switch_name": f"sw-{device.switch_uuid}",
        "device": view.part(include, "device", device),
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "href": view.path("bgp/sessions", session.id),
    }


def request_config(call: Call) -> Reply:
    """Create or replace (clients' code) a project's configuration, which cannot be deleted.

    Local ones are enabled at once, global ones need an approval (vendor's OpenAPI text), here by the control API.
    """
    project, world = project_of(call), call.world
    problems = []
    kind, asn = call.field("deployment_type"), call.field("asn")
    # metal-cli and cloud-provider-equinix-metal send an empty text for none.
    md5 = None if is_blank(call.field("md5")) else call.field("md5")
    if kind not in ("local", "global"):
        problems.append(not_valid(kind, "deployment type"))
    if asn is None:
        problems.append("Asn can't be blank")
    elif not isinstance(asn, int) or isinstance(asn, bool) or not 0 < asn <= LARGEST_ASN:
        problems.append(f"Asn must be between 1 and {LARGEST_ASN}")
    if md5 is not None and not (isinstance(md5, str) and _MD5.fullmatch(md5)):
        problems.append("Md5 must be 10 to 20 letters and digits with at least one lowercase letter, one uppercase letter and one digit")
    if problems:
        raise unprocessable(*problems)
    present = world.store[BgpConfig].first("project", project.id)
    now = world.now()
    world.store.put(
        BgpConfig(
            id=present.id if present is not None else str(uuid.uuid4()),
            project_id=project.id,
            deployment_type=kind,
            asn=asn,
            md5=md5,
            use_case=call.field("use_case"),
            status="enabled" if kind == "local" else "requested",
            requested_at=now,
            created_at=present.created_at if present is not None else now,
        )
    )
    return Reply(status=204)


def show_config(call: Call) -> Reply:
    """Return the configuration, an empty object if there is none (vendor's OpenAPI text)."""
    config = call.world.store[BgpConfig].first("project", project_of(call).id)
    return Reply(call.shown(config) if config is not None else {})


def list_global_ranges(call: Call) -> Reply:
    """Return an empty list: no project has its own address space here."""
    project_of(call)
    return Reply({"global_bgp_ranges": []})


def create_session(call: Call) -> Reply:
    device, world = call.find(Device), call.world
    config = world.store[BgpConfig].first("project", device.project_id)
    if config is None or config.status != "enabled":
        raise unprocessable("BGP is not enabled for this project")
    family = call.field("address_family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise unprocessable(not_valid(family, "address family"))
    if any(existing.address_family == family for existing in world.store[BgpSession].matching("device", device.id)):
        raise unprocessable(f"Device already has session for {family}")  # known: " already has session "
    now = world.now()
    session = world.store.put(
        BgpSession(
            id=str(uuid.uuid4()),
            device_id=device.id,
            project_id=device.project_id,
            address_family=family,
            default_route=call.flag("default_route"),
            status="unknown",
            created_at=now,
            updated_at=now,
        )
    )
    world.tasks.spawn(session.id, run(world, session.id))
    return Reply(call.shown(session), 201)


async def run(world: World, id_: str) -> None:
    """Set the status of a new session, first unknown, to up or down (vendor's OpenAPI text)."""
    await world.policy.pause("bgp_session")
    session = world.store[BgpSession].get(id_)
    if session is not None:
        world.store.put(replace(session, status=world.policy.bgp_status(), updated_at=world.now()))


def show_session(call: Call) -> Reply:
    return Reply(call.shown(call.find(BgpSession)))


def update_session(call: Call) -> Reply:
    """Set the default route: a bare boolean (vendor's OpenAPI text) or ``{"default_route": bool}``."""
    session = call.find(BgpSession)
    default_route = call.flag("default_route") if call.bare is None else call.bare
    session = call.world.store.put(replace(session, default_route=default_route, updated_at=call.world.now()))
    return Reply(call.shown(session))


def delete_session(call: Call) -> Reply:
    call.world.store.drop(call.find(BgpSession))
    return Reply(status=204)


def list_device_sessions(call: Call) -> Reply:
    return _sessions(call, call.world.store[BgpSession].matching("device", call.find(Device).id))


def list_project_sessions(call: Call) -> Reply:
    return _sessions(call, call.world.store[BgpSession].matching("project", project_of(call).id))


def _sessions(call: Call, sessions: list[BgpSession]) -> Reply:
    return Reply({"bgp_sessions": [call.shown(session) for session in sessions]})


def list_neighbors(call: Call) -> Reply:
    return Reply({"bgp_neighbors": neighbors(call.world, call.find(Device))})


def neighbors(world: World, device: Device) -> list[dict[str, Any]]:
    """Return a device's neighbours, also part of its metadata. ``customer_ip``: its private IPv4, or its IPv6 (recorded answers)."""
    config = world.store[BgpConfig].first("project", device.project_id)
    blocks = [reservation.network for reservation in world.store[Reservation].matching("project", device.project_id) if reservation.network]
    entries = []
    for session in world.store[BgpSession].matching("device", device.id):
        family = FAMILIES[session.address_family]
        addresses = [assignment for assignment in world.store[Assignment].matching("device", device.id) if assignment.management]
        own = [
            assignment.address for assignment in addresses if (":" in assignment.address, assignment.public) == (family == 6, family == 6)
        ]
        entries.append(
            {
                "address_family": family,
                "customer_as": config.asn if config is not None else None,
                "customer_ip": own[0] if own else None,
                "md5_enabled": bool(config and config.md5),
                "md5_password": config.md5 if config is not None else None,
                "multihop": True,
                "peer_as": PEER_ASN,
                "peer_ips": list(PEERS[family]),
                "routes_in": [{"route": block, "exact": False} for block in blocks if (":" in block) == (family == 6)],
                "routes_out": [{"route": "0.0.0.0/0" if family == 4 else "::/0", "exact": True}] if session.default_route else [],
            }
        )
    return entries


ROUTES: list[Route] = [
    *paths("POST", request_config, "/projects/{id}/bgp-configs"),
    *paths("GET", show_config, "/projects/{id}/bgp-config"),
    *paths("GET", list_global_ranges, "/projects/{id}/global-bgp-ranges"),
    *paths("GET", list_project_sessions, "/projects/{id}/bgp/sessions"),
    *paths("GET", list_device_sessions, "/devices/{id}/bgp/sessions"),
    *paths("POST", create_session, "/devices/{id}/bgp/sessions"),
    *paths("GET", list_neighbors, "/devices/{id}/bgp/neighbors"),
    *paths("GET", show_session, "/bgp/sessions/{id}"),
    *updates("/bgp/sessions/{id}", update_session),
    *paths("DELETE", delete_session, "/bgp/sessions/{id}"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[
        Kind(BgpConfig, "bgp_configs", "bgp-configs", render_bgp_config, keys={"project": lambda r: r.project_id}),
        Kind(
            BgpSession,
            "bgp_sessions",
            "bgp/sessions",
            render_bgp_session,
            keys={"project": lambda r: r.project_id, "device": lambda r: r.device_id},
        ),
    ],
    resume=resume_each(BgpSession, lambda r: r.status == "unknown", run),
    on_erase={Project: drop_with(BgpConfig, "project"), Device: drop_with(BgpSession, "device")},
)
