# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of whether all that is missing is to be had, and what it costs.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.placement import Place
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    UnreadableError,
    counted,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

HOURS_A_MONTH = 730


def capacity(situation: Situation) -> Finding:
    answer = situation.world.get("capacity") or {}
    if (answer.get("failure") or {}).get("status") == 403:
        return not_checkable("the token may not ask")
    places, problems = situation.chosen()
    if problems:
        return failed("; ".join(problems))
    if not places:
        return passed("nothing that needs stock is missing")
    told = Counter(str(place) for place in places.values())
    lacking = len([machine for machine in situation.missing if not machine.get("hardware_reservation_id")]) - len(places)
    found = listed(f"{count} x {place}" for place, count in told.items()) + (
        f"; {lacking} workers beyond the quorum wait" if lacking else ""
    )
    unsure = [answer for answer in situation.read("capacity", "servers") if answer["available"] is None]
    return not_checkable(f"the service does not say whether there is room for {found}") if unsure else passed(found)


def reservations(situation: Situation) -> Finding:
    wanted = {machine["hostname"]: machine for machine in situation.missing if machine.get("hardware_reservation_id")}
    if not wanted:
        return passed("none are asked for")
    known = {each["id"]: each for each in situation.read("reservations", "hardware_reservations")}
    free = [each for each in known.values() if each.get("provisionable") and not each.get("device_id") and not each.get("need_of_service")]
    problems, taken, any_of_them = [], Counter[str](), Counter[Place]()
    for hostname, machine in wanted.items():
        identity = str(machine["hardware_reservation_id"])
        place = situation.places(machine)[:1]
        if identity == "next-available":
            any_of_them.update(place)
            continue
        taken[identity] += 1
        problems += [f"{hostname}: {problem}" for problem in _reservation_problems(known.get(identity), identity, place)]
    problems += [f"{identity} is asked for by {count} hosts" for identity, count in taken.items() if count > 1]
    for wanted_place, count in any_of_them.items():
        fitting = [
            each
            for each in free
            if each["plan"] == wanted_place.plan and each["metro"] in (wanted_place.metro, None) and each["id"] not in taken
        ]
        if len(fitting) < count:
            problems.append(f"{count} x {wanted_place} are wanted of those that are free, {len(fitting)} there are")
    return either(not problems, "; ".join(problems) or f"{len(wanted)} free ones")


def _reservation_problems(each: Mapping[str, Any] | None, identity: str, places: Sequence[Place]) -> list[str]:
    if each is None:
        return [f"there is no {identity}"]
    problems = []
    if each.get("device_id"):
        problems.append(f"{identity} has a device on it")
    elif each.get("need_of_service"):
        problems.append(f"{identity} is broken")
    elif not each.get("provisionable"):
        problems.append(f"{identity} cannot be provisioned now")
    for place in places:
        if each.get("plan") != place.plan:
            problems.append(f"{identity} is of plan {each.get('plan')}, not {place.plan}")
        if each.get("metro") not in (None, place.metro):
            problems.append(f"{identity} is in {each.get('metro')}, not {place.metro}")
    return problems


def price(situation: Situation) -> Finding:
    if not situation.missing:
        return passed("nothing is to be ordered")
    costs = cost(situation)
    if costs["price_per_hour"] is None:
        return not_checkable("the service does not tell, or was not asked")
    reserved = len([machine for machine in situation.missing if machine.get("hardware_reservation_id")])
    agreed = f"; what was agreed for {counted(reserved, 'reserved machine')}" if reserved else ""
    return passed(f"{costs['price_per_hour']:.2f} US dollars an hour{agreed}")


def cost(situation: Situation) -> dict[str, Any]:
    """Prices of all that is to be ordered; None where the service does not tell. What has no room is counted where it is wanted first."""
    try:
        chosen, _problems = situation.chosen()
        ordered = {machine["hostname"]: machine for machine in situation.missing if not machine.get("hardware_reservation_id")}
        places = {name: chosen.get(name) or situation.places(machine)[0] for name, machine in ordered.items()}
        prices = {name: situation.plans[place.plan].get("price_per_hour") for name, place in places.items()}
    except (UnreadableError, KeyError, IndexError):
        return {
            "price_per_hour": 0.0 if not situation.missing and situation.devices else None,
            "price_of_the_run": None,
            "price_per_month": None,
        }
    known = {name: float(price) for name, price in prices.items() if isinstance(price, (int, float))}
    if len(known) != len(prices):
        return {"price_per_hour": None, "price_of_the_run": None, "price_per_month": None}
    passing = {machine["hostname"] for machine in situation.groups["bootstrap"]}
    hour = sum(known.values())
    staying = sum(price for name, price in known.items() if name not in passing)
    return {
        "price_per_hour": round(hour, 4),
        "price_of_the_run": round(hour * float(situation.wanted.get("run_hours") or 1), 2),
        "price_per_month": round(staying * HOURS_A_MONTH, 2),
    }
