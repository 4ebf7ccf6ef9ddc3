# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BGP: one configuration for a project, sessions of devices, and what a machine has to know of its neighbours."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.metal.calls import Call, Reply, Route, paths, updates
from sandbox.metal.errors import is_blank, not_valid, unprocessable
from sandbox.metal.records import BgpConfig, BgpSession, Device

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld

FAMILIES = {"ipv4": 4, "ipv6": 6}
LARGEST_ASN = 4294967295
_MD5 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[a-zA-Z\d]{10,20}")

# Of IBX sites (recorded answers, vendor's docs).
PEER_ASN = 65530
PEERS = {
    4: ("169.254.255.1", "169.254.255.2"),
    6: ("fc00:0000:0000:0000:0000:0000:0000:000e", "fc00:0000:0000:0000:0000:0000:0000:000f"),
}


def request_config(call: Call) -> Reply:
    """Local ones are enabled at once, global ones wait for a person (vendor's OpenAPI text): here for the control path.

    Asked for again, the new one takes the place of the old (clients' code); it can never be removed.
    """
    project, world = call.project(), call.world
    problems = []
    kind, asn = call.field("deployment_type"), call.field("asn")
    # metal-cli and cloud-provider-equinix-metal send an empty one for none.
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
    present = world.store.bgp_configs.first("project", project.id)
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
    """An empty object if it was never asked for (vendor's OpenAPI text)."""
    config = call.world.store.bgp_configs.first("project", call.project().id)
    return Reply(call.rendering.bgp_config(config, call.wanted) if config is not None else {})


def list_global_ranges(call: Call) -> Reply:
    """No project has address space of its own here."""
    call.project()
    return Reply({"global_bgp_ranges": []})


def create_session(call: Call) -> Reply:
    device, world = call.device(), call.world
    config = world.store.bgp_configs.first("project", device.project_id)
    if config is None or config.status != "enabled":
        raise unprocessable("BGP is not enabled for this project")
    family = call.field("address_family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise unprocessable(not_valid(family, "address family"))
    if any(each.address_family == family for each in world.store.bgp_sessions.by("device", device.id)):
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
    world.lifecycle.spawn(session.id, run(world, session.id))
    return Reply(call.rendering.bgp_session(session, call.wanted), 201)


async def run(world: MetalWorld, id_: str) -> None:
    """The first status is unknown, later up or down (vendor's OpenAPI text). No pretended machine speaks BGP: the setting decides."""
    await world.clock.sleep(world.duration("bgp_session"))
    session = world.store.bgp_sessions.get(id_)
    if session is not None:
        status = "up" if world.settings["bgp"]["sessions_come_up"] else "down"
        world.store.put(replace(session, status=status, updated_at=world.now()))


def _session(call: Call) -> BgpSession:
    found: BgpSession = call.find(call.world.store.bgp_sessions)
    return found


def show_session(call: Call) -> Reply:
    return Reply(call.rendering.bgp_session(_session(call), call.wanted))


def update_session(call: Call) -> Reply:
    """The default route: a bare boolean (vendor's OpenAPI text) or ``{"default_route": bool}``."""
    session = _session(call)
    wanted = call.flag("default_route") if call.bare is None else call.bare
    session = call.world.store.put(replace(session, default_route=wanted, updated_at=call.world.now()))
    return Reply(call.rendering.bgp_session(session, call.wanted))


def delete_session(call: Call) -> Reply:
    call.world.store.drop(_session(call))
    return Reply(status=204)


def list_device_sessions(call: Call) -> Reply:
    return _sessions(call, call.world.store.bgp_sessions.by("device", call.device().id))


def list_project_sessions(call: Call) -> Reply:
    return _sessions(call, call.world.store.bgp_sessions.by("project", call.project().id))


def _sessions(call: Call, sessions: list[BgpSession]) -> Reply:
    return Reply({"bgp_sessions": [call.rendering.bgp_session(each, call.wanted) for each in sessions]})


def list_neighbors(call: Call) -> Reply:
    return Reply({"bgp_neighbors": neighbors(call.world, call.device())})


def neighbors(world: MetalWorld, device: Device) -> list[dict[str, Any]]:
    """Also in the metadata of a device with sessions. The machine's side is its private IPv4, or its IPv6 (recorded answers)."""
    config = world.store.bgp_configs.first("project", device.project_id)
    blocks = [each.network for each in world.store.reservations.by("project", device.project_id) if each.network]
    found = []
    for session in world.store.bgp_sessions.by("device", device.id):
        family = FAMILIES[session.address_family]
        addresses = [each for each in world.store.assignments.by("device", device.id) if each.management]
        own = [each.address for each in addresses if (":" in each.address, each.public) == (family == 6, family == 6)]
        found.append(
            {
                "address_family": family,
                "customer_as": config.asn if config is not None else None,
                "customer_ip": own[0] if own else None,
                "md5_enabled": bool(config and config.md5),
                "md5_password": config.md5 if config is not None else None,
                "multihop": True,
                "peer_as": PEER_ASN,
                "peer_ips": list(PEERS[family]),
                "routes_in": [{"route": each, "exact": False} for each in blocks if (":" in each) == (family == 6)],
                "routes_out": [{"route": "0.0.0.0/0" if family == 4 else "::/0", "exact": True}] if session.default_route else [],
            }
        )
    return found


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
