"""The protocol of the cluster lock, tried in all interleavings: two and three runs that may be killed at every step.

The model is small and knows only what the real thing can rely on:

- A list shows what was created and not deleted before it.
- A request that was sent has its effect at some time before it is over, also when its run is killed meanwhile.
- A lock, of a run that was killed or one that has expired, is taken over only when nothing that its run had sent can arrive any more.

The decision is the real one (``decide``).

Each run wants one device of a name: once it holds the lock it lists the devices, and creates one if there is none. Never may there be two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.record import Decision, decide

Runs = frozenset[str]


@dataclass(frozen=True)
class Run:
    """``at``: what it does next. ``sent``: what it has sent and what has had no effect yet."""

    name: str
    at: str = "list"
    sent: Runs = frozenset()
    held: bool = False
    """Whether it believes that it holds the lock."""
    sees_device: bool = False
    killed: bool = False
    tries: int = 0
    """So often it begins anew after it retreated: without a bound the model would have no end."""

    def sends(self, request: str, then: str) -> Run:
        return replace(self, at=then, sent=self.sent | {request})


@dataclass(frozen=True)
class World:
    """``locks``: the runs that have a lock object. ``devices``: how many there are of the one name. ``kills``: so many are left."""

    runs: tuple[Run, ...]
    locks: Runs = frozenset()
    expired: Runs = frozenset()
    devices: int = 0
    kills: int = 0

    def put(self, number: int, run: Run, **changes: object) -> World:
        runs = (*self.runs[:number], run, *self.runs[number + 1 :])
        return replace(self, runs=runs, **changes)  # type: ignore[arg-type]  # fields by name


def steps(world: World, rules: frozenset[str]) -> Iterator[World]:
    """Every world that may come next. ``rules``: those that hold, so that a test can leave one out."""
    for number, run in enumerate(world.runs):
        yield from _arrives(world, number, run)
        if run.killed:
            continue
        if world.kills:
            yield replace(world.put(number, replace(run, killed=True)), kills=world.kills - 1)
        yield from _acts(world, number, run, rules)
    yield from _time_passes(world, rules)


def _arrives(world: World, number: int, run: Run) -> Iterator[World]:
    """A request that was sent has its effect: of a run that lives or was killed."""
    for request in run.sent:
        done = replace(run, sent=run.sent - {request})
        if request == "create lock":
            yield world.put(number, done, locks=world.locks | {run.name}, expired=world.expired - {run.name})
        elif request == "delete lock":
            yield world.put(number, done, locks=world.locks - {run.name})
        elif request == "create device":
            yield world.put(number, done, devices=world.devices + 1)


def _acts(world: World, number: int, run: Run, rules: frozenset[str]) -> Iterator[World]:
    if run.at == "list":
        decision = decide(run.name, world.locks - world.expired)
        if decision is Decision.CREATE:
            yield world.put(number, run.sends("create lock", "wait for the answer"))
        elif decision is Decision.HELD:
            yield world.put(number, replace(run, at="read", held=True))
        elif decision in (Decision.STAY, Decision.RETREAT):
            # Who is to stay may wait, which changes nothing, or lose its patience.
            yield world.put(number, run.sends("delete lock", "wait for the end"))
        # Blocked: it waits, or gives up for good, which changes nothing either.
    elif run.at == "wait for the answer" and not run.sent:
        # Without the second list it would take what it has created for the lock.
        then = replace(run, at="list") if "list again" in rules else replace(run, at="read", held=True)
        yield world.put(number, then)
    elif run.at == "wait for the end" and not run.sent and run.tries:
        yield world.put(number, replace(run, at="list", tries=run.tries - 1))
    elif run.at == "read":
        yield world.put(number, replace(run, at="check", sees_device=world.devices > 0))
    elif run.at == "check":
        good = run.name in world.locks and run.name not in world.expired
        if not good and "check" in rules:
            yield world.put(number, replace(run, at="list", held=False, sees_device=False))
        elif run.sees_device:
            yield world.put(number, run.sends("delete lock", "over"))
        else:
            yield world.put(number, run.sends("create device", "written"))
    elif run.at == "written" and not run.sent:
        yield world.put(number, run.sends("delete lock", "over"))


def _time_passes(world: World, rules: frozenset[str]) -> Iterator[World]:
    """Locks expire, and those of runs that were killed are deleted by the run that finds them."""
    for run in world.runs:
        unchanged = not run.sent or "wait" not in rules
        if run.name in world.locks and run.name not in world.expired and unchanged:
            # A holder sends nothing that would not be over when its lock expires.
            yield replace(world, expired=world.expired | {run.name})
        if run.name in world.locks and unchanged and (run.killed or run.name in world.expired):
            yield replace(world, locks=world.locks - {run.name})


RULES = frozenset({"list again", "check", "wait"})


@cache
def explore(runs: int, kills: int, tries: int, rules: frozenset[str] = RULES) -> tuple[set[World], World | None]:
    """All worlds that can come about, and one in which a device was bought twice."""
    first = World(tuple(Run(name, tries=tries) for name in "abc"[:runs]), kills=kills)
    seen, pending = {first}, [first]
    while pending:
        world = pending.pop()
        for following in steps(world, rules):
            if following in seen:
                continue
            if following.devices > 1:
                return seen, following
            seen.add(following)
            pending.append(following)
    return seen, None


@pytest.mark.parametrize(("runs", "kills", "tries"), [(2, 0, 2), (2, 1, 2), (2, 2, 2), (3, 0, 1), (3, 1, 0)])
def test_no_interleaving_orders_a_device_twice(runs: int, kills: int, tries: int) -> None:
    seen, twice = explore(runs, kills, tries)
    assert twice is None
    assert len(seen) > 100 * runs, "the model does something"
    assert any(world.devices for world in seen), "one run gets the lock"
    ended = [world for world in seen if all(run.at == "over" and not run.sent for run in world.runs)]
    assert ended, "all can come to their end"
    assert all(world.devices == 1 for world in ended)


def test_no_interleaving_gives_the_lock_to_two_runs() -> None:
    seen, _twice = explore(3, 1, 0)
    for world in seen:
        # Who believes that it holds the lock finds out at the next check when it was lost: what counts is who would pass that check.
        holders = [
            run.name
            for run in world.runs
            if run.held and not run.killed and run.at in ("read", "check", "written") and run.name in world.locks - world.expired
        ]
        assert len(holders) <= 1


@pytest.mark.parametrize("rule", sorted(RULES))
def test_without_any_one_of_the_rules_a_device_is_ordered_twice(rule: str) -> None:
    """The model is able to find it: each rule is there for a reason."""
    _seen, twice = explore(2, 1, 1, RULES - {rule})
    assert twice is not None


@pytest.mark.parametrize("names", list(product("abc", repeat=2)))
def test_one_of_two_runs_with_lock_objects_goes_on(names: tuple[str, str]) -> None:
    one, other = names
    runs = [one, other]
    decisions = {decide(one, runs), decide(other, runs)}
    assert decisions == ({Decision.HELD} if one == other else {Decision.STAY, Decision.RETREAT})


def test_a_run_creates_a_lock_object_only_if_none_exists() -> None:
    assert decide("a", []) is Decision.CREATE
    assert decide("a", ["b"]) is Decision.BLOCKED
    assert decide("a", ["b", "c"]) is Decision.BLOCKED
    assert decide("a", ["a", "a"]) is Decision.HELD
    assert decide("a", ["c", "b", "a"]) is Decision.STAY
    assert decide("c", ["c", "b", "a"]) is Decision.RETREAT
