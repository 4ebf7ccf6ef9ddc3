# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders plans, metros, facilities and operating systems."""

from __future__ import annotations

from functools import cache
from typing import Any

from metal_api.catalogue.data import Metro, OperatingSystem, Plan, catalogue
from metal_api.core.include import PLAIN, Include
from metal_api.core.rendering import Rendering
from metal_api.core.store import JSON
from metal_api.core.world import World


def metro_part(view: Rendering, include: Include, metro: Metro, *, by_default: bool = False) -> Any:
    return include.part("metro", view.path("locations/metros", metro.id), lambda _: show_metro(view.base, metro), by_default=by_default)


def facility_part(view: Rendering, include: Include, metro: Metro, *, by_default: bool = False) -> Any:
    return include.part(
        "facility", view.path("facilities", metro.facility_id), lambda _: show_facility(view.base, metro), by_default=by_default
    )


def plan_part(view: Rendering, include: Include, plan: Plan, *, by_default: bool = False) -> Any:
    href = view.path("plans", plan.id)
    return include.part("plan", href, lambda inner: show_plan(view.base, plan, metros_of(view.world, plan), inner), by_default=by_default)


def operating_system_part(view: Rendering, include: Include, system: OperatingSystem) -> Any:
    href = view.path("operating-systems", system.id)
    return include.part("operating_system", href, lambda _: show_operating_system(view.base, system), by_default=True)


def metros_of(world: World, plan: Plan) -> tuple[Metro, ...]:
    """Return where a plan exists: in the metros of its servers, or everywhere if it needs none."""
    codes = world.metros_of_servers.get(plan.slug)
    if codes is None and world.environment.has_only_servers:
        return ()
    return tuple(metro for metro in catalogue().metros.values() if codes is None or metro.code in codes)


def show_plan(base: str, plan: Plan, metros: tuple[Metro, ...], include: Include = PLAIN) -> JSON:
    if not include:
        return _plan(base, plan, metros)
    shown = dict(_plan(base, plan, metros))
    if include.includes("available_in"):
        shown["available_in"] = [{**show_facility(base, metro), "price": {"hour": plan.price_hour}} for metro in metros]
    if include.includes("available_in_metros"):
        shown["available_in_metros"] = [{**show_metro(base, metro), "price": {"hour": plan.price_hour}} for metro in metros]
    return shown


# The catalogue does not change: these objects are created once, shared, and must not be modified.


@cache
def show_metro(base: str, metro: Metro) -> JSON:
    return {
        "id": metro.id,
        "name": metro.name,
        "code": metro.code,
        "country": metro.country,
        "href": f"{base}/locations/metros/{metro.id}",
    }


@cache
def show_facility(base: str, metro: Metro) -> JSON:
    """Render a facility, its metro in full. No ``address``: clients of the Go SDK need a complete one, and none is known."""
    return {
        "id": metro.facility_id,
        "name": f"{metro.name} {metro.facility}",
        "code": metro.facility,
        "features": list(metro.features),
        "ip_ranges": [],
        "metro": show_metro(base, metro),
        "href": f"{base}/facilities/{metro.facility_id}",
    }


_PLANS: dict[tuple[str, str, tuple[Metro, ...]], JSON] = {}


def _plan(base: str, plan: Plan, metros: tuple[Metro, ...]) -> JSON:
    if (shown := _PLANS.get((base, plan.slug, metros))) is None:
        shown = _PLANS[base, plan.slug, metros] = {
            "id": plan.id,
            "slug": plan.slug,
            "name": plan.slug,
            "description": f"{plan.slug}: {plan.cores} cores, {plan.memory_gb} GB",
            "line": "baremetal",
            "legacy": False,
            "class": plan.slug,
            "type": plan.type,
            "categories": list(plan.categories),
            "deployment_types": list(plan.deployment_types),
            "pricing": {"hour": plan.price_hour},
            "specs": plan.specs,
            "available_in": [{"href": f"{base}/facilities/{metro.facility_id}", "price": {"hour": plan.price_hour}} for metro in metros],
            "available_in_metros": [
                {"href": f"{base}/locations/metros/{metro.id}", "price": {"hour": plan.price_hour}} for metro in metros
            ],
            "href": f"{base}/plans/{plan.id}",
        }
    return shown


@cache
def show_operating_system(base: str, system: OperatingSystem) -> JSON:
    return {
        "id": system.id,
        "slug": system.slug,
        "name": system.name,
        "distro": system.distro,
        "distro_label": system.name.split(" ", maxsplit=1)[0],
        "version": system.version,
        "provisionable_on": list(system.on),
        "preinstallable": False,
        "pricing": {},
        "licensed": system.licensed,
        "lifecycle_state": "active",
        "default_operating_system": system.default,
        "build_date": None,
        "release_notes": None,
        "href": f"{base}/operating-systems/{system.id}",
    }
