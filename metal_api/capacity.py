# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capacity: number of available servers by plan and metro, and the check whether an order has enough of them."""

from __future__ import annotations

from typing import Any

from metal_api.accounts.members import organization_of
from metal_api.catalogue.data import catalogue
from metal_api.core.call import Call, Reply, Route, paths, whole_number
from metal_api.core.errors import not_valid, unprocessable
from metal_api.core.resource import Resource
from metal_api.core.world import World
from metal_api.servers import Servers


class Capacity:
    """Counts the servers that can still be ordered."""

    def __init__(self, world: World) -> None:
        self._world = world

    def available_servers(self, metro: str, plan: str) -> int:
        servers = self._world.service(Servers)
        if servers.provides(plan):
            return len(servers.free(metro, plan))
        return max(0, self._world.policy.stock(metro, plan) - self._world.store["devices"].count("stock", (metro, plan)))


def level(available: int) -> str:
    """Return the level (vendor's OpenAPI text) for a number of servers (the limits are ours)."""
    return "unavailable" if available == 0 else "critical" if available < 3 else "limited" if available < 10 else "normal"


def by_metro(call: Call) -> Reply:
    metros = [metro.code for metro in catalogue().metros.values()]
    return Reply({"capacity": {code: _plans(call, code) for code in metros if not call.values("metro") or code in call.values("metro")}})


def by_organization(call: Call) -> Reply:
    """Return the same capacity for all organizations."""
    organization_of(call)
    return by_metro(call)


def by_facility(call: Call) -> Reply:
    return Reply({"capacity": {metro.facility: _plans(call, metro.code) for metro in catalogue().metros.values()}})


def by_facility_of_organization(call: Call) -> Reply:
    """Return the same for facilities, which are no longer in the vendor's OpenAPI text."""
    organization_of(call)
    return by_facility(call)


def _plans(call: Call, metro: str) -> dict[str, Any]:
    requested = call.values("plan")
    return {
        slug: {"level": level(available := call.world.service(Capacity).available_servers(metro, slug)), "available_servers": available}
        for slug in catalogue().plans
        if not requested or slug in requested
    }


def check_metros(call: Call) -> Reply:
    return _check(call, "metro")


def check_facilities(call: Call) -> Reply:
    return _check(call, "facility")


def _check(call: Call, place: str) -> Reply:
    """Return the list as sent, each entry with ``available``, quantities with their type: a number or its text."""
    known = catalogue()
    find = known.metro if place == "metro" else known.metro_of_facility
    servers = call.body.get("servers")
    if not isinstance(servers, list) or not all(isinstance(entry, dict) for entry in servers):
        raise unprocessable("Servers can't be blank")
    answers: list[dict[str, Any]] = []
    problems: list[str] = []
    orderable: list[tuple[str, str]] = []
    for server in servers:
        metro, plan = find(server.get(place)), known.plan(server.get("plan"))
        if metro is None:
            problems.append(not_valid(server.get(place), place))
        if plan is None:
            problems.append(not_valid(server.get("plan"), "plan"))
        quantity = whole_number(server.get("quantity")) or 0
        if quantity < 1:
            problems.append("Quantity must be greater than 0")
        if metro is not None and plan is not None:
            available = call.world.service(Capacity).available_servers(metro.code, plan.slug) >= quantity
            answers.append({**server, "available": available})
            if available:
                orderable.append((metro.code, plan.slug))
    if problems:
        raise unprocessable(*dict.fromkeys(problems))
    for code, slug in orderable:
        call.world.policy.capacity_checked(code, slug)
    return Reply({"servers": answers})


ROUTES: list[Route] = [
    *paths("GET", by_metro, "/capacity/metros"),
    *paths("GET", by_organization, "/organizations/{id}/capacity/metros"),
    *paths("GET", by_facility, "/capacity"),
    *paths("GET", by_facility_of_organization, "/organizations/{id}/capacity"),
    *paths("POST", check_metros, "/capacity/metros"),
    *paths("POST", check_facilities, "/capacity"),
]


RESOURCE = Resource(
    routes=ROUTES,
    service=Capacity,
)
