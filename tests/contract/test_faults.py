"""The fault table: every module and the inventory plugin with every fault of ``faults.py``.

The ordinary suite has a part of it in which every subject meets a fault of every group, once or permanently in turn, and every fault is met
both ways; the whole is marked ``long``.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.ansible_doc import programs
from tests.contract.conftest import Lives
from tests.contract.faults import FAULTS, GROUPS, LATE, Fault, Kind, Meeting, Service, Verdict, Verdicts
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
            result = life.act(step, fault)
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
    return str(getattr(value, "title", None) or getattr(value, "name", None) or "-".join(value))


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize(("subject", "fault"), [one_process(*each) for each in WHOLE], ids=named)
def test_every_subject_meets_every_fault(subject: Subject, fault: Fault, lives: Lives) -> None:
    try_out(lives, subject, fault, subject.meetings)


def part() -> Iterator[tuple[Subject, Fault, Meeting]]:
    """Yield every subject with one fault of every group, rotating through the faults and the steps of its lifecycle."""
    turns: Counter[str] = Counter()
    for turn, subject in enumerate(SUBJECTS):
        for further, group in enumerate(GROUPS):
            faults = [fault for fault in FAULTS if fault.group == group and cases(fault, subject)]
            meetings = [each for each in subject.meetings if any(fault.verdicts(subject.service).of(each[0]) for fault in faults)]  # type: ignore[union-attr]
            meeting = meetings[(turn + further) % len(meetings)]
            fitting = [fault for fault in faults if fault.verdicts(subject.service).of(meeting[0])]  # type: ignore[union-attr]
            yield subject, fitting[turns[group] % len(fitting)], meeting
            turns[group] += 1


def with_durations() -> Iterator[tuple[Subject, Fault, Meeting, tuple[bool, ...]]]:
    """Yield the part: once or permanently, whichever the subject and the fault have had less; both if only one subject meets it."""
    entries = list(part())
    often = Counter(fault.name for _subject, fault, _meeting in entries)
    had: Counter[tuple[str, bool]] = Counter()
    for subject, fault, meeting in entries:
        once, permanently = (2 * had[subject.title, each] + had[fault.name, each] for each in (False, True))
        durations = (False, True) if often[fault.name] == 1 else (once > permanently,)
        for each in durations:
            had[subject.title, each] += 1
            had[fault.name, each] += 1
        yield subject, fault, meeting, durations


PART = list(with_durations())


def named_part(value: Any) -> str:
    if isinstance(value, tuple) and isinstance(value[0], bool):
        return "-".join("always" if always else "once" for always in value)
    return named(value)


@pytest.mark.parametrize(("subject", "fault", "meeting", "durations"), [one_process(*each) for each in PART], ids=named_part)
def test_every_subject_meets_a_fault_of_every_group(
    subject: Subject, fault: Fault, meeting: Meeting, durations: tuple[bool, ...], lives: Lives
) -> None:
    try_out(lives, subject, fault, (meeting,), durations)


def test_a_timeout_after_a_malformed_answer_names_the_request(lives: Lives) -> None:
    """A Node without conditions is not an error but a wait, whose end ``node_ownership`` reports in its own words."""
    subject = next(each for each in SUBJECTS if each.module == "node_ownership")
    fault = next(each for each in FAULTS if each.name == "without-conditions")
    life = lives.of(subject)
    life.prepare("create")
    life.front.forget()
    life.front.meet({**life.requests["read"], **fault.met, "times": None, "skip": 0})
    try:
        result = life.act("create", fault, hurry=True)
    finally:
        life.front.well()
    assert judge(result, "error", fault, life.front.journal()) == "error"


def test_every_module_is_a_subject() -> None:
    assert {subject.module for subject in SUBJECTS} | set(ELSEWHERE) == set(programs()) | {INVENTORY}
    assert all(f'run("{module}"' in Path(__file__).with_name(file).read_text(encoding="utf-8") for module, file in ELSEWHERE.items())
    assert [path.stem for path in (ROOT / "plugins" / "inventory").glob("[a-z]*.py")] == ["metal"]


def test_the_ordinary_suite_has_every_fault_of_the_metal_api() -> None:
    for always in (False, True):
        met = {fault.name for _subject, fault, _meeting, durations in PART if always in durations}
        assert [fault.name for fault in FAULTS if isinstance(fault.metal, Verdicts) and fault.name not in met] == []
        assert {subject.title for subject, _fault, _meeting, durations in PART if always in durations} == {each.title for each in SUBJECTS}


WORDS: Mapping[str, Verdict] = {"success": "success", "one clear error": "error", "success or one clear error": "either"}
KINDS: Mapping[Service, Mapping[str, tuple[Kind, ...]]] = {
    "metal": {"while reading": ("read", "ask"), "creating": ("create",), "changing": ("change",), "deleting": ("delete",)},
    "cluster": {
        "while reading": ("read",),
        "following requests": ("follow",),
        "running a command that reads": ("run",),
        "removing an etcd member": ("remove",),
        "writing": ("change", "delete"),
    },
}
"""The columns of the tables in docs/reliability.md."""


@pytest.mark.parametrize(("service", "heading"), [("metal", "## The Metal API"), ("cluster", "## The cluster's API")])
def test_the_page_says_what_is_tested(service: Service, heading: str) -> None:
    section = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").split(f"\n{heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    heads, said = rows[0], {re.sub(r" \(\d\)$", "", row[0]): row[1:] for row in rows[2:]}
    assert said.keys() == {fault.title for fault in FAULTS if isinstance(fault.verdicts(service), Verdicts)}
    for fault in FAULTS:
        verdicts = fault.verdicts(service)
        if not isinstance(verdicts, Verdicts):
            assert f"\n- {fault.title}: {verdicts}." in section
            continue
        for head, cell in zip(heads[1:], said[fault.title], strict=True):
            always = head == "permanently"
            kinds = [kind for each in KINDS[service].values() for kind in each] if always else KINDS[service][head]
            allowed = {expected(fault, verdicts, kind, always=always) for kind in kinds}
            allowed |= {"either"} if {"success", "error"} <= allowed else set()
            # Of the modules that may meet it all may have one of the outcomes, or none may meet it.
            assert cell == "-" or WORDS[cell] in allowed or "either" in allowed, f"{fault.title}, {head}: the test allows {allowed}"
