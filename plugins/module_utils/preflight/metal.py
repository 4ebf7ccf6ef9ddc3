# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the Metal API: whether it answers, to whom, and what time it has.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import email.utils
from collections import Counter
from collections.abc import Mapping

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

PROJECT_ADVICE = {
    None: "see that metal_api_url is the service's address, that the service runs, and that this computer may reach it",
    401: "set metal_api_token to a token of the service: nobody there knows this one",
    403: "take a token that may see the project (metal_api_token)",
    404: "set metal_project_id to the id of a project that the token may see",
}
"""What to do, by the status of the answer. None: there was none."""


def settings(situation: Situation) -> Finding:
    url, project = situation.text("metal_api_url"), situation.text("metal_project_id")
    token = "given" if situation.text("metal_api_token") else "missing"
    return either(situation.metal_given, f"address {url or 'missing'}, token {token}, project {project or 'missing'}")


def project(situation: Situation) -> Finding:
    if not situation.metal_given:
        return not_checkable("not asked: settings are missing")
    asked = situation.text("metal_project_id")
    answer = situation.world.get("project") or {}
    project = answer.get("project")
    if not isinstance(project, Mapping):
        status = (answer.get("failure") or {}).get("status")
        return failed(str(answer.get("msg") or f"project {asked}: no answer"), PROJECT_ADVICE.get(status))
    return passed(f"project {project.get('name') or asked}")


def rights(situation: Situation) -> Finding:
    answer = situation.world.get("capacity") or {}
    if "servers" in answer:
        return passed("a question that is asked by POST was answered")
    if (answer.get("failure") or {}).get("status") == 403:
        return failed(f"the token only reads: {answer.get('msg')}")
    return not_checkable("nothing that needs them was asked")


def metros(situation: Situation) -> Finding:
    known = [metro["code"] for metro in situation.read("metros", "metros") if isinstance(metro["code"], str)]
    unknown = [code for code in situation.metros() if code not in known]
    return either(
        not unknown,
        f"unknown: {listed(unknown)}" if unknown else listed(situation.metros()),
        f"metal_metro has to be one of {listed(sorted(known), 40)}",
    )


def quota(situation: Situation) -> Finding:
    project = (situation.world.get("project") or {}).get("project")
    if not isinstance(project, Mapping):
        return not_checkable("the project cannot be read")
    limits = project.get("max_devices")
    if not isinstance(limits, Mapping) or not limits:
        return not_checkable("the service tells no quota of this project")
    missing = Counter(place.plan for machine in situation.missing for place in situation.places(machine)[:1])
    there: Mapping[str, int] = situation.read("quota", "taken")
    over = [
        f"{plan}: {limits[plan]} allowed, the project has {there.get(plan, 0)}, and {count} are missing"
        for plan, count in missing.items()
        if isinstance(limits.get(plan), int) and there.get(plan, 0) + count > limits[plan]
    ]
    return either(not over, "; ".join(over) or "enough, as far as it is told")


def clock(situation: Situation) -> Finding:
    answer = situation.world.get("clock") or {}
    told = answer.get("date")
    if not told:
        return not_checkable("no answer of the service told its time")
    try:
        theirs = email.utils.parsedate_to_datetime(str(told)).timestamp()
    except ValueError:
        return not_checkable(f"what the service tells is no time: {told}")
    ahead = float(answer["now"]) - theirs
    found, most = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the service", float(situation.wanted["clock_tolerance"])
    return passed(found) if abs(ahead) <= most else failed(f"{found}, {most:g} s are allowed")
