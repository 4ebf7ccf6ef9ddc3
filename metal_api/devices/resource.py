# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices as a resource."""

from __future__ import annotations

from metal_api.accounts.record import Project
from metal_api.core.resource import Resource
from metal_api.core.store import Kind
from metal_api.core.world import World
from metal_api.devices import routes
from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.record import Departed, Device
from metal_api.devices.rendering import render_device


async def _resume(world: World) -> None:
    await world.service(Lifecycle).resume()


def _blocks_project(world: World, project: Project) -> str:
    """Return the devices that block the project's deletion, without those that are deprovisioning."""
    count = sum(device.state != "deprovisioning" for device in world.store[Device].matching("project", project.id))
    return f"{count} devices" if count else ""


def _abandon(world: World, project: Project) -> None:
    for device in world.store[Device].matching("project", project.id):
        world.service(Lifecycle).abandon(device)


RESOURCE = Resource(
    routes=routes.ROUTES,
    kinds=[
        Kind(
            Device,
            "devices",
            "devices",
            render_device,
            keys={
                "project": lambda r: r.project_id,
                # Reserved servers are not part of the stock.
                "stock": lambda r: None if r.hardware_reservation_id else (r.metro, r.plan),
                "machine_address": lambda r: r.machine_address,
                "ending": lambda r: True if r.termination_time else None,
                "spot": lambda r: True if r.spot_instance else None,
                "spot_market_request": lambda r: r.spot_market_request_id,
            },
        ),
        Kind(Departed, "departed"),
    ],
    service=Lifecycle,
    resume=_resume,
    on_erase={Project: _abandon},
    blockers={Project: _blocks_project},
)
