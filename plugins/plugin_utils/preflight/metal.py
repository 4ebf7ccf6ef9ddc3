# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the Metal API: access, permissions, metros, quota, clock."""

from __future__ import annotations

import email.utils
from collections import Counter
from collections.abc import Mapping

from .context import Context
from .findings import Finding, failed, listed, not_checkable, passed, passed_if

PROJECT_ADVICE = {
    None: "check that metal_api_url is the address of the Metal API, and that it is reachable from the controller",
    401: "set metal_api_token to a valid token: the Metal API does not know this one",
    403: "set metal_api_token to a token with access to the project",
    404: "set metal_project_id to the id of a project that the token has access to",
}
"""What to do, by HTTP status; None: no answer."""


def settings(context: Context) -> Finding:
    url, project = context.text("metal_api_url"), context.text("metal_project_id")
    token = "set" if context.text("metal_api_token") else "not set"
    return passed_if(context.has_metal_settings, f"address {url or 'not set'}, token {token}, project {project or 'not set'}")


def project(context: Context) -> Finding:
    if not context.has_metal_settings:
        return not_checkable("not checked: the settings of the Metal API are incomplete")
    project_id = context.text("metal_project_id")
    answer = context.readings.get("project") or {}
    project = answer.get("project")
    if not isinstance(project, Mapping):
        status = (answer.get("failure") or {}).get("status")
        return failed(str(answer.get("msg") or f"project {project_id}: the Metal API did not answer"), PROJECT_ADVICE.get(status))
    return passed(f"project {project.get('name') or project_id}")


def permissions(context: Context) -> Finding:
    answer = context.readings.get("capacity") or {}
    if "servers" in answer:
        return passed("the Metal API accepts POST requests of this token")
    if (answer.get("failure") or {}).get("status") == 403:
        return failed(f"the token is read-only: {answer.get('msg')}")
    return not_checkable("not checked: no request of this run needed write permission")


def metros(context: Context) -> Finding:
    known = [metro["code"] for metro in context.read("metros", "metros") if isinstance(metro["code"], str)]
    unknown = [code for code in context.metros() if code not in known]
    return passed_if(
        not unknown,
        f"unknown: {listed(unknown)}" if unknown else listed(context.metros()),
        f"set metal_metro to one of {listed(sorted(known), 40)}",
    )


def quota(context: Context) -> Finding:
    project = (context.readings.get("project") or {}).get("project")
    if not isinstance(project, Mapping):
        return not_checkable("not checked: the project cannot be read")
    limits = project.get("max_devices")
    if not isinstance(limits, Mapping) or not limits:
        return not_checkable("the Metal API reports no quota of this project")
    ordered = Counter(place.plan for machine in context.machines_to_order for place in context.places_of(machine)[:1])
    # Devices that are replaced are deleted before others are ordered.
    freed = Counter(str(device.get("plan")) for device in context.devices if device.get("hostname") in context.replaced)
    taken: Mapping[str, int] = context.read("quota", "taken")
    existing = {plan: count - freed[plan] for plan, count in taken.items()}
    over = [
        f"{plan}: {limits[plan]} devices allowed, {existing.get(plan, 0)} exist in the project, {count} to order"
        for plan, count in ordered.items()
        if isinstance(limits.get(plan), int) and existing.get(plan, 0) + count > limits[plan]
    ]
    return passed_if(not over, "; ".join(over) or "sufficient")


def clock(context: Context) -> Finding:
    answer = context.readings.get("clock") or {}
    date = answer.get("date")
    if not date:
        return not_checkable("no answer of the Metal API has a Date header")
    try:
        service_time = email.utils.parsedate_to_datetime(str(date)).timestamp()
    except ValueError:
        return not_checkable(f"the Date header of the Metal API is malformed: {date}")
    ahead = float(answer["now"]) - service_time
    observed, tolerance = (
        f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the Metal API",
        float(context.settings["clock_tolerance"]),
    )
    return passed(observed) if abs(ahead) <= tolerance else failed(f"{observed}, {tolerance:g} s allowed")
