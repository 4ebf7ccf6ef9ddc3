"""What ``tests.e2e.chaos`` draws, compares and writes to docs/generated/resume.md. Its runs in short form are in test_resume.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e import resume
from tests.e2e.chaos import (
    CIRCLE,
    DESTROY,
    DOWN,
    ENDS,
    FAULTS,
    GIVE_UP,
    INSTALL,
    TAKE_BACK,
    UP,
    Course,
    Phase,
    Trial,
    differences,
    phases,
)
from tests.e2e.harness import Heading, Run

PHASES = (Phase("validate", 1, 0.0, 4.0), Phase("dns", 1, 4.0, 0.5), Phase("provision", 1, 4.5, 20.0), Phase("dns", 2, 24.5, 0.5))
COURSE = Course(PHASES, requests=40)


def test_a_trial_is_the_same_for_the_same_seed() -> None:
    drawn = [Trial.drawn(7, number, UP, COURSE) for number in range(200)]
    assert drawn == [Trial.drawn(7, number, UP, COURSE) for number in range(200)]
    assert drawn != [Trial.drawn(8, number, UP, COURSE) for number in range(200)]
    moments = [moment for trial in drawn for moment in trial.moments]
    lasts = {(phase.role, phase.occurrence): phase.lasts for phase in PHASES}
    assert all(0 <= moment.delay <= lasts[moment.role, moment.occurrence] for moment in moments)
    assert {(moment.role, moment.occurrence) for moment in moments} == set(lasts)
    assert set(Counter(moment.end for moment in moments)) == set(ENDS)
    assert {len(trial.moments) for trial in drawn} == {1, 2}
    assert {name for trial in drawn for name, _times, _skip in trial.faults} == set(FAULTS)
    assert {skip for trial in drawn for name, _times, skip in trial.faults if name.startswith("order")} == set(range(5))
    assert max(skip for trial in drawn for name, _times, skip in trial.faults if name.startswith("reads")) == COURSE.requests


def test_phases_are_the_roles_in_order() -> None:
    headings = [("", 0.1), ("validate", 0.5), ("validate", 1.0), ("", 2.0), ("dns", 2.5), ("provision", 3.0), ("dns", 9.0)]
    run = Run(0, "", 10.0, [], tuple(Heading(role, "a task", after) for role, after in headings))
    assert phases(run) == (
        Phase("validate", 1, 0.5, 2.0),
        Phase("dns", 1, 2.5, 0.5),
        Phase("provision", 1, 3.0, 6.0),
        Phase("dns", 2, 9.0, 1.0),
    )
    assert [run.phase(after) for after in (0.2, 2.2, None)] == ["start", "validate", "dns"]


def test_each_step_starts_at_the_end_of_the_previous_one() -> None:
    assert {INSTALL, UP, DOWN, TAKE_BACK, DESTROY, GIVE_UP} == set(CIRCLE)
    for step, following in zip(CIRCLE, (*CIRCLE[1:], CIRCLE[0]), strict=True):
        assert step.after == following.before


def test_every_difference_is_reported() -> None:
    assert list(differences({"a": {"b": 1}}, {"a": {"b": 1}})) == []
    assert list(differences({"a": {"b": 1}, "c": [1]}, {"a": {"b": 2}, "d": []})) == [
        "/a/b: 2, undisturbed 1",
        "/c: None, undisturbed [1]",
        "/d: [], undisturbed None",
    ]


# --- the page ------------------------------------------------------------------------------------------------------------------


def test_the_page_is_generated_from_the_recorded_runs() -> None:
    assert resume.PAGE.read_text(encoding="utf-8") == resume.page(resume.read()), "run: python -m tests.e2e.resume"


def test_the_page_has_every_step_and_a_column_for_every_end_and_fault() -> None:
    assert [step.title for step in CIRCLE] == list(resume.STEPS)
    for name in (*ENDS, *FAULTS):
        assert sum(fits(name) for fits in resume.COLUMNS.values()) == 1, name


def test_the_page_lists_differences() -> None:
    good: resume.Record = {"seed": 1, "number": 0, "step": "install", "ends": [["dns", "Ctrl-C"]], "met": [], "starts": 2, "same": True}
    bad: resume.Record = {**good, "number": 5, "met": [["dns", "any: 429"], ["dns", "any: 429"]], "starts": 3, "same": False}
    result = resume.page([good, bad])
    assert "| dns | - | - | 1 of 2 | - | 0 of 1 | - | - | - | - |" in result
    assert "| all | 2 | 50 | 1 | 2 | 2 | 1 x 2, 1 x 3 |" in result


def test_a_repeated_run_is_reported_with_its_last_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "FILE", tmp_path / "resume.json")
    monkeypatch.setattr(resume, "FRESH", tmp_path / "build" / "resume.jsonl")
    first: resume.Record = {"seed": 1, "number": 5, "step": "destroy", "ends": [], "met": [], "starts": 1, "same": False}
    other: resume.Record = {**first, "number": 2, "same": True}
    again: resume.Record = {**first, "same": True}
    for record in (first, other):
        resume.write_down(record)
    resume.take_up()
    resume.write_down(again)
    resume.take_up()
    resume.take_up()
    assert resume.read() == [other, again]


def test_the_page_has_every_phase_of_the_runs() -> None:
    records = resume.read()
    assert len({(record["seed"], record["number"]) for record in records}) == len(records)
    assert {phase for record in records for phase, _what in record["ends"] + record["met"]} <= set(resume.PHASES)
    assert {record["step"] for record in records} <= set(resume.STEPS)
