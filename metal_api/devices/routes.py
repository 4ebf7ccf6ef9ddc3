# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of devices: create, list, read, update, actions, delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from metal_api.accounts.members import organization_of, project_of
from metal_api.accounts.record import Project
from metal_api.catalogue.data import NETWORK_BOOT, catalogue
from metal_api.core.call import Call, Reply, Route, paths, updates
from metal_api.core.errors import forbidden, unprocessable
from metal_api.core.world import World
from metal_api.devices.body import UPDATE, DeviceBody
from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.ordering import deprovision, order
from metal_api.devices.record import Departed, Device, Port
from metal_api.devices.rendering import ACTIONS, allowed_actions, has_rescue
from metal_api.events import record_event
from metal_api.ip_reservations.record import Assignment
from metal_api.servers import Servers
from metal_api.ssh_keys import SshKey


def create_device(call: Call) -> Reply:
    device = order(call.world, call.body, project_of(call), user_id=call.caller.user_id)
    return Reply(call.shown(device), 201)


def list_devices(call: Call) -> Reply:
    devices = call.world.store[Device].matching("project", project_of(call).id)
    return _page(call, devices)


def list_organization_devices(call: Call) -> Reply:
    organization = organization_of(call)
    store = call.world.store
    projects = [project for project in store[Project].matching("organization", organization.id) if call.caller.sees(project.id)]
    return _page(call, [device for project in projects for device in store[Device].matching("project", project.id)])


def _page(call: Call, devices: list[Device]) -> Reply:
    return call.page("devices", _filtered(call, devices), call.shown)


def _filtered(call: Call, devices: list[Device]) -> list[Device]:
    """Apply the filters of the vendor's OpenAPI text."""
    world, query = call.world, call.query
    known, store = catalogue(), world.store
    tests: list[Any] = []
    if search := query.get("search", "").lower():
        tests.append(lambda d: any(search in text.lower() for text in _searched(world, d)))
    if hostname := query.get("hostname", "").lower():
        tests.append(lambda d: hostname in d.hostname.lower())
    if tags := call.values("tag"):
        tests.append(lambda d: tags.issubset(d.tags))
    if states := call.values("state"):
        tests.append(lambda d: d.state in states)
    if metros := {getattr(known.metro(name), "code", None) for name in call.values("metro")}:
        tests.append(lambda d: d.metro in metros)
    if facilities := {getattr(known.metro_of_facility(name), "code", None) for name in call.values("facility")}:
        tests.append(lambda d: d.metro in facilities)
    if plans := {getattr(known.plan(name), "slug", None) for name in call.values("plan")}:
        tests.append(lambda d: d.plan in plans)
    if categories := call.values("categories"):
        tests.append(lambda d: not categories.isdisjoint(known.plans[d.plan].categories))
    if kinds := call.values("type"):
        tests.append(lambda d: ("spot" if d.spot_instance else "reserved" if d.hardware_reservation_id else "ondemand") in kinds)
    if query.get("reserved"):
        tests.append(lambda d: (d.hardware_reservation_id is not None) == call.flag("reserved"))
    if query.get("has_termination_time"):
        tests.append(lambda d: (d.termination_time is not None) == call.flag("has_termination_time"))
    if mac := query.get("mac_address", "").lower():
        tests.append(lambda d: any(port.mac == mac for port in store[Port].matching("device", d.id)))
    return [device for device in devices if all(test(device) for test in tests)] if tests else devices


def _searched(world: World, device: Device) -> list[str]:
    """Return the searched texts: hostname, description, short_id, tags, plan, facility, system, addresses (vendor's OpenAPI text)."""
    system, metro = catalogue().operating_systems[device.operating_system], catalogue().metros[device.metro]
    addresses = [assignment.address for assignment in world.store[Assignment].matching("device", device.id)]
    return [
        device.hostname,
        device.description or "",
        device.id[:8],
        *device.tags,
        device.plan,
        metro.facility,
        metro.code,
        system.slug,
        system.name,
        *addresses,
    ]


def show_device(call: Call) -> Reply:
    return Reply(call.shown(present(call)))


def present(call: Call) -> Device:
    departed = call.world.store[Departed].get(call.id)
    if departed is not None and call.caller.sees(departed.project_id):
        raise forbidden()
    return call.find(Device)


def update_device(call: Call) -> Reply:
    device = present(call)
    read = DeviceBody(call.world, call.body)
    changes = read.attributes(*UPDATE)
    if call.body.get("spot_instance") is False:
        changes["spot_instance"] = False
    read.fail()
    device = call.world.store.put(replace(device, updated_at=call.world.now(), **changes))
    if "termination_time" in changes:
        call.world.service(Lifecycle).check_termination_times()
    return Reply(call.shown(device))


def delete_device(call: Call) -> Reply:
    deprovision(call.world, present(call))
    return Reply(status=204)


def act(call: Call) -> Reply:
    device = present(call)
    kind = call.field("type")
    if not isinstance(kind, str) or kind not in ACTIONS:
        raise unprocessable("invalid action")  # about this (public issue threads)
    world, changes = call.world, dict[str, Any]()
    if kind == "rescue" and not has_rescue(world, device):
        raise unprocessable("Rescue is not available: the server of this API was started without --rescue-script-url")
    if kind not in allowed_actions(world, device):
        raise unprocessable(f"Cannot {ACTIONS[kind].lower()} a device that is {device.state}")
    if kind == "reinstall":
        changes = _reinstall(call, device)
    elif kind in {"power_on", "power_off"}:
        changes = {"state": {"power_on": "powering_on", "power_off": "powering_off"}[kind]}
    if kind != "reinstall":
        queued = {"power_on": "Power on", "power_off": "Power off"}.get(kind, "Reboot")
        record_event(world, device, "power.200", f"{queued} operation queued", user_id=call.caller.user_id)
    world.service(Lifecycle).begin(replace(device, **changes), kind, preserve_data=call.flag("preserve_data"))
    return Reply(status=202)


def _reinstall(call: Call, device: Device) -> dict[str, Any]:
    read = DeviceBody(call.world, call.body)
    changes: dict[str, Any] = {"state": "reinstalling", "progress": {}, "allow_pxe": True}
    plan, system = catalogue().plans[device.plan], None
    if call.body.get("operating_system"):
        system = read.operating_system(plan)
        if system is not None:
            changes["operating_system"] = system.slug
    if call.world.service(Servers).is_plain(device.id):
        read.on_plain_server(plan, system)
    changes |= read.attributes("ipxe_script_url")
    if changes.get("ipxe_script_url") and changes.get("operating_system", device.operating_system) != NETWORK_BOOT:
        read.problems.append("Ipxe script url can only be set with custom_ipxe")
    read.fail()
    return changes


def show_userdata(call: Call) -> Reply:
    return Reply({"userdata": present(call).userdata})


def show_customdata(call: Call) -> Reply:
    return Reply({"customdata": present(call).customdata})


def list_ssh_keys(call: Call) -> Reply:
    device = present(call)
    keys = [key for key in map(call.world.store[SshKey].get, device.ssh_key_ids) if key is not None]
    return Reply({"ssh_keys": [call.shown(key) for key in keys]})


ROUTES: list[Route] = [
    *paths("GET", list_devices, "/projects/{id}/devices"),
    *paths("GET", list_organization_devices, "/organizations/{id}/devices"),
    *paths("POST", create_device, "/projects/{id}/devices"),
    *paths("GET", show_device, "/devices/{id}"),
    *updates("/devices/{id}", update_device),
    *paths("DELETE", delete_device, "/devices/{id}"),
    *paths("POST", act, "/devices/{id}/actions"),
    *paths("GET", show_userdata, "/devices/{id}/userdata"),
    *paths("GET", show_customdata, "/devices/{id}/customdata"),
    *paths("GET", list_ssh_keys, "/devices/{id}/ssh-keys"),
]
