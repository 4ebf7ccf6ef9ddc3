"""Where the machines of a set go: what is asked for, and what is chosen by the answers."""

import math
from collections import Counter
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.placement import (
    Place,
    Pool,
    alternatives,
    assign,
    capacity_of,
    fill,
    queries,
)

SMALL, LARGE = "c3.small.x86", "m3.large.x86"
DA, AM, SG = (Place(metro, SMALL) for metro in ("da", "am", "sg"))
DA_LARGE = Place("da", LARGE)


def pool(count: int, *places: Place, spread: bool = False, prefix: str = "worker", existing: dict[str, int] | None = None) -> Pool:
    return Pool(places, tuple(f"{prefix}-{number}" for number in range(count)), spread, existing or {})


def test_an_entry_without_metro_or_plan_has_the_machine_s_own() -> None:
    placement: list[dict[str, Any]] = [{"metro": "AM", "plan": None}, {"metro": None, "plan": LARGE}, {"metro": "am", "plan": SMALL}]
    assert alternatives(Place("da", SMALL), placement) == (AM, DA_LARGE)
    assert alternatives(DA, None) == (DA,)
    assert alternatives(DA, []) == (DA,)


def test_every_sum_of_pools_that_may_share_a_place_is_asked_for() -> None:
    asked = queries([pool(5, DA, AM), pool(2, DA, prefix="infra")])
    assert [(server["metro"], server["quantity"]) for server in asked] == [("am", 5), ("da", 2), ("da", 5), ("da", 7)]


def test_an_answer_that_is_missing_sets_no_limit() -> None:
    answers = [
        {"metro": "da", "plan": SMALL, "quantity": 2, "available": True},
        {"metro": "da", "plan": SMALL, "quantity": 5, "available": False},
        {"metro": "am", "plan": SMALL, "quantity": 5, "available": False},
        {"metro": "sg", "plan": SMALL, "quantity": 5, "available": None},
    ]
    assert capacity_of(answers) == {DA: 2, AM: 0, SG: math.inf}


def test_who_has_fewer_alternatives_chooses_first() -> None:
    chosen, problems = assign([pool(5, DA, AM), pool(2, DA, prefix="infra")], {DA: 5, AM: 5})
    assert Counter(chosen.values()) == {AM: 5, DA: 2}
    assert not problems


@pytest.mark.parametrize(
    ("count", "capacities", "existing", "expected"),
    [
        (7, {}, {}, {"da": 3, "am": 2, "sg": 2}),
        (3, {}, {"da": 3}, {"am": 2, "sg": 1}),
        (6, {DA: 1}, {}, {"da": 1, "am": 3, "sg": 2}),
        (12, {DA: 10, AM: 3, SG: 3}, {}, {"da": 6, "am": 3, "sg": 3}),
    ],
)
def test_a_spread_is_even_as_far_as_there_is_room(
    count: int, capacities: dict[Place, float], existing: dict[str, int], expected: dict[str, int]
) -> None:
    chosen, problems = assign([pool(count, DA, AM, SG, spread=True, existing=existing)], capacities)
    assert not problems
    assert Counter(place.metro for place in chosen.values()) == expected


def test_what_is_still_missing_fills_places_in_their_order() -> None:
    assert Counter(fill([pool(5, DA, AM)], {DA: 2, AM: 2}).values()) == {DA: 2, AM: 2}
    assert Counter(fill([pool(5, DA, AM)], {DA: 2, AM: 5}).values()) == {AM: 5}
    assert [server["quantity"] for server in queries([pool(3, DA)], every=True)] == [1, 2, 3]


def test_a_pool_with_fewer_alternatives_is_filled_first() -> None:
    """With a quorum, one pool without capacity must not leave another one without its only place."""
    pools = [pool(2, DA, AM, prefix="a"), pool(2, DA, prefix="b"), pool(1, SG, prefix="c")]
    chosen = fill(pools, {DA: 2, AM: 2, SG: 0})
    assert chosen == {"a-0": AM, "a-1": AM, "b-0": DA, "b-1": DA}


@pytest.mark.parametrize("choose", [fill, lambda pools, capacity: assign(pools, capacity)[0]])
def test_a_later_alternative_makes_room_for_another_pool(choose: Any) -> None:
    """Both have two alternatives, so their order alone does not show which has to give way."""
    pools = [pool(2, DA, AM, prefix="a"), pool(2, DA, SG, prefix="b")]
    assert choose(pools, {DA: 2, AM: 2, SG: 0}) == {"a-0": AM, "a-1": AM, "b-0": DA, "b-1": DA}
    assert choose(pools, {DA: 2, AM: 0, SG: 2}) == {"a-0": DA, "a-1": DA, "b-0": SG, "b-1": SG}


def test_the_search_for_places_has_an_end() -> None:
    places = [Place(f"m{number}", SMALL) for number in range(10)]
    pools = [pool(2, *places, prefix=f"p{number}") for number in range(11)]
    chosen, problems = assign(pools, dict.fromkeys(places, 2))
    assert (len(chosen), len(problems)) == (20, 1)
    assert len(fill(pools, dict.fromkeys(places, 2))) == 20
