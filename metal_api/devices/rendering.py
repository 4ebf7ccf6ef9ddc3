# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders devices."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from metal_api.accounts.record import Project
from metal_api.accounts.rendering import author
from metal_api.catalogue.data import catalogue
from metal_api.catalogue.rendering import facility_part, metro_part, operating_system_part, plan_part
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.store import JSON
from metal_api.core.world import World
from metal_api.devices import provisioning
from metal_api.devices.record import Device, Port
from metal_api.events import Event
from metal_api.hardware_reservations import HardwareReservation
from metal_api.ip_reservations.record import Assignment
from metal_api.servers import Servers
from metal_api.ssh_keys import SshKey

ACTIONS = {"power_on": "Power On", "power_off": "Power Off", "reboot": "Reboot", "rescue": "Rescue", "reinstall": "Reinstall"}
PASSWORD_SHOWN = timedelta(hours=24)


def render_device(view: Rendering, device: Device, include: Include) -> JSON:
    known, store = catalogue(), view.store
    plan, metro = known.plans[device.plan], known.metros[device.metro]
    system = known.operating_systems[device.operating_system]
    project_href = view.path("projects", device.project_id)
    keys = [key for key in map(store[SshKey].get, device.ssh_key_ids) if key is not None]
    reservation = store[HardwareReservation].get(device.hardware_reservation_id)
    short = device.id[:8]

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
        "created_by": author(view, device.created_by),
        "ipxe_script_url": device.ipxe_script_url,
        "always_pxe": device.always_pxe,
        "storage": device.storage,
        "customdata": device.customdata,
        "operating_system": operating_system_part(view, include, system),
        "facility": facility_part(view, include, metro, by_default=True),
        "metro": metro_part(view, include, metro, by_default=True),
        "project": view.part(include, "project", store[Project][device.project_id]),
        "project_lite": {"href": project_href},
        "ssh_keys": view.parts(include, "ssh_keys", keys),
        "volumes": [],
        "ip_addresses": view.parts(include, "ip_addresses", store[Assignment].matching("device", device.id), by_default=True),
        "plan": plan_part(view, include, plan, by_default=True),
        "userdata": device.userdata,
        "switch_uuid": device.switch_uuid,
        "network_ports": view.parts(include, "network_ports", store[Port].matching("device", device.id), by_default=True),
        "network_frozen": device.network_frozen,
        "hardware_reservation": view.part(include, "hardware_reservation", reservation) if reservation is not None else None,
        "firmware_set_id": None,
        "root_password": shown_password(device),
        "sos": f"sos.{metro.facility}.{domain}" if (domain := view.world.environment.console_domain) else "",
        "spot_instance": device.spot_instance,
        "spot_price_max": device.spot_price_max,
        "termination_time": device.termination_time,
        "provisioning_events": [_provisioning_event(view, device, type_, include) for type_ in provisioning.types(device)],
        # Only while an operation is pending (vendor's OpenAPI text).
        "provisioning_percentage": provisioning.percentage(device) if device.state in provisioning.STATES else None,
        "actions": [{"type": action, "name": ACTIONS[action]} for action in allowed_actions(view.world, device)],
        "href": view.path("devices", device.id),
    }


def _provisioning_event(view: Rendering, device: Device, type_: str, include: Include) -> Any:
    event = view.store[Event].get(device.progress.get(type_))
    if event is not None:
        return view.part(include, "provisioning_events", event, by_default=True)
    # Not recorded yet.
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
    return include.part("provisioning_events", "#", lambda _: waiting, by_default=True)


def allowed_actions(world: World, device: Device) -> list[str]:
    """Return the actions that a device accepts now (ours in detail: the real table of states is not documented).

    A failed device that keeps its server can be reinstalled on it, once the device has its address.
    """
    is_failed_server = device.state == "failed" and device.server_id is not None and device.machine_address is not None
    allowed = {
        "active": ["power_off", "reboot", "rescue", "reinstall"],
        "inactive": ["power_on", "rescue", "reinstall"],
        "failed": ["reinstall"] if is_failed_server else [],
    }.get(device.state, [])
    return [action for action in allowed if action != "rescue" or has_rescue(world, device)]


def has_rescue(world: World, device: Device) -> bool:
    """Return whether there is a rescue system for a device. That of servers in a plain network is an option of the Metal API server."""
    return bool(world.environment.rescue_script_url) or not world.service(Servers).is_plain(device.id)


def shown_password(device: Device) -> str | None:
    """Return the root password until 24 hours after provisioning (vendor's OpenAPI text)."""
    created = datetime.fromisoformat(device.created_at)
    return device.root_password if datetime.now(UTC) - created < PASSWORD_SHOWN else None
