# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices: order, list, read, change, act, give back."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.metal import hardware_reservations, metadata
from sandbox.metal.calls import Call, Reply, Route, paths, updates
from sandbox.metal.catalogue import Metro, OperatingSystem, Plan
from sandbox.metal.device_input import DeviceInput, Order
from sandbox.metal.errors import forbidden, is_blank, unprocessable
from sandbox.metal.records import Device, Port, Project
from sandbox.metal.rendering import ACTIONS, allowed_actions

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld

CREATE = [
    "hostname",
    "description",
    "billing_cycle",
    "tags",
    "customdata",
    "userdata",
    "ipxe_script_url",
    "termination_time",
    "always_pxe",
    "locked",
    "network_frozen",
    "spot_instance",
]
# Plan, operating system and place cannot change (vendor's OpenAPI text): sent, they are passed over.
UPDATE = [
    "hostname",
    "description",
    "billing_cycle",
    "tags",
    "customdata",
    "userdata",
    "ipxe_script_url",
    "termination_time",
    "always_pxe",
    "locked",
    "network_frozen",
]


def create_device(call: Call) -> Reply:
    device = order(call.world, call.body, call.project(), user_id=call.caller.user_id)
    return Reply(call.rendering.device(device, call.wanted), 201)


def _heed_quotas(read: DeviceInput, world: MetalWorld, project: Project, plan: Plan | None) -> None:
    quotas, there = world.settings["quotas"], world.store.devices.by("project", project.id)
    if quotas["devices"] is not None and len(there) >= quotas["devices"]:
        read.problems.append(f"Devices quota of {quotas['devices']} for this project has been reached")
    quota = (quotas["plans"] or {}).get(plan.slug) if plan else None
    if plan and quota is not None and sum(device.plan == plan.slug for device in there) >= quota:
        read.problems.append(f"Devices quota of {quota} {plan.slug} for this project has been reached")


def order(world: MetalWorld, body: dict[str, Any], project: Project, *, user_id: str, **further: Any) -> Device:
    """Do what the body of a create asks for, or raise 422 with all that is wrong with it. ``further``: fields of the record."""
    reservation = hardware_reservations.choose(world, project, body)
    if reservation is not None:
        body = {**body, "plan": reservation.plan, "metro": reservation.metro}
    read = DeviceInput(Order(world, body))
    attributes = read.attributes(*CREATE, blank={"hostname"})
    plan = read.plan()
    system = read.operating_system(plan)
    metro = read.metro(plan if reservation is None else None)
    keys = read.ssh_keys(project)
    addresses = read.addresses(project, system, metro)
    bid = read.spot_price(plan, metro)
    read.features(plan)
    _heed_quotas(read, world, project, plan)
    storage = None if is_blank(body.get("storage")) else body["storage"]
    if storage is not None and not isinstance(storage, dict):
        read.problems.append("Storage is invalid")
    if reservation is not None and attributes.get("spot_instance"):
        read.problems.append("Spot instance cannot be used with a hardware reservation")
    read.fail()
    assert plan and system and metro  # noqa: S101 - else fail() has raised
    device = new_device(
        world,
        project,
        (plan, system, metro),
        {
            **attributes,
            **further,
            "ssh_key_ids": keys,
            "wanted_addresses": addresses,
            "storage": storage,
            "spot_price_max": bid,
            "hardware_reservation_id": reservation.id if reservation is not None else None,
        },
        user_id=user_id,
    )
    if reservation is not None:
        hardware_reservations.take(world, reservation, device.id)
    if device.termination_time:
        world.lifecycle.look_at_endings()
    return world.lifecycle.begin(device, "provision")


def new_device(
    world: MetalWorld, project: Project, choice: tuple[Plan, OperatingSystem, Metro], attributes: dict[str, Any], *, user_id: str
) -> Device:
    """A queued device with its ports, in the store; without addresses, as a fresh one is (recorded answers)."""
    id_ = str(uuid.uuid4())
    now = world.now()
    plan, system, metro = choice
    device = Device(
        id=id_,
        project_id=project.id,
        state="queued",
        plan=plan.slug,
        operating_system=system.slug,
        metro=metro.code,
        created_at=now,
        updated_at=now,
        created_by=user_id,
        switch_uuid=f"{random.getrandbits(32):08x}",
        **{"hostname": f"{id_[:8]}.packethost.net", **attributes},
    )
    world.store.put(device)
    for port in _ports(id_, plan):
        world.store.put(port)
    return device


def _ports(device_id: str, plan: Plan) -> list[Port]:
    """bond0 = eth0 + eth1; with four ports bond0 = eth0 + eth2 and bond1 = eth1 + eth3 (recorded answers)."""
    bonds = [Port(id=str(uuid.uuid4()), device_id=device_id, name=f"bond{n}") for n in range(plan.ports // 2)]
    # Locally administered, and as unique as the device's id.
    mac = bytes([0x02, *uuid.UUID(device_id).bytes[:4]]).hex(":")
    eths = [
        Port(
            id=str(uuid.uuid4()),
            device_id=device_id,
            name=f"eth{n}",
            mac=f"{mac}:{n:02x}",
            bond_id=bonds[n % len(bonds)].id,
            bond_name=bonds[n % len(bonds)].name,
        )
        for n in range(plan.ports)
    ]
    return [*bonds, *eths]


def list_devices(call: Call) -> Reply:
    devices = call.world.store.devices.by("project", call.project().id)
    return _page(call, devices)


def list_organization_devices(call: Call) -> Reply:
    organization = call.organization()
    store = call.world.store
    projects = [each for each in store.projects.by("organization", organization.id) if call.caller.sees(each.id)]
    return _page(call, [device for each in projects for device in store.devices.by("project", each.id)])


def _page(call: Call, devices: list[Device]) -> Reply:
    return call.page("devices", _filtered(call, devices), lambda each: call.rendering.device(each, call.wanted))


def _filtered(call: Call, devices: list[Device]) -> list[Device]:
    """The filters of the vendor's OpenAPI text."""
    world, query = call.world, call.query
    catalogue, store = world.catalogue, world.store
    tests: list[Any] = []
    if search := query.get("search", "").lower():
        tests.append(lambda d: any(search in text.lower() for text in _searched(world, d)))
    if hostname := query.get("hostname", "").lower():
        tests.append(lambda d: hostname in d.hostname.lower())
    if tags := call.values("tag"):
        tests.append(lambda d: tags.issubset(d.tags))
    if states := call.values("state"):
        tests.append(lambda d: d.state in states)
    if metros := {getattr(catalogue.metro(each), "code", None) for each in call.values("metro")}:
        tests.append(lambda d: d.metro in metros)
    if facilities := {getattr(catalogue.metro_of_facility(each), "code", None) for each in call.values("facility")}:
        tests.append(lambda d: d.metro in facilities)
    if plans := {getattr(catalogue.plan(each), "slug", None) for each in call.values("plan")}:
        tests.append(lambda d: d.plan in plans)
    if categories := call.values("categories"):
        tests.append(lambda d: not categories.isdisjoint(catalogue.plans[d.plan].categories))
    if kinds := call.values("type"):
        tests.append(lambda d: ("spot" if d.spot_instance else "reserved" if d.hardware_reservation_id else "ondemand") in kinds)
    if query.get("reserved"):
        tests.append(lambda d: (d.hardware_reservation_id is not None) == call.flag("reserved"))
    if query.get("has_termination_time"):
        tests.append(lambda d: (d.termination_time is not None) == call.flag("has_termination_time"))
    if mac := query.get("mac_address", "").lower():
        tests.append(lambda d: any(each.mac == mac for each in store.ports.by("device", d.id)))
    return [each for each in devices if all(test(each) for test in tests)] if tests else devices


def _searched(world: MetalWorld, device: Device) -> list[str]:
    """Hostname, description, short_id, tags, plan, facility, operating system, addresses (vendor's OpenAPI text)."""
    system, metro = world.catalogue.operating_systems[device.operating_system], world.catalogue.metros[device.metro]
    addresses = [each.address for each in world.store.assignments.by("device", device.id)]
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
    return Reply(call.rendering.device(_present(call), call.wanted))


def _present(call: Call) -> Device:
    departed = call.world.store.departed.get(call.id)
    if departed is not None and call.caller.sees(departed.project_id):
        raise forbidden()
    return call.device()


def update_device(call: Call) -> Reply:
    device = _present(call)
    read = DeviceInput(call)
    changes = read.attributes(*UPDATE)
    if call.body.get("spot_instance") is False:
        changes["spot_instance"] = False
    read.fail()
    device = call.world.store.put(replace(device, updated_at=call.world.now(), **changes))
    if "termination_time" in changes:
        call.world.lifecycle.look_at_endings()
    return Reply(call.rendering.device(device, call.wanted))


def delete_device(call: Call) -> Reply:
    give_up(call.world, _present(call))
    return Reply(status=204)


def give_up(world: MetalWorld, device: Device) -> None:
    """Begin to deprovision. Raises 422 for a device that may not be deleted now (both texts are real)."""
    if device.state in {"queued", "provisioning"}:
        raise unprocessable("Cannot delete a device while it is provisioning")
    if device.locked:
        raise unprocessable("Cannot delete a locked item")
    if device.state == "deprovisioning":
        # Under way already: as quiet as the first time (ours).
        return
    world.lifecycle.begin(replace(device, state="deprovisioning"), "deprovision")


def act(call: Call) -> Reply:
    device = _present(call)
    kind = call.field("type")
    if not isinstance(kind, str) or kind not in ACTIONS:
        raise unprocessable("invalid action")  # about this (public issue threads)
    if kind not in allowed_actions(device):
        raise unprocessable(f"Cannot {ACTIONS[kind].lower()} a device that is {device.state}")
    world, changes = call.world, dict[str, Any]()
    if kind == "reinstall":
        changes = _reinstall(call, device)
    elif kind in {"power_on", "power_off"}:
        changes = {"state": {"power_on": "powering_on", "power_off": "powering_off"}[kind]}
    if kind != "reinstall":
        queued = {"power_on": "Power on", "power_off": "Power off"}.get(kind, "Reboot")
        world.record_event(device, "power.200", f"{queued} operation queued", user_id=call.caller.user_id)
    world.lifecycle.begin(replace(device, **changes), kind, preserve_data=call.flag("preserve_data"))
    return Reply(status=202)


def _reinstall(call: Call, device: Device) -> dict[str, Any]:
    read = DeviceInput(call)
    changes: dict[str, Any] = {"state": "reinstalling", "progress": {}, "allow_pxe": True}
    if call.body.get("operating_system"):
        system = read.operating_system(call.world.catalogue.plans[device.plan])
        if system is not None:
            changes["operating_system"] = system.slug
    changes |= read.attributes("ipxe_script_url")
    if changes.get("ipxe_script_url") and changes.get("operating_system", device.operating_system) != "custom_ipxe":
        read.problems.append("Ipxe script url can only be set with custom_ipxe")
    read.fail()
    return changes


def show_userdata(call: Call) -> Reply:
    return Reply({"userdata": _present(call).userdata})


def show_customdata(call: Call) -> Reply:
    return Reply({"customdata": _present(call).customdata})


def show_metadata(call: Call) -> Reply:
    return Reply(metadata.document(call.world, _present(call)))


def list_ssh_keys(call: Call) -> Reply:
    device = _present(call)
    keys = [key for key in map(call.world.store.ssh_keys.get, device.ssh_key_ids) if key is not None]
    return Reply({"ssh_keys": [call.rendering.ssh_key(key, call.wanted) for key in keys]})


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
    *paths("GET", show_metadata, "/devices/{id}/metadata"),
    *paths("GET", list_ssh_keys, "/devices/{id}/ssh-keys"),
]
