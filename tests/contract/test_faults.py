"""The fault table: every module and the inventory plugin with every fault of ``faults.py``.

The ordinary suite has a sample: every subject meets a lost answer, a 429 or 5xx, and another fault, and subjects of two types meet every
fault. The whole is marked ``long``.
"""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.ansible_doc import programs
from tests.contract.conftest import Lives
from tests.contract.faults import FAULTS, LATE, Fault, Group, Kind, Meeting, Verdict, Verdicts
from tests.contract.subjects import ELSEWHERE, INVENTORY, SUBJECTS, Life, Subject, one_process

ROOT = Path(__file__).resolve().parents[2]

ATTEMPTED = re.compile(r"\b(Could not|Cannot) [a-z]+ \S|was not completed within wait_timeout")
LONGEST_MESSAGE = 1500
MOST_REQUESTS = 500
"""Requests of one call of a module with any fault: it must not overload a service that fails."""


def expected(fault: Fault, verdicts: Verdicts, kind: Kind, *, always: bool) -> Verdict | None:
    verdict = verdicts.of(kind)
    if verdict is None or not always or (kind == "ask" and verdicts.ask):
        return verdict
    if kind == "follow" and verdicts.always == "error" and verdict == "success":
        # What cannot be followed is listed instead.
        return "success"
    return verdicts.always


def judge(result: Mapping[str, Any], verdict: Verdict, fault: Fault, requests: list[dict[str, Any]]) -> str:
    """Return the outcome of a call. Fails when it differs from the table."""
    message = str(result.get("msg") or "")
    assert len(requests) < MOST_REQUESTS, f"{len(requests)} requests"
    if not result.get("failed"):
        assert verdict != "error", f"{fault.name}: no error: {result}"
        return "success"
    assert verdict != "success", f"{fault.name}: {message}"
    assert ATTEMPTED.search(message), f"it does not say what was attempted: {message}"
    assert "\n" not in message, message
    assert len(message) < LONGEST_MESSAGE, message
    # Without an answer there is no id. A malformed answer is an answer: a wait for what it lacks ends at its timeout.
    silent = "cut" in fault.met or "delay" in fault.met or (fault.rewrites and "was not completed within wait_timeout" in message)
    returned = any(each["request_id"] for each in requests if each["fault"] and each["status"] and not silent)
    # Mostly the id of the faulty request; if a later request failed because of it, the id of that one.
    assert not returned or any(each["request_id"] in message for each in requests if each["request_id"]), f"no request id in: {message}"
    return "error"


def meet(life: Life, subject: Subject, fault: Fault, meeting: Meeting, *, always: bool) -> None:
    """Inject the fault in one step of a lifecycle and verify its outcome."""
    verdicts = fault.verdicts(subject.service)
    assert isinstance(verdicts, Verdicts)
    kind, step = meeting
    verdict = expected(fault, verdicts, kind, always=always)
    if verdict is None:
        return
    life.prepare(step)
    before = life.state()
    for skip in (1, 0) if fault.second and not always else (0,):
        life.front.forget()
        life.front.meet({**life.requests[kind], **fault.met, "times": None if always else 1, "skip": skip})
        try:
            # The first request of a module that waits for a cluster is a read: it meets the fault before any timeout.
            result = life.act(step, fault, hurry=always and kind == "read" and verdict == "error" and subject.service == "cluster")
            met = life.front.hits() > 0
            requests = life.front.journal()
        finally:
            life.front.well()
        if met or not skip:
            break
        life.prepare(step)
    if not met:
        assert fault.rewrites, f"no {kind} in {step} met {fault.name}"
        assert not result.get("failed"), result
        return
    came = judge(result, verdict, fault, requests)
    if fault.name == "hang" and kind not in ("read", "ask", "follow"):
        # Let requests arrive whose answer was not waited for.
        time.sleep(LATE)
    after = life.state()
    assert result.get("changed") or came == "error" or before == after, "something changed, and it is not said"
    life.converged(step)


def try_out(
    lives: Lives, subject: Subject, fault: Fault, meetings: tuple[Meeting, ...], durations: tuple[bool, ...] = (False, True)
) -> None:
    """Inject the fault once (False) and permanently (True) in these steps of the lifecycle."""
    life = lives.of(subject)
    try:
        for always in durations:
            for meeting in meetings:
                meet(life, subject, fault, meeting, always=always)
    except BaseException:
        # Whatever state it is in: the next begins anew.
        lives.end()
        raise


def cases(fault: Fault, subject: Subject) -> bool:
    return isinstance(fault.verdicts(subject.service), Verdicts)


WHOLE = [(subject, fault) for subject in SUBJECTS for fault in FAULTS if cases(fault, subject)]


def named(value: Any) -> str:
    if isinstance(value, bool):
        return "always" if value else "once"
    return str(getattr(value, "title", None) or getattr(value, "name", None) or "-".join(value))


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize(("subject", "fault"), [one_process(*each) for each in WHOLE], ids=named)
def test_every_subject_meets_every_fault(subject: Subject, fault: Fault, lives: Lives) -> None:
    try_out(lives, subject, fault, subject.meetings)


GROUPS: tuple[Group, ...] = get_args(Group)


def type_of(subject: Subject) -> tuple[str, bool]:
    """Return the service of a subject, and whether it changes something."""
    return subject.service, any(kind not in ("read", "ask", "follow", "run") for kind, _step in subject.meetings)


def meetings_of(subject: Subject, fault: Fault) -> list[Meeting]:
    verdicts = fault.verdicts(subject.service)
    return [each for each in subject.meetings if verdicts.of(each[0])] if isinstance(verdicts, Verdicts) else []


def sample() -> list[tuple[Subject, Fault, Meeting, bool]]:
    """Return a part of the whole: every subject with a fault of each group, every fault with two types of subjects, once and permanently.

    The fault that the fewest subjects have met is next, in the next step of the subject's lifecycle.
    """
    chosen: list[tuple[Subject, Fault, Meeting, bool]] = []

    def met(fault: Fault) -> list[Subject]:
        return [each[0] for each in chosen if each[1] is fault]

    def faults_of(subject: Subject) -> int:
        return sum(each[0] is subject for each in chosen)

    def add(subject: Subject, faults: list[Fault]) -> None:
        fault = min(faults, key=lambda each: len(met(each)))
        meetings = meetings_of(subject, fault)
        turn = SUBJECTS.index(subject) + faults_of(subject)
        chosen.append((subject, fault, meetings[turn % len(meetings)], bool(len(met(fault)) % 2)))

    for group in GROUPS:
        for subject in SUBJECTS:
            add(subject, [fault for fault in FAULTS if fault.group == group and meetings_of(subject, fault)])
    for fault in FAULTS:
        while len(types := {type_of(subject) for subject in met(fault)}) < 2:
            add(min((each for each in SUBJECTS if type_of(each) not in types and meetings_of(each, fault)), key=faults_of), [fault])
    return chosen


SAMPLE = sample()


@pytest.mark.parametrize(("subject", "fault", "meeting", "always"), [one_process(*each) for each in SAMPLE], ids=named)
def test_every_subject_meets_some_faults(subject: Subject, fault: Fault, meeting: Meeting, always: bool, lives: Lives) -> None:
    try_out(lives, subject, fault, (meeting,), (always,))


def test_the_sample_has_every_fault_and_every_subject() -> None:
    for fault in FAULTS:
        assert len({type_of(subject) for subject, met, *_more in SAMPLE if met is fault}) >= 2, fault.name
    for subject in SUBJECTS:
        assert {fault.group for each, fault, *_more in SAMPLE if each is subject} == set(GROUPS), subject.title


def test_every_module_is_a_subject() -> None:
    assert {subject.module for subject in SUBJECTS} | set(ELSEWHERE) == set(programs()) | {INVENTORY}
    assert all(f'run("{module}"' in (Path(__file__).parent / file).read_text(encoding="utf-8") for module, file in ELSEWHERE.items())
    assert [path.stem for path in (ROOT / "plugins" / "inventory").glob("[a-z]*.py")] == ["metal"]
