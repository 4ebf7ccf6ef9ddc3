# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the machines to order: capacity, hardware reservations, price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ...module_utils.machines.placement import Place
from ..plan.step import total
from ..plan.world import Offer
from .context import Context
from .findings import Finding, UnreadableError, counted, failed, listed, not_checkable, passed, passed_if

Answer = TypeVar("Answer")

HOURS_A_MONTH = 730

ORDERED = {"load-balancer": 0, "bootstrap": 1, "control-plane": 1, "worker": 2}
"""Tasks that order devices, by role. Of one task given reservations come before ``next-available``."""


def capacity(context: Context) -> Finding:
    answer = context.readings.get("capacity") or {}
    if (answer.get("failure") or {}).get("status") == 403:
        return not_checkable("not checked: the token has no permission for this request")
    places, problems = context.choose_places()
    if problems:
        return failed("; ".join(problems))
    if not places:
        return passed("no machines that need capacity")
    ordered = Counter(str(place) for place in places.values())
    lacking = len([machine for machine in context.machines_to_order if not machine.get("hardware_reservation_id")]) - len(places)
    observed = listed(f"{count} x {place}" for place, count in ordered.items()) + (
        f"; no capacity for {counted(lacking, 'worker')} beyond the quorum" if lacking else ""
    )
    unknown = [answer for answer in context.read("capacity", "servers") if answer["available"] is None]
    return not_checkable(f"the Metal API does not report the capacity for {observed}") if unknown else passed(observed)


def reservations(context: Context) -> Finding:
    requested = {
        machine["hostname"]: machine
        for machine in context.machines_to_order
        if machine.get("hardware_reservation_id") and machine["hostname"] not in context.replaced
    }
    if not requested:
        return passed("none requested")
    known = {reservation["id"]: reservation for reservation in context.read("reservations", "hardware_reservations")}
    free = [
        value for value in known.values() if value.get("provisionable") and not value.get("device_id") and not value.get("need_of_service")
    ]
    problems, taken, any_free = [], Counter[str](), Counter[Place]()
    for hostname, machine in requested.items():
        identity = str(machine["hardware_reservation_id"])
        place = context.places_of(machine)[:1]
        if identity == "next-available":
            any_free.update(place)
            continue
        taken[identity] += 1
        problems += [f"{hostname}: {problem}" for problem in _reservation_problems(known.get(identity), identity, place)]
    problems += [f"{identity} is set for {count} hosts" for identity, count in taken.items() if count > 1]
    for place_of_any, count in any_free.items():
        fitting = [reservation for reservation in free if _fits(reservation, place_of_any) and reservation["id"] not in taken]
        if len(fitting) < count:
            problems.append(
                f"next-available is set for {counted(count, 'host')} ({place_of_any}), but only {len(fitting)} reservations are free"
            )
    problems += _taken_before(context, requested, known)
    return passed_if(not problems, "; ".join(problems) or f"{counted(len(requested), 'reservation')} free")


def _fits(reservation: Mapping[str, Any], place: Place) -> bool:
    return reservation["plan"] == place.plan and reservation["metro"] in (place.metro, None)


def _taken_before(context: Context, requested: Mapping[str, Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the machines whose reservation a machine with ``next-available`` may get, since that is ordered by an earlier task."""
    for hostname, machine in requested.items():
        reservation = known.get(str(machine["hardware_reservation_id"]))
        if reservation is None:
            continue
        for other, earlier in requested.items():
            is_earlier = ORDERED.get(str(earlier.get("role")), 0) < ORDERED.get(str(machine.get("role")), 0)
            fits = any(_fits(reservation, place) for place in context.places_of(earlier)[:1])
            if earlier["hardware_reservation_id"] == "next-available" and is_earlier and fits:
                yield f"{other} with next-available is ordered before {hostname}, and may get its reservation {reservation['id']}"
                break


def _reservation_problems(reservation: Mapping[str, Any] | None, identity: str, places: Sequence[Place]) -> list[str]:
    if reservation is None:
        return [f"{identity} does not exist in this project"]
    problems = []
    if reservation.get("device_id"):
        problems.append(f"{identity} is used by a device")
    elif reservation.get("need_of_service"):
        problems.append(f"{identity} is out of service")
    elif not reservation.get("provisionable"):
        problems.append(f"{identity} cannot be provisioned now")
    for place in places:
        if reservation.get("plan") != place.plan:
            problems.append(f"{identity} has plan {reservation.get('plan')}, not {place.plan}")
        if reservation.get("metro") not in (None, place.metro):
            problems.append(f"{identity} is in {reservation.get('metro')}, not {place.metro}")
    return problems


def price(context: Context) -> Finding:
    if not context.machines_to_order:
        return passed("no machines to order")
    costs = cost(context)
    if costs["price_per_hour"] is None:
        return not_checkable("the Metal API did not report all prices")
    reserved = len([machine for machine in context.machines_to_order if machine.get("hardware_reservation_id")])
    contract = f"; plus the contract price of {counted(reserved, 'reserved machine')}" if reserved else ""
    return passed(f"{costs['price_per_hour']:.2f} US dollars per hour{contract}")


def offers(context: Context) -> dict[str, Offer]:
    """Return what each machine to order will be, by host name. A machine without capacity has its first alternative."""
    chosen = _read(context.choose_places)
    listed = _read(lambda: context.plans)
    places = chosen[0] if chosen else {}
    prices = {}
    for machine in context.machines_to_order:
        alternatives = context.places_of(machine)
        place = places.get(machine["hostname"]) or (alternatives[0] if alternatives else Place(metro="", plan=""))
        is_reserved = bool(machine.get("hardware_reservation_id"))
        price = 0.0 if is_reserved else ((listed or {}).get(place.plan) or {}).get("price_per_hour")
        prices[machine["hostname"]] = Offer(place.plan, place.metro, float(price) if isinstance(price, (int, float)) else None, is_reserved)
    return prices


def _read(read: Callable[[], Answer]) -> Answer | None:
    """Return what a reading says; None without it, which a check reports."""
    try:
        return read()
    except UnreadableError:
        return None


def cost(context: Context) -> dict[str, Any]:
    """Return the prices of the machines to order, None when unknown."""
    if not context.machines_to_order:
        return {"price_per_hour": 0.0 if context.devices else None, "price_of_the_run": None, "price_per_month": None}
    prices = {name: offer.price_per_hour for name, offer in offers(context).items()}
    hour = total(prices.values())
    if hour is None:
        return {"price_per_hour": None, "price_of_the_run": None, "price_per_month": None}
    bootstrap = {machine["hostname"] for machine in context.groups["bootstrap"]}
    staying = sum(price or 0.0 for name, price in prices.items() if name not in bootstrap)
    return {
        "price_per_hour": hour,
        "price_of_the_run": round(hour * float(context.settings.get("run_hours") or 1), 2),
        "price_per_month": round(staying * HOURS_A_MONTH, 2),
    }
