# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many servers of each plan there are in each metro, and whether an order for some would be met."""

from __future__ import annotations

from typing import Any

from sandbox.metal.calls import Call, Reply, Route, paths, whole_number
from sandbox.metal.errors import not_valid, unprocessable


def level(available: int) -> str:
    """Words of the vendor's OpenAPI text; where one ends and the next begins is ours."""
    return "unavailable" if available == 0 else "critical" if available < 3 else "limited" if available < 10 else "normal"


def by_metro(call: Call) -> Reply:
    metros = [each.code for each in call.world.catalogue.metros.values()]
    return Reply({"capacity": {code: _plans(call, code) for code in metros if not call.values("metro") or code in call.values("metro")}})


def by_organization(call: Call) -> Reply:
    """The same for all: nobody has servers set aside."""
    call.organization()
    return by_metro(call)


def by_facility(call: Call) -> Reply:
    return Reply({"capacity": {each.facility: _plans(call, each.code) for each in call.world.catalogue.metros.values()}})


def by_facility_of_organization(call: Call) -> Reply:
    """Gone from the vendor's text like all of the facilities."""
    call.organization()
    return by_facility(call)


def _plans(call: Call, metro: str) -> dict[str, Any]:
    wanted = call.values("plan")
    return {
        slug: {"level": level(available := call.world.available_servers(metro, slug)), "available_servers": available}
        for slug in call.world.catalogue.plans
        if not wanted or slug in wanted
    }


def check_metros(call: Call) -> Reply:
    return _check(call, "metro")


def check_facilities(call: Call) -> Reply:
    return _check(call, "facility")


def _check(call: Call, place: str) -> Reply:
    """The list as sent, each entry with ``available``. Quantities come back as they came: a number or its text."""
    catalogue = call.world.catalogue
    find = catalogue.metro if place == "metro" else catalogue.metro_of_facility
    servers = call.body.get("servers")
    if not isinstance(servers, list) or not all(isinstance(each, dict) for each in servers):
        raise unprocessable("Servers can't be blank")
    answers: list[dict[str, Any]] = []
    problems: list[str] = []
    found: list[tuple[str, str]] = []
    for server in servers:
        metro, plan = find(server.get(place)), catalogue.plan(server.get("plan"))
        if metro is None:
            problems.append(not_valid(server.get(place), place))
        if plan is None:
            problems.append(not_valid(server.get("plan"), "plan"))
        quantity = whole_number(server.get("quantity")) or 0
        if quantity < 1:
            problems.append("Quantity must be greater than 0")
        if metro is not None and plan is not None:
            available = call.world.available_servers(metro.code, plan.slug) >= quantity
            answers.append({**server, "available": available})
            if available:
                found.append((metro.code, plan.slug))
    if problems:
        raise unprocessable(*dict.fromkeys(problems))
    for each in found:
        call.world.asked_for(*each)
    return Reply({"servers": answers})


ROUTES: list[Route] = [
    *paths("GET", by_metro, "/capacity/metros"),
    *paths("GET", by_organization, "/organizations/{id}/capacity/metros"),
    *paths("GET", by_facility, "/capacity"),
    *paths("GET", by_facility_of_organization, "/organizations/{id}/capacity"),
    *paths("POST", check_metros, "/capacity/metros"),
    *paths("POST", check_facilities, "/capacity"),
]
