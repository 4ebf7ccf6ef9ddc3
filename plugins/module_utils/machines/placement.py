# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement of a set: the first alternative with capacity for all devices, or several metros in equal shares.

The API returns whether a number of servers is available, not how many there are. So one request asks for every number that the choice may
need: :func:`queries` returns these, :func:`assign` chooses by the answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Place(NamedTuple):
    """One alternative: metro in lower case, or ``any``, and plan. Empty where reserved hardware determines them."""

    metro: str
    plan: str

    def __str__(self) -> str:
        return f"{self.plan} in {self.metro}"


@dataclass(frozen=True)
class Pool:
    """Devices with the same alternatives, in order of preference; ``names`` are those to order.

    ``existing``: number of existing devices of the pool by metro, for ``spread``.
    """

    alternatives: tuple[Place, ...]
    names: tuple[str, ...]
    spread: bool = False
    existing: Mapping[str, int] = field(default_factory=dict)


SEARCHED = 10_000
"""Combinations of places that are tried before the pools are placed one after the other."""

Capacity = Mapping[Place, float]
"""Available servers of each place, as far as queried; a place that is missing has no known limit."""


def alternatives(own: Place, placement: Iterable[Mapping[str, Any]] | None) -> tuple[Place, ...]:
    """Return the places of a device, in order of preference: ``placement``, with its own metro and plan as defaults."""
    if not placement:
        return (own,)
    return tuple(dict.fromkeys(Place((entry.get("metro") or own.metro).lower(), entry.get("plan") or own.plan) for entry in placement))


def metros_of(machines: Iterable[Mapping[str, Any]], devices: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """Return the metros in which machines are or may be placed, sorted, without ``any``.

    A machine whose device exists is in the metro of that device only. ``devices``: as ``metal_device_info`` returns them.
    """
    existing = {str(device.get("hostname") or "").lower(): str(device["metro"]).lower() for device in devices if device.get("metro")}
    metros: set[str] = set()
    for machine in machines:
        if (metro := existing.get(str(machine.get("hostname") or "").lower())) is not None:
            metros.add(metro)
        else:
            own = Place(str(machine.get("metro") or "").lower(), str(machine.get("plan") or ""))
            # The role load_balancer orders its device in its own metro.
            placement = None if machine.get("role") == "load-balancer" else machine.get("placement")
            metros |= {place.metro for place in alternatives(own, placement)}
    return sorted(metros - {"", "any"})


def queries(pools: Sequence[Pool], *, every: bool = False) -> list[dict[str, Any]]:
    """Return the capacity queries: ``plan``, ``metro`` and ``quantity``, every number that :func:`assign` may need in a place.

    ``every``: every number that :func:`fill` may need.
    """
    sums: dict[Place, set[int]] = {}
    for pool in pools:
        sizes = range(1, len(pool.names) + 1) if pool.spread or every else [len(pool.names)]
        for place in pool.alternatives:
            if place.metro != "any":
                known = sums.setdefault(place, {0})
                known |= {earlier + size for earlier in known for size in sizes}
    return [
        {"plan": place.plan, "metro": place.metro, "quantity": quantity}
        for place in sorted(sums, key=lambda place: (place.plan, place.metro))
        for quantity in sorted(sums[place] - {0})
    ]


def capacity_of(answers: Sequence[Mapping[str, Any]]) -> dict[Place, float]:
    """Return the greatest available number of each place, by the answers to :func:`queries`; no limit where there is no answer."""
    capacity: dict[Place, float] = {}
    for answer in answers:
        place = Place(answer["metro"], answer["plan"])
        if answer["available"] is None:
            capacity[place] = math.inf
        else:
            capacity[place] = max(capacity.get(place, 0), answer["quantity"] if answer["available"] else 0)
    return capacity


def assign(pools: Sequence[Pool], capacity: Capacity) -> tuple[dict[str, Place], list[str]]:
    """Return the place of each name, and one text for each pool without capacity for all of its devices.

    Without ``spread`` a pool gets the first of its alternatives with capacity for all of it. With ``spread`` its devices are assigned one
    by one to the metro with capacity that has the fewest of the pool by then, the first listed one of several; within a metro to the first
    alternative with capacity. Pools with fewer alternatives are assigned first. If then one has no place, others get later alternatives.
    """
    ordered = _by_alternatives(pools)
    if (assignment := _search(ordered, capacity, Counter())) is not None:
        return {
            name: place for pool, places in zip(ordered, assignment, strict=True) for name, place in zip(pool.names, places, strict=True)
        }, []
    left = dict(capacity)
    chosen: dict[str, Place] = {}
    problems: list[str] = []
    for pool in ordered:
        places = next(iter(_candidates(pool, left)), None)
        if places is None:
            problems.append(_lack(pool, capacity))
            continue
        chosen |= zip(pool.names, places, strict=True)
        left = _without(left, places)
    return chosen, problems


def fill(pools: Sequence[Pool], capacity: Capacity) -> dict[str, Place]:
    """Return places for as many pools as a whole as possible; the others fill what is left of their alternatives, in their order.

    Pools that fit in no place even alone are set aside, so that they do not end the search for the others. If that leaves more devices
    without a place than to place one pool after the other, this is returned.
    """
    ordered = _by_alternatives(pools)
    fitting = [pool for pool in ordered if _search([pool], capacity, Counter()) is not None]
    steps = Counter[str]()
    results = (_search(fitting, capacity, steps, skips) for skips in range(len(fitting) + 1))
    assignment = next((result for result in results if result is not None), [])
    whole = {
        name: place for pool, places in zip(fitting, assignment, strict=False) for name, place in zip(pool.names, places, strict=False)
    }
    return max(_one_by_one(ordered, capacity, whole), _one_by_one(ordered, capacity, {}), key=len)


def _one_by_one(pools: Sequence[Pool], capacity: Capacity, chosen: Mapping[str, Place]) -> dict[str, Place]:
    """Return ``chosen`` and places for the other pools, one after the other; a pool that does not fit as a whole gets a part of them."""
    assignment = dict(chosen)
    left = _without(capacity, list(assignment.values()))
    for pool in pools:
        if assignment.keys() & set(pool.names):
            continue
        places = next(iter(_candidates(pool, left)), None)
        if places is None:
            places = [place for place in pool.alternatives for _each in range(int(min(left.get(place, math.inf), len(pool.names))))]
        assignment |= zip(pool.names, places, strict=False)
        left = _without(left, places[: len(pool.names)])
    return assignment


def _by_alternatives(pools: Sequence[Pool]) -> list[Pool]:
    return sorted(pools, key=lambda pool: len(pool.alternatives))


def _search(pools: Sequence[Pool], left: Capacity, steps: Counter[str], skips: int = 0) -> list[list[Place]] | None:
    """Return the places of each pool, the first in the order of preference with which all have capacity; None if there are none.

    ``skips``: number of pools that may have no places, the last ones first.
    Ends without a result after SEARCHED steps: hundreds of machines that are pools of their own have too many combinations.
    """
    if not pools:
        return []
    pool, *others = pools
    for places in [*_candidates(pool, left), *([[]] if skips else [])]:
        steps["searched"] += 1
        if steps["searched"] > SEARCHED:
            return None
        skips_left = skips - (len(places) < len(pool.names))
        if (assignment := _search(others, _without(left, places), steps, skips_left)) is not None:
            return [places, *assignment]
    return None


def _without(left: Capacity, places: Sequence[Place]) -> dict[Place, float]:
    """Return the capacity that is left after an order in these places."""
    return {**left, **{place: left.get(place, math.inf) - count for place, count in Counter(places).items()}}


def _candidates(pool: Pool, left: Capacity) -> list[list[Place]]:
    """Return the choices of places for all devices of the pool, in the order of preference."""
    if pool.spread:
        return [places] if (places := _spread(pool, left)) is not None else []
    size = len(pool.names)
    return [[place] * size for place in pool.alternatives if left.get(place, math.inf) >= size]


def _spread(pool: Pool, left: Capacity) -> list[Place] | None:
    left = dict(left)
    counts = Counter(dict(pool.existing))
    places = []
    for _name in pool.names:
        open_to = [place for place in pool.alternatives if left.get(place, math.inf) >= 1]
        if not open_to:
            return None
        # min() and the list keep the order of preference where metros are equal.
        place = min(open_to, key=lambda place: counts[place.metro])
        left[place] = left.get(place, math.inf) - 1
        counts[place.metro] += 1
        places.append(place)
    return places


def _lack(pool: Pool, capacity: Capacity) -> str:
    """Return how many servers this pool needs and how many each place has, which takes queries for ``every`` number."""
    size = len(pool.names)
    if pool.spread:
        available = [f"{capacity.get(place, math.inf):g} of plan {place.plan} in metro {place.metro}" for place in pool.alternatives]
        return f"{size} servers are needed, available are {', '.join(available)}"
    texts = []
    for place in pool.alternatives:
        count = capacity.get(place, math.inf)
        shared = ", of which other devices of the set need a part" if count >= size else ""
        texts.append(no_capacity(place.metro, place.plan, size, count) + shared)
    return ", and ".join(texts)


def no_capacity(metro: str, plan: str, needed: int, available: float | None = None) -> str:
    """Return that a metro has too few servers: how many are needed, and how many are available if that is known."""
    known = "" if available is None or math.isinf(available) else f": {available:g} available"
    return f"metro {metro} has no capacity for {needed} server{'' if needed == 1 else 's'} of plan {plan}{known}"
