"""Malformed answers: whatever the service answers, a module and the inventory plugin end with a result or with one error of one line.

The good answers to each step of a module are recorded and given again with one part of them replaced. That makes 400,000 cases: the suite
takes a few of each step, and the tests marked ``long`` take more. The cases are chosen by a seed, so they are the same in each run;
``MALFORMED_SEED`` chooses others.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests.contract.conftest import Lives
from tests.contract.environment import run_often
from tests.contract.malformed import Recorder, Recording, Replay, Spoil
from tests.contract.programs import last_result
from tests.contract.subjects import SUBJECTS, Life, OfMetal, Subject, Testbed, one_process, well

LONGEST_MESSAGE = 1500
MOST_REQUESTS = 500
SOME, MANY = 6, 100
"""Cases of each step of each subject, in the suite and in its long part."""
SEED = os.environ.get("MALFORMED_SEED", "0")

METAL = [subject for subject in SUBJECTS if subject.service == "metal"]


def steps(subject: Subject) -> list[str]:
    return list(dict.fromkeys(step for _kind, step in subject.meetings))


@contextmanager
def speaking_to(testbed: Testbed, url: str) -> Iterator[None]:
    """Use another address of the API for the modules of this testbed."""
    before = testbed.environment
    testbed.environment = {**before, "METAL_API_URL": url}
    try:
        yield
    finally:
        testbed.environment = before


def recorded(life: Life, testbed: Testbed, step: str) -> Recording:
    life.prepare(step)
    with Recorder(testbed.environment["METAL_API_URL"]).serving() as recorder, speaking_to(testbed, recorder.url):
        result = life.act(step)
    assert not result.get("failed"), result
    life.converged(step)
    recording: Recording = recorder.recording
    return recording


def judge(said: str, token: str) -> str:
    """``success``, or ``error`` with its message. Fails for anything else."""
    assert "Traceback" not in said, said[-3000:]
    assert token not in said
    assert "{" in said, f"no result: {said[-3000:]}"
    result = last_result(said)
    return judge_result(result)


def judge_result(result: Mapping[str, Any]) -> str:
    """``success``, or ``error`` with its message. Fails for a message that no user should read."""
    if not result.get("failed"):
        return "success"
    message = str(result["msg"])
    assert message
    assert message.isprintable(), repr(message)
    assert len(message) < LONGEST_MESSAGE, message
    assert "exception" not in result, result
    return f"error: {message}"


def outcome(verdict: str, *, met: bool) -> str:
    """Return a verdict of ``judge`` with whether the spoilt answer was met."""
    word, _colon, message = verdict.partition(": ")
    return f"{word}{'' if met else ', not met'}{f': {message}' if message else ''}"


def called(life: Life, testbed: Testbed, step: str, replay: Replay, spoils: Sequence[Spoil | None], *, hurry: bool = True) -> Iterator[str]:
    """Return the outcome of each call: as ``judge``, or its error. ``hurry``: calls wait for a second at most."""
    token = testbed.environment["METAL_AUTH_TOKEN"]
    if not isinstance(life, OfMetal):
        for spoil in spoils:
            replay.load([spoil])
            replay.begin(0)
            try:
                yield outcome(judge_result(life.act(step, hurry=hurry)), met=bool(replay.met[0].hits))
            except (AssertionError, pytest.fail.Exception) as problem:
                yield f"wrong: {problem}"
        return
    left = list(spoils)
    while left:
        replay.load(left)
        said = run_often(life.module, life.options(step, hurry=hurry), testbed.environment, replay.address, len(left))
        assert said
        for each, met in zip(said, replay.met, strict=True):
            try:
                assert met.requests < MOST_REQUESTS
                yield outcome(judge(each, token), met=bool(met.hits))
            except AssertionError as problem:
                yield f"wrong: {problem}"
        # The process ends with one that hangs.
        left = left[len(said) :]


AT_ONCE = 100
"""Calls in one process."""


def try_out(life: Life, testbed: Testbed, step: str, recording: Recording, spoils: Sequence[Spoil]) -> tuple[Counter[str], list[str]]:
    """Return the count of each outcome, and all errors."""
    wrong: list[str] = []
    came: Counter[str] = Counter()
    with Replay(recording).serving() as replay, speaking_to(testbed, replay.url):
        # In a hurry a busy computer does not get through all that was recorded.
        assert list(called(life, testbed, step, replay, [None], hurry=False)) == ["success, not met"]
        for start in range(0, len(spoils), AT_ONCE):
            some = spoils[start : start + AT_ONCE]
            for spoil, what in zip(some, called(life, testbed, step, replay, some), strict=True):
                came[what.partition(":")[0]] += 1
                if what.startswith("wrong"):
                    wrong.append(f"{spoil}: {what}")
    return came, wrong


EVERY_SUBJECT = pytest.mark.parametrize("subject", [one_process(subject) for subject in METAL], ids=lambda subject: subject.title)


def assert_answers_are_survived(subject: Subject, lives: Lives, testbed: Testbed, cases: int) -> None:
    life = lives.of(subject)
    if not isinstance(life, OfMetal):
        cases //= 3  # the inventory plugin runs in ansible-inventory, which takes its time to start
    for step in steps(subject):
        recording = recorded(life, testbed, step)
        spoils = list(recording.spoilt())
        chance = random.Random(f"{subject.title} {step} {SEED}")  # noqa: S311 - the same each time
        _came, wrong = try_out(life, testbed, step, recording, chance.sample(spoils, min(cases, len(spoils))))
        assert wrong == []
        # The cluster lock keeps the id of its object on this computer, here perhaps that of a spoilt answer.
        well(life.act(step))


@EVERY_SUBJECT
def test_some_malformed_answers_end_in_a_result_or_one_error(subject: Subject, lives: Lives, testbed: Testbed) -> None:
    assert_answers_are_survived(subject, lives, testbed, SOME)


@pytest.mark.long
@EVERY_SUBJECT
def test_many_malformed_answers_end_in_a_result_or_one_error(subject: Subject, lives: Lives, testbed: Testbed) -> None:
    assert_answers_are_survived(subject, lives, testbed, MANY)
