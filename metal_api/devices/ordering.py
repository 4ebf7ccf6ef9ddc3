# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders and deletes devices, for a call, a batch or another resource."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace
from typing import Any

from metal_api import hardware_reservations
from metal_api.accounts.record import Project
from metal_api.catalogue.data import Metro, OperatingSystem, Plan
from metal_api.core.errors import unprocessable
from metal_api.core.world import World
from metal_api.devices.body import CREATE, DeviceBody
from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.record import Device, Port
from metal_api.hardware_reservations import HardwareReservation
from metal_api.servers import Server, Servers


def _heed_quotas(read: DeviceBody, world: World, project: Project, plan: Plan | None) -> None:
    most, existing = world.policy.quota("devices"), world.store[Device].matching("project", project.id)
    if most is not None and len(existing) >= most:
        read.problems.append(f"Devices quota of {most} for this project has been reached")
    quota = world.policy.plan_quotas().get(plan.slug) if plan else None
    if plan and quota is not None and sum(device.plan == plan.slug for device in existing) >= quota:
        read.problems.append(f"Devices quota of {quota} {plan.slug} for this project has been reached")


def order(world: World, body: dict[str, Any], project: Project, *, user_id: str, **further: Any) -> Device:
    """Order the device that the body of a create describes, or raise 422 with all its problems. ``further``: fields of the record."""
    reservation = hardware_reservations.choose(world, project, body)
    if reservation is not None:
        body = {**body, "plan": reservation.plan, "metro": reservation.metro}
    read = DeviceBody(world, body)
    attributes = read.attributes(*CREATE, blank={"hostname"})
    plan = read.plan()
    system = read.operating_system(plan)
    metro = read.metro(plan if reservation is None else None)
    keys = read.ssh_keys(project)
    server = _server(world, plan, metro, reservation)
    is_plain = server is not None and server.is_plain
    addresses = read.plain_addresses(metro) if is_plain and metro is not None else read.addresses(project, system, metro)
    if is_plain:
        read.on_plain_server(plan, system)
    bid = read.spot_price(plan, metro, is_server=server is not None)
    read.features(plan)
    _heed_quotas(read, world, project, plan)
    storage = read.storage()
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
        server=server,
    )
    if server is not None:
        world.service(Servers).take(server, device.id)
    if reservation is not None:
        hardware_reservations.take(world, reservation, device.id)
    if device.termination_time:
        world.service(Lifecycle).check_termination_times()
    return world.service(Lifecycle).begin(device, "provision")


def _server(world: World, plan: Plan | None, metro: Metro | None, reservation: HardwareReservation | None) -> Server | None:
    """Return the server for an order, None for a machine of the backend; missing ones are reported with the metro."""
    if reservation is not None:
        return world.store[Server].get(reservation.id)
    if plan is None or metro is None or not world.service(Servers).provides(plan.slug):
        return None
    return next(iter(world.service(Servers).free(metro.code, plan.slug)), None)


def new_device(  # noqa: PLR0913 - what a device is made of
    world: World,
    project: Project,
    choice: tuple[Plan, OperatingSystem, Metro],
    attributes: dict[str, Any],
    *,
    user_id: str,
    server: Server | None = None,
) -> Device:
    """Store a queued device and its ports. A new device has no addresses (recorded answers)."""
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
        server_id=server.id if server is not None else None,
        **{"hostname": f"{id_[:8]}.packethost.net", **attributes},
    )
    world.store.put(device)
    for port in _ports(id_, plan, server.macs if server is not None else ()):
        world.store.put(port)
    return device


def _ports(device_id: str, plan: Plan, macs: tuple[str, ...]) -> list[Port]:
    """Return the ports: bond0 of eth0 and eth1; with four ports bond0 of eth0 and eth2, bond1 of eth1 and eth3 (recorded answers).

    The bonds come last: metal-cli's tests of 2023 to 2025 take the third port as bond0, packet-python's of 2019 took the first.
    A server has as many ports as ``macs``.
    """
    count = len(macs) or plan.ports
    bonds = [Port(id=str(uuid.uuid4()), device_id=device_id, name=f"bond{n}") for n in range(max(1, count // 2))]
    # A locally administered address, as unique as the device's id.
    mac = bytes([0x02, *uuid.UUID(device_id).bytes[:4]]).hex(":")
    eths = [
        Port(
            id=str(uuid.uuid4()),
            device_id=device_id,
            name=f"eth{n}",
            mac=macs[n] if macs else f"{mac}:{n:02x}",
            bond_id=bonds[n % len(bonds)].id,
            bond_name=bonds[n % len(bonds)].name,
        )
        for n in range(count)
    ]
    return [*eths, *bonds]


def deprovision(world: World, device: Device) -> None:
    """Start to deprovision a device. Raises 422 for one that may not be deleted now (both texts are real)."""
    if device.state in {"queued", "provisioning"}:
        raise unprocessable("Cannot delete a device while it is provisioning")
    if device.locked:
        raise unprocessable("Cannot delete a locked item")
    if device.state == "deprovisioning":
        # Already deprovisioning: the same answer again (ours).
        return
    world.service(Lifecycle).begin(replace(device, state="deprovisioning"), "deprovision")
