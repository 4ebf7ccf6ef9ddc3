"""Writes docs/reliability.md from the table that ``test_faults.py`` holds: ``python -m tests.laws.reliability``."""

from __future__ import annotations

from pathlib import Path

from tests.laws.faults import FAULTS, Verdict

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"

WORDS: dict[Verdict | None, str] = {"success": "success", "error": "one clear error", "either": "success or one clear error", None: "-"}

HEAD = """\
# What goes wrong on the way, and what becomes of it

<!-- Made from tests/laws/faults.py by `python -m tests.laws.reliability`; tests/laws/test_faults.py holds every line of it. -->

Every module that speaks the Metal API, and the inventory plugin, meets every trouble of this table in the sandbox: once while it reads,
once while it creates, changes and deletes, and where the table says so as long as it lasts. In each case

- it ends in success, or in one error of one line that says what was attempted, what the service answered, and the request's id (as far as
  there was an answer);
- there is no traceback, and the token is in no message;
- nothing is ever ordered twice;
- it ends within its limits (`metal_api_timeout` for a silent call, `metal_api_retries`, `wait_timeout`);
- the same task run once more, without the trouble, brings about what was asked for.

| trouble | while reading | creating | changing | deleting | when it does not pass |
|---|---|---|---|---|---|
"""

TAIL = """
How it is done: calls the service refused for their number (429) are repeated after the time it asks for; reads and deletes are repeated
after faults of the service, lost connections and unreadable answers; of every other write whose answer was lost the effect is looked up
before it is made again. The pauses grow and are spread, so that many callers do not come back at once. Where the service counts calls
(`X-RateLimit-Remaining`, `X-RateLimit-Reset`), they are spread over what is left of its window before it refuses one.
"""


def page() -> str:
    lines = []
    notes: list[str] = []
    for fault in FAULTS:
        mark = ""
        if fault.why:
            if fault.why not in notes:
                notes.append(fault.why)
            mark = f" ({notes.index(fault.why) + 1})"
        cells = [WORDS[verdict] for verdict in (fault.read, fault.create, fault.change, fault.delete, fault.always)]
        lines.append(f"| {fault.told}{mark} | {' | '.join(cells)} |\n")
    lines.append("| a list that changes while its pages are read | success | - | - | - | - |\n")
    told = "".join(f"\n{number}. {note[0].upper()}{note[1:]}." for number, note in enumerate(notes, 1))
    return f"{HEAD}{''.join(lines)}{told}\n{TAIL}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
