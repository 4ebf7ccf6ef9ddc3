# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the machines of a set are ordered: the first alternative that has room for all of them, or spread evenly over several.

The service says whether a number of servers can be had, not how many there are. So every number that the choice may come to is asked for,
all in one call: :func:`questions` says which, :func:`deal` chooses by the answers.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Place(NamedTuple):
    """One alternative: metro in lower case, or ``any``, and plan. What the reserved hardware says itself is empty."""

    metro: str
    plan: str

    def __str__(self) -> str:
        return f"{self.plan} in {self.metro}"


@dataclass(frozen=True)
class Pool:
    """Machines with the same alternatives, in the order they are wanted; ``names`` are those to be ordered.

    ``existing``: machines of the pool by metro that are there already, for ``spread``.
    """

    alternatives: tuple[Place, ...]
    names: tuple[str, ...]
    spread: bool = False
    existing: Mapping[str, int] = field(default_factory=dict)


Room = Mapping[Place, float]
"""How many more machines a place takes, as far as asked; a place that is not in it has no limit that is known."""


def alternatives(own: Place, placement: Iterable[Mapping[str, Any]] | None) -> tuple[Place, ...]:
    """The places of a machine, in order of preference: ``placement``, with its own metro and plan where an entry names none."""
    if not placement:
        return (own,)
    return tuple(dict.fromkeys(Place((entry.get("metro") or own.metro).lower(), entry.get("plan") or own.plan) for entry in placement))


def questions(pools: Sequence[Pool], *, every: bool = False) -> list[dict[str, Any]]:
    """What to ask for: ``plan``, ``metro`` and ``quantity``, every number that :func:`deal` may come to in a place.

    ``every``: every number that :func:`fill` may come to.
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


def room(answers: Sequence[Mapping[str, Any]]) -> dict[Place, float]:
    """What the answers to :func:`questions` say: the greatest number that can be had. What is not answered sets no limit."""
    found: dict[Place, float] = {}
    for answer in answers:
        place = Place(answer["metro"], answer["plan"])
        if answer["available"] is None:
            found[place] = math.inf
        else:
            found[place] = max(found.get(place, 0), answer["quantity"] if answer["available"] else 0)
    return found


def deal(pools: Sequence[Pool], rooms: Room) -> tuple[dict[str, Place], list[str]]:
    """The place of each name, and one text for each pool that has none for all of its machines.

    Without ``spread`` a pool goes to the first of its alternatives that has room for all of it. With ``spread`` its machines are dealt one
    by one, each to the metro that has the fewest of the pool by then and has room, of several to the one named first; in a metro the first
    alternative with room is taken. Who has fewer alternatives chooses first.
    """
    left = dict(rooms)
    chosen: dict[str, Place] = {}
    problems: list[str] = []
    for pool in sorted(pools, key=lambda pool: len(pool.alternatives)):
        places = _spread(pool, left) if pool.spread else _together(pool, left)
        if places is None:
            problems.append(_lack(pool, rooms))
            continue
        chosen |= zip(pool.names, places, strict=True)
        for place, count in Counter(places).items():
            left[place] = left.get(place, math.inf) - count
    return chosen, problems


def fill(pools: Sequence[Pool], rooms: Room) -> dict[str, Place]:
    """Like :func:`deal`, for what is still missing of a set: a pool that fits nowhere whole fills its alternatives in their order."""
    left = dict(rooms)
    chosen: dict[str, Place] = {}
    for pool in pools:
        places = _spread(pool, left) if pool.spread else _together(pool, left)
        if places is None:
            places = [place for place in pool.alternatives for _each in range(int(min(left.get(place, math.inf), len(pool.names))))]
        for name, place in zip(pool.names, places, strict=False):
            chosen[name] = place
            left[place] = left.get(place, math.inf) - 1
    return chosen


def _together(pool: Pool, left: Room) -> list[Place] | None:
    size = len(pool.names)
    fitting = [place for place in pool.alternatives if left.get(place, math.inf) >= size]
    return [fitting[0]] * size if fitting else None


def _spread(pool: Pool, left: Room) -> list[Place] | None:
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


def _lack(pool: Pool, rooms: Room) -> str:
    """Return how many servers are wanted for this pool and how many each place has, which takes questions for ``every`` number."""
    size = len(pool.names)
    if pool.spread:
        told = [f"{rooms.get(place, math.inf):g} of plan {place.plan} in metro {place.metro}" for place in pool.alternatives]
        return f"{size} servers are wanted, available are {', '.join(told)}"
    told = []
    for place in pool.alternatives:
        available = rooms.get(place, math.inf)
        shared = ", which other machines of the set take a part of" if available >= size else ""
        told.append(no_capacity(place.metro, place.plan, size, available) + shared)
    return ", and ".join(told)


def no_capacity(metro: str, plan: str, wanted: int, available: float | None = None) -> str:
    """Return that a metro has too few servers: how many are wanted, and how many there are where that is known."""
    known = "" if available is None or math.isinf(available) else f": {available:g} available"
    return f"metro {metro} has no capacity for {wanted} server{'' if wanted == 1 else 's'} of plan {plan}{known}"
