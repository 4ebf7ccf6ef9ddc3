"""One of the runs of `make chaos`, ended at a moment and met by faults that the seed decides, and run again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.chaos import CIRCLE, DESTROY, DOWN, FAULTS, INSTALL, UP, Chaos, Trial, differences
from tests.e2e.harness import End

BEGUN = (0.0, 1.0, 31.0, 31.5, 32.0)


def test_a_trial_is_the_same_for_the_same_seed_and_within_the_run() -> None:
    drawn = [Trial.drawn(7, number, UP, BEGUN) for number in range(200)]
    assert drawn == [Trial.drawn(7, number, UP, BEGUN) for number in range(200)]
    assert drawn != [Trial.drawn(8, number, UP, BEGUN) for number in range(200)]
    for trial in drawn:
        begin, end = BEGUN[trial.moment.occurrence - 1], BEGUN[trial.moment.occurrence]
        assert 0 <= trial.moment.delay <= end - begin
    assert set(Counter(trial.moment.end for trial in drawn)) == set(End)
    assert {trial.moment.occurrence for trial in drawn} == {1, 2, 3, 4}
    assert {name for trial in drawn for name, _times, _skip in trial.faults} == set(FAULTS)


def test_each_step_begins_where_the_one_before_it_ends() -> None:
    assert {INSTALL, UP, DOWN, DESTROY} == set(CIRCLE)
    for step, following in zip(CIRCLE, (*CIRCLE[1:], CIRCLE[0]), strict=True):
        assert step.after == following.before


def test_every_difference_is_told() -> None:
    assert list(differences({"a": {"b": 1}}, {"a": {"b": 1}})) == []
    assert list(differences({"a": {"b": 1}, "c": [1]}, {"a": {"b": 2}, "d": []})) == [
        "/a/b: 2, undisturbed 1",
        "/c: None, undisturbed [1]",
        "/d: [], undisturbed None",
    ]


@pytest.mark.e2e
@pytest.mark.long
def test_a_run_that_is_ended_and_started_again_leaves_the_world_as_undisturbed(tmp_path: Path) -> None:
    # Another seed each time would find more, and break the work of whoever did not break it: that is for `make chaos`.
    with Chaos(tmp_path, seed=1, speed=600, say=print) as chaos:
        outcome = chaos.disturbed(0, UP)
        assert not outcome.differences, "\n".join([outcome.row(), *outcome.differences])
