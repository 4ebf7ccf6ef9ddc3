"""The clock, options with their rules, differences, errors reported together."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences, digest
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, together
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import Waiter, WaitTimeout, clock


class Time:
    """A clock that moves only when it is slept on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def ticks(timeout: float, interval: float, work: float = 0) -> list[float]:
    """When the body of the loop begins, if it takes ``work`` seconds each time."""
    time, seen = Time(), []
    for elapsed in clock(timeout, interval, sleep=time.sleep, now=time):
        seen.append(elapsed)
        time.sleep(work)
    return seen


@pytest.mark.parametrize(
    ("timeout", "interval", "work", "expected"),
    [
        (10, 4, 0, [0, 4, 8, 10]),
        (0, 5, 0, [0]),
        (10, 100, 0, [0, 10]),
        (10, 4, 3, [0, 7]),
        (10, 4, 60, [0]),
    ],
)
def test_a_wait_polls_at_once_and_a_last_time_at_the_end(timeout: float, interval: float, work: float, expected: list[float]) -> None:
    assert ticks(timeout, interval, work) == expected


def waiter(time: Time, timeout: float, **more: Any) -> Waiter:
    return Waiter(timeout, 1, sleep=time.sleep, now=time, **more)


def test_a_wait_ends_when_nothing_is_pending() -> None:
    answers = [["a", "b"], ["b"], []]
    time = Time()
    reported: list[list[str]] = []
    waiter(time, 10, report=reported.append).until_nothing_pending(lambda: answers.pop(0), "It")
    assert time.now == 2
    assert reported == [["a", "b"], ["b"], []]


def test_a_timeout_names_what_was_last_pending() -> None:
    with pytest.raises(WaitTimeout, match=r"It was not completed within wait_timeout\. Pending: a; b") as caught:
        waiter(Time(), 3).until_nothing_pending(lambda: ["a", "b"], "It")
    assert caught.value.details == {"waiting": ["a", "b"]}


def test_all_waits_of_a_call_share_its_time() -> None:
    time = Time()
    both = waiter(time, 10)
    both.until_nothing_pending(lambda: [] if time.now >= 8 else ["first"], "It")
    with pytest.raises(WaitTimeout):
        both.until_nothing_pending(lambda: ["second"], "It")
    assert time.now == 10


def test_an_error_of_a_poll_ends_the_wait() -> None:
    def fail() -> list[str]:
        raise CollectionError("failed for good")

    time = Time()
    with pytest.raises(CollectionError, match="failed for good"):
        waiter(time, 10).until_nothing_pending(fail, "It")
    assert time.now == 0


def test_options_bring_their_rules_along() -> None:
    first = Options({"a": {"type": "str"}}, required_one_of=[["a", "b"]])
    second = Options({"b": {"type": "str"}}, mutually_exclusive=[["a", "b"]], required_by={"b": ["c"]})
    merged = first.merge(second, Options({"c": {}})).arguments()
    assert list(merged["argument_spec"]) == ["a", "b", "c"]
    assert merged["required_one_of"] == [["a", "b"]]
    assert merged["mutually_exclusive"] == [["a", "b"]]
    assert merged["required_by"] == {"b": ["c"]}
    with pytest.raises(ValueError, match="given twice: a"):
        first.merge(first)


def test_only_desired_attributes_can_differ() -> None:
    assert differences({"a": 1, "b": 2}, {"a": 1}) == {}
    assert differences({"a": 1}, {"a": 2, "c": None, "d": []}) == {"a": 2, "d": []}


def test_a_digest_shows_that_a_secret_changed_and_nothing_of_it() -> None:
    assert digest(None) == digest("") == ""
    assert digest("one") != digest("two")
    assert digest("one").startswith("3 bytes, sha256 ")


def test_several_problems_are_one_message() -> None:
    assert together("Wrong", ["a"]) == "Wrong: a"
    assert together("Wrong", ["a", "b"]) == "Wrong, 2 problems: (1) a; (2) b"
