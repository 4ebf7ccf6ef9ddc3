# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spot market devices: which machines may be one, their bids, and the current prices.

The Metal API deletes a spot market device 120 s after the market price has exceeded its bid (vendor's docs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.machines.placement import Place
from .context import Context, Machine
from .findings import Finding, counted, failed, listed, not_checkable, passed, warning

ROLES = {"bootstrap": "the bootstrap device", "control-plane": "a control plane machine", "load-balancer": "the load balancer"}
"""Roles of devices whose deletion ends the install or the cluster."""


def is_true(value: Any) -> bool:
    """Return the value of a boolean option as modules parse it."""
    return str(value).lower() in ("true", "yes", "on", "1", "y", "t", "1.0")


def is_spot(machine: Machine) -> bool:
    """Return whether a machine is to be a spot market device."""
    return is_true(machine.get("spot_instance"))


def bid_of(machine: Machine) -> float | None:
    """Return the maximum price per hour of a spot market device; None for a malformed one, which another check reports."""
    try:
        return float(machine.get("spot_price_max") or 0) or None
    except (TypeError, ValueError):
        return None


def prices_of(listed_prices: Sequence[Mapping[str, Any]]) -> dict[Place, float]:
    """Return the current prices per hour by place, of the answer of ``metal_spot_price_info``."""
    return {Place(str(price["metro"]), str(price["plan"])): float(price["price_per_hour"]) for price in listed_prices}


def devices(context: Context) -> Finding:
    refused = [machine for machine in context.machines if is_spot(machine) and machine.get("role") in ROLES]
    if refused:
        kinds = {ROLES[str(machine["role"])] for machine in refused}
        return failed(
            f"metal_spot_instance is set for {listed(machine['hostname'] for machine in refused)}: the Metal API deletes a spot market"
            f" device 120 s after a higher bid, and {' or '.join(sorted(kinds))} cannot be lost like this"
        )
    ordered = [machine for machine in context.machines_to_order if is_spot(machine) and bid_of(machine) is not None]
    if not ordered:
        return passed("no spot market devices to order")
    prices = prices_of(context.read("spot_prices", "spot_prices"))
    # Without an answer about capacity every place is possible.
    chosen = context.choose_places()[0] if "servers" in (context.readings.get("capacity") or {}) else {}
    first = {machine["hostname"]: chosen.get(machine["hostname"]) or next(iter(context.places_of(machine)), None) for machine in ordered}
    problems, warnings, quoted, unknown = [], [], [], []
    for place, bid, number in _bids(ordered, context):
        price = prices.get(place)
        text = f"{counted(number, 'spot market device')} ({place}): bid {bid:g}"
        if price is None:
            unknown.append(f"{text}, no market price")
        elif bid >= price:
            quoted.append(f"{text}, market price {price:g} US dollars per hour")
        elif any(first[machine["hostname"]] == place and bid_of(machine) == bid for machine in ordered):
            problems.append(f"{text} is below the market price of {price:g} US dollars per hour")
        else:
            warnings.append(f"{text} is below the market price of {price:g} US dollars per hour, so this alternative cannot be used")
    if problems:
        return failed("; ".join([*problems, *warnings]))
    if unknown:
        return not_checkable("; ".join([*unknown, *quoted]))
    if not [machine for machine in context.groups["workers"] if not is_spot(machine)] and context.groups["workers"]:
        warnings.append("every worker is a spot market device, so one rise of the price can end all of them")
    return warning("; ".join([*quoted, *warnings])) if warnings else passed("; ".join(quoted))


def _bids(machines: Sequence[Machine], context: Context) -> list[tuple[Place, float, int]]:
    """Return the places in which spot market devices may be ordered, each with a bid and the number of machines with this bid."""
    counts: dict[tuple[Place, float], int] = {}
    for machine in machines:
        for place in context.places_of(machine):
            key = (place, bid_of(machine) or 0.0)
            counts[key] = counts.get(key, 0) + 1
    return [(place, bid, number) for (place, bid), number in counts.items()]
