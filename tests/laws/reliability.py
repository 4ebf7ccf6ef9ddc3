"""Writes docs/reliability.md from the fault table and what became of it: ``python -m tests.laws.reliability``.

Takes up what runs of the whole table (``pytest -m long tests/laws``) have written down since, of one module or of all.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from tests.laws import outcomes
from tests.laws.faults import FAULTS, Fault, Kind, Service, Verdict, Verdicts
from tests.laws.subjects import SUBJECTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"

WORDS: dict[Verdict, str] = {"success": "success", "error": "one clear error", "either": "success or one clear error"}
COLUMNS: dict[Service, list[tuple[str, tuple[Kind, ...]]]] = {
    "metal": [("while reading", ("read", "ask")), ("creating", ("create",)), ("changing", ("change",)), ("deleting", ("delete",))],
    "cluster": [("while reading", ("read",)), ("following requests", ("follow",)), ("approving", ("change",))],
}

HEAD = """\
# What goes wrong on the way, and what becomes of it

<!-- Made by `python -m tests.laws.reliability` from tests/laws/faults.py, which tests/laws/test_faults.py holds, and from what became of
     each trouble when it was last tried, tests/laws/outcomes.json. -->

Every module and the inventory plugin are to meet every trouble of these tables: once, and as long as it lasts, in every step of the life
of what they look after. How much of that was tried by now is told at the end. In each case

- it ends in success, or in one error of one line that says what was attempted, what was answered, and the request's id (as far as there was
  an answer);
- there is no traceback, and the token is in no message;
- nothing is ever ordered twice, nothing is left over, and no stranger is let in;
- it ends within its limits (`metal_api_timeout` or `api_timeout` for a silent call, `metal_api_retries`, `wait_timeout`) and does not
  besiege the service meanwhile;
- what it changed it says, also when the answer was lost;
- the same task run once more, without the trouble, brings about exactly what it does without any, and a third run is quiet.

"Success or one clear error" depends on what the module needs of the answer; how often it was which is said behind it, as far as it was
tried. A dash says that there is no such case, or that nobody who was tried had anything to meet.
"""

TAIL = """
How it is done: calls the service refused for their number (429) are repeated after the time it asks for; reads and deletes are repeated
after faults of the service, lost connections and unreadable answers; of every other write whose answer was lost the effect is looked up
before it is made again. The pauses grow and are spread, so that many callers do not come back at once. Where the service counts calls
(`X-RateLimit-Remaining`, `X-RateLimit-Reset`), they are spread over what is left of its window before it refuses one. The modules of the
cluster wait (`wait`) for an API that does not answer as for anything else that is still missing; with `wait: false` it is an error at once.

`dns_records` speaks to neither: what it says of a DNS server that refuses, is silent or answers with half a message is in
`tests/laws/test_zone.py`.
"""


def page() -> str:
    found = outcomes.read()
    parts = [HEAD, "\n## The Metal API\n\n", _table("metal", found), "\n## The cluster's API\n\n", _table("cluster", found)]
    return "".join([*parts, "\n## Who has met them\n\n", _subjects(found), TAIL])


def _table(service: Service, found: outcomes.Outcomes) -> str:
    columns = COLUMNS[service]
    lines = [
        f"| trouble | {' | '.join(title for title, _kinds in columns)} | when it does not pass |\n",
        "|---" * (len(columns) + 2) + "|\n",
    ]
    notes: list[str] = []
    none = []
    for fault in FAULTS:
        verdicts = fault.verdicts(service)
        if not isinstance(verdicts, Verdicts):
            none.append(f"- {fault.told}: {verdicts}.\n")
            continue
        mark = ""
        if reason := fault.reason(service):
            if reason not in notes:
                notes.append(reason)
            mark = f" ({notes.index(reason) + 1})"
        cells = [_cell(verdicts.of(kinds[0]), _came(found, service, fault, kinds, always=False)) for _title, kinds in columns]
        every = tuple(kind for _title, kinds in columns for kind in kinds)
        cells.append(_cell(verdicts.always, _came(found, service, fault, every, always=True)))
        lines.append(f"| {fault.told}{mark} | {' | '.join(cells)} |\n")
    told = "".join(f"{number}. {note[0].upper()}{note[1:]}.\n" for number, note in enumerate(notes, 1))
    return "".join(lines) + (f"\n{told}" if told else "") + "\nNo such case:\n\n" + "".join(none)


def _came(found: outcomes.Outcomes, service: Service, fault: Fault, kinds: Collection[str], *, always: bool) -> Counter[str]:
    """How often it came to what, over all subjects."""
    return Counter(
        came
        for subject in SUBJECTS
        if subject.service == service
        for meeting, came in found.get(subject.title, {}).get(fault.name, {}).items()
        if meeting.split(" ")[0] in kinds and meeting.endswith(" always") == always
    )


def _cell(verdict: Verdict | None, came: Counter[str]) -> str:
    met = {name: count for name, count in sorted(came.items(), reverse=True) if name != "none"}
    if verdict is None or (came and not met):
        return "-"
    if not met:
        return WORDS[verdict]
    if len(met) == 1:
        return WORDS["success" if "success" in met else "error"]
    return " or ".join(f"{WORDS['success' if name == 'success' else 'error']} ({count})" for name, count in met.items())


def _subjects(found: outcomes.Outcomes) -> str:
    """How much of the table each has been through; the ordinary suite takes a part of it, the whole takes its time."""
    lines = ["| who | tried | of | success | one clear error | nothing to meet |\n", "|---|---|---|---|---|---|\n"]
    possible = everything()
    for subject in SUBJECTS:
        came = Counter(word for faults in found.get(subject.title, {}).values() for word in faults.values())
        whole = sum(len(steps) for (title, _fault), steps in possible.items() if title == subject.title)
        lines.append(f"| `{subject.title}` | {came.total()} | {whole} | {came['success']} | {came['error']} | {came['none']} |\n")
    return "".join(lines)


def everything() -> dict[tuple[str, str], list[str]]:
    """Every step in which a subject can meet a trouble."""
    return {
        (subject.title, fault.name): [" ".join((*meeting, *more)) for meeting in subject.meetings for more in ((), ("always",))]
        for subject in SUBJECTS
        for fault in FAULTS
        if isinstance(fault.verdicts(subject.service), Verdicts)
    }


if __name__ == "__main__":
    outcomes.take_up(everything())
    PAGE.write_text(page(), encoding="utf-8")
