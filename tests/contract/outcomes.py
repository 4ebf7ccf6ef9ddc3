"""The outcome of every fault in the last run of the whole fault table: written by ``test_faults.py``, read by ``reliability.py``.

``outcomes.json`` has one line for each fault: for each subject a letter for each step, in the order of ``reliability.everything``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

FILE = Path(__file__).with_name("outcomes.json")
FRESH = Path(__file__).resolve().parents[2] / ".build" / "outcomes.jsonl"
"""A line for each fault of each subject, as it was tried last; several processes append to it."""

LETTERS = {"success": "s", "error": "e", "none": "n"}
WORDS = {letter: word for word, letter in LETTERS.items()}
UNTRIED = "-"

Outcomes = dict[str, dict[str, dict[str, str]]]
"""By subject, by fault, by step: success, error, or none where the fault was not met."""
Steps = Mapping[tuple[str, str], Sequence[str]]
"""The steps of each subject and fault."""


def write_down(subject: str, fault: str, outcome: Mapping[str, str]) -> None:
    FRESH.parent.mkdir(exist_ok=True)
    with FRESH.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps([subject, fault, outcome]) + "\n")


def read(steps: Steps) -> Outcomes:
    """Return the recorded outcomes. Those of a subject whose steps have changed since are left out."""
    recorded: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    found: Outcomes = {}
    for (subject, fault), names in steps.items():
        letters = recorded.get(fault, {}).get(subject, "")
        if len(letters) == len(names):
            tried = {name: WORDS[letter] for name, letter in zip(names, letters, strict=True) if letter != UNTRIED}
            found.setdefault(subject, {})[fault] = tried
    return found


def take_up(steps: Steps) -> None:
    """Add what was tried since to the recorded outcomes."""
    found = read(steps)
    for line in FRESH.read_text(encoding="utf-8").splitlines() if FRESH.exists() else []:
        subject, fault, outcome = json.loads(line)
        found.setdefault(subject, {}).setdefault(fault, {}).update(outcome)
    recorded: dict[str, dict[str, str]] = {}
    for (subject, fault), names in sorted(steps.items()):
        outcome = found.get(subject, {}).get(fault, {})
        if outcome:
            recorded.setdefault(fault, {})[subject] = "".join(LETTERS[outcome[name]] if name in outcome else UNTRIED for name in names)
    lines = [f"{json.dumps(fault)}: {json.dumps(recorded[fault])}" for fault in sorted(recorded)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    FRESH.unlink(missing_ok=True)
