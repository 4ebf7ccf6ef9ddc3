# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue: plans, metros and operating systems. Read only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options
from ..base.json_objects import mapping, mappings
from .resource import matches

if TYPE_CHECKING:
    from ..clients.metal import MetalClient

PLAN_OPTIONS = Options(
    {
        "slugs": {"type": "list", "elements": "str", "aliases": ["slug"]},
        "metro": {"type": "str"},
        "categories": {"type": "list", "elements": "str"},
        "type": {"type": "str"},
    }
)
METRO_OPTIONS = Options({"codes": {"type": "list", "elements": "str"}})
OPERATING_SYSTEM_OPTIONS = Options({"slugs": {"type": "list", "elements": "str", "aliases": ["slug"]}, "plan": {"type": "str"}})
ARCHITECTURES = {"arm64": "aarch64", "x86": "x86_64"}
"""Architectures in the spelling of OpenShift's mirror by the suffix of a plan's slug: the API has no other field for it."""


def architecture_of(plan: str) -> str | None:
    """Return the architecture of a plan by its slug; None for another suffix."""
    return ARCHITECTURES.get(plan.rpartition(".")[2])


def price_per_hour(plan: Mapping[str, Any]) -> float | None:
    """Return the price per hour of a plan in US dollars."""
    hour = mapping(plan.get("pricing")).get("hour")
    return float(hour) if isinstance(hour, (int, float)) else None


def plans(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    listed = client.read_list("plans", "plans", params={"include": "available_in_metros"}, doing="list the plans")
    facts = [plan for plan in map(_plan_result, listed) if matches(plan, {"slug": params["slugs"], "type": params["type"]})]
    if params["metro"]:
        facts = [plan for plan in facts if params["metro"].lower() in plan["metros"]]
    if params["categories"] is not None:
        facts = [plan for plan in facts if set(params["categories"]) & set(plan["categories"])]
    return {"plans": sorted(facts, key=lambda plan: str(plan["slug"]))}


def _plan_result(plan: Mapping[str, Any]) -> dict[str, Any]:
    metros = [metro.get("code") for metro in mappings(plan.get("available_in_metros"))]
    return {
        **{name: plan.get(name) for name in ("id", "name", "description", "line", "class", "type")},
        "slug": plan.get("slug") or plan.get("name"),
        "categories": plan.get("categories") or [],
        "deployment_types": plan.get("deployment_types") or [],
        "specs": plan.get("specs") or {},
        "price_per_hour": price_per_hour(plan),
        "metros": sorted(code.lower() for code in metros if isinstance(code, str)),
    }


def metros(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    listed = client.read_list("locations/metros", "metros", doing="list the metros")
    facts = [
        {"id": metro.get("id"), "code": str(metro.get("code")).lower(), "name": metro.get("name"), "country": metro.get("country")}
        for metro in listed
    ]
    codes = None if params["codes"] is None else [code.lower() for code in params["codes"]]
    return {"metros": sorted((metro for metro in facts if matches(metro, {"code": codes})), key=lambda metro: metro["code"])}


def operating_systems(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    listed = client.read_list("operating-systems", "operating_systems", doing="list the operating systems")
    facts: list[dict[str, Any]] = [
        {
            **{name: system.get(name) for name in ("id", "slug", "name", "distro", "version", "lifecycle_state")},
            "licensed": bool(system.get("licensed")),
            "provisionable_on": sorted(plan for plan in system.get("provisionable_on") or [] if isinstance(plan, str)),
        }
        for system in listed
    ]
    facts = [system for system in facts if matches(system, {"slug": params["slugs"]})]
    if params["plan"] is not None:
        facts = [system for system in facts if params["plan"] in system["provisionable_on"]]
    return {"operating_systems": sorted(facts, key=lambda system: str(system["slug"]))}
