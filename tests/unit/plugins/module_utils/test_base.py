"""When a wait polls and ends, and what a digest shows of a secret."""

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import digest
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


def test_all_waits_of_a_call_share_its_time() -> None:
    time = Time()
    both = Waiter(10, 1, sleep=time.sleep, now=time)
    both.until_nothing_pending(lambda: [] if time.now >= 8 else ["first"], "It")
    with pytest.raises(WaitTimeout):
        both.until_nothing_pending(lambda: ["second"], "It")
    assert time.now == 10


def test_a_digest_shows_that_a_secret_changed_and_nothing_of_it() -> None:
    assert digest(None) == digest("") == ""
    assert digest("one") != digest("two")
    assert digest("one").startswith("3 bytes, sha256 ")
