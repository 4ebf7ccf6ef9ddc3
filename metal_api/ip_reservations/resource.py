# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks of addresses as a resource."""

from __future__ import annotations

from metal_api.accounts.record import Project
from metal_api.core.resource import Resource, resume_each
from metal_api.core.store import Kind
from metal_api.core.world import World
from metal_api.ip_reservations import routes, vrf_blocks
from metal_api.ip_reservations.address_space import AddressSpace
from metal_api.ip_reservations.record import Assignment, Reservation
from metal_api.ip_reservations.rendering import render_assignment, render_reservation


def _release(world: World, project: Project) -> None:
    for reservation in world.store[Reservation].matching("project", project.id):
        world.service(AddressSpace).close(reservation)
        world.store.drop(reservation)


RESOURCE = Resource(
    routes=[*routes.ROUTES, *vrf_blocks.ROUTES],
    kinds=[
        Kind(
            Reservation,
            "reservations",
            "ips",
            render_reservation,
            keys={"project": lambda r: r.project_id, "vrf": lambda r: r.vrf_id},
        ),
        Kind(
            Assignment,
            "assignments",
            "ips",
            render_assignment,
            keys={"device": lambda r: r.device_id, "reservation": lambda r: r.reservation_id, "address": lambda r: r.address},
        ),
    ],
    service=AddressSpace,
    resume=resume_each(Reservation, lambda r: r.state == "pending", routes.wait_for_decision),
    on_erase={Project: _release},
)
