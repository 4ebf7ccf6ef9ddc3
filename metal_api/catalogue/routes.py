# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes that list plans, metros, facilities and operating systems."""

from __future__ import annotations

from metal_api.accounts.members import organization_of, project_of
from metal_api.catalogue.data import NETWORK_BOOT, catalogue
from metal_api.catalogue.rendering import metros_of, show_facility, show_metro, show_operating_system, show_plan
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.errors import not_found


def _of_owner(call: Call) -> None:
    """Check that project or organization are the caller's. All of them may order everything."""
    if call.path.startswith("/projects/"):
        project_of(call)
    elif call.path.startswith("/organizations/"):
        organization_of(call)


def list_plans(call: Call) -> Reply:
    _of_owner(call)
    plans = [
        plan
        for plan in catalogue().plans.values()
        if _among(call, "slug", (plan.slug,)) and _among(call, "type", (plan.type,)) and _among(call, "categories", plan.categories)
    ]
    return Reply({"plans": [show_plan(call.base, plan, metros_of(call.world, plan), call.include) for plan in plans]})


def list_metros(call: Call) -> Reply:
    return Reply({"metros": [show_metro(call.base, metro) for metro in catalogue().metros.values()]})


def read_metro(call: Call) -> Reply:
    metro = catalogue().metro(call.id)
    if metro is None:
        raise not_found()
    return Reply(show_metro(call.base, metro))


def read_facility(call: Call) -> Reply:
    """Return a facility by code or id. This call and the next two are in no text: hrefs lead to them."""
    metro = catalogue().metro_of_facility(call.id)
    if metro is None:
        raise not_found()
    return Reply(show_facility(call.base, metro))


def read_plan(call: Call) -> Reply:
    plan = catalogue().plan(call.id)
    if plan is None:
        raise not_found()
    return Reply(show_plan(call.base, plan, metros_of(call.world, plan), call.include))


def read_operating_system(call: Call) -> Reply:
    system = catalogue().operating_system(call.id)
    if system is None:
        raise not_found()
    return Reply(show_operating_system(call.base, system))


def list_facilities(call: Call) -> Reply:
    """Return the facilities. Removed from the vendor's OpenAPI text in 2026; older clients use them, and got these headers before."""
    _of_owner(call)
    facilities = [show_facility(call.base, metro) for metro in catalogue().metros.values()]
    return Reply({"facilities": facilities}, headers={"Deprecation": "true", "Sunset": "Thu, 30 Nov 2023 00:00:00 GMT"})


def list_operating_systems(call: Call) -> Reply:
    """Return the operating systems that can be ordered: servers in plain networks have no images of the vendor."""
    _of_owner(call)
    systems = [
        system
        for system in catalogue().operating_systems.values()
        if _among(call, "slug", (system.slug,))
        and _among(call, "distro", (system.distro,))
        and _among(call, "version", (system.version,))
        and (system.slug == NETWORK_BOOT or not call.world.environment.is_plain)
    ]
    return Reply({"operating_systems": [show_operating_system(call.base, system) for system in systems]})


def _among(call: Call, name: str, values: tuple[str, ...]) -> bool:
    requested = call.values(name)
    return not requested or not requested.isdisjoint(values)


ROUTES: list[Route] = [
    *paths("GET", list_plans, "/plans", "/projects/{id}/plans", "/organizations/{id}/plans"),
    *paths("GET", list_metros, "/locations/metros", "/metros"),
    *paths("GET", read_metro, "/locations/metros/{id}"),
    *paths("GET", read_facility, "/facilities/{id}"),
    *paths("GET", read_plan, "/plans/{id}"),
    *paths("GET", read_operating_system, "/operating-systems/{id}"),
    *paths("GET", list_facilities, "/facilities", "/projects/{id}/facilities", "/organizations/{id}/facilities"),
    *paths("GET", list_operating_systems, "/operating-systems", "/operating-system-versions", "/organizations/{id}/operating-systems"),
]
