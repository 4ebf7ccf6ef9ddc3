"""What became of every trouble when the whole fault table was last run: written by ``test_faults.py``, read by ``reliability.py``."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

FILE = Path(__file__).with_name("outcomes.json")
FRESH = Path(__file__).resolve().parents[2] / ".build" / "outcomes.jsonl"
"""One line for each trouble of each subject, as it was tried last; of several processes at once."""

Outcomes = dict[str, dict[str, dict[str, str]]]
"""By subject, by trouble, by step: success, error, or none where there was nothing to meet."""


def write_down(subject: str, fault: str, came: Mapping[str, str]) -> None:
    FRESH.parent.mkdir(exist_ok=True)
    with FRESH.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps([subject, fault, came]) + "\n")


def read() -> Outcomes:
    found: Outcomes = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def take_up(still: Mapping[tuple[str, str], Collection[str]]) -> Outcomes:
    """What is known with what was tried since, of these steps of subjects and troubles; kept in the file."""
    found = read()
    for line in FRESH.read_text(encoding="utf-8").splitlines() if FRESH.exists() else []:
        subject, fault, came = json.loads(line)
        found.setdefault(subject, {}).setdefault(fault, {}).update(came)
    kept: Outcomes = {}
    for (subject, fault), steps in sorted(still.items()):
        came = {step: word for step, word in sorted(found.get(subject, {}).get(fault, {}).items()) if step in steps}
        if came:
            kept.setdefault(subject, {})[fault] = came
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    FRESH.unlink(missing_ok=True)
    return kept
