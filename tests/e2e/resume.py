"""Writes docs/generated/resume.md from what became of disturbed runs: ``python -m tests.e2e.resume``.

``chaos.py`` writes down each run as it ends; this takes up what was written since, in place of what was known of the same runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypedDict

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "resume.md"
FILE = Path(__file__).with_name("resume.json")
FRESH = Path(__file__).resolve().parents[2] / ".build" / "resume.jsonl"
"""One line a run, of several processes at once."""


class Record(TypedDict):
    """What became of one disturbed run; a run has its seed's moments and faults by its number.

    ``ends``: in which phase (a role) which end found it; ``met``: in which phase which fault met a request. ``starts``: how often it was
    started until it ended well. ``same``: whether the world was as undisturbed then.
    """

    seed: int
    number: int
    step: str
    ends: list[list[str]]
    met: list[list[str]]
    starts: int
    same: bool


RUNS = 50
"""Of one `make chaos`, its steps in turn."""

# Steps as chaos.py calls them and in its order, phases in the order in which an install goes through them.
STEPS = {
    "install": "`install.yml`, from nothing to three control plane machines and two workers, started again until it ended well",
    "scale up": "`scale.yml` with a worker more, started again until it ended well",
    "scale down": "`scale.yml` with a worker less, started again until it ended well",
    "scale up, taken back": "`scale.yml` with a worker more, ended, and then without it: what was begun for it has to be gone",
    "destroy": "`destroy.yml`, started again until it ended well",
    "install, given up": "`install.yml`, ended, and `destroy.yml` after it: also what was half ordered has to be gone",
}
PHASES = (
    *("start", "cluster_lock", "validate", "ignition", "network", "load_balancer", "boot_files", "provision", "dns", "cluster"),
    *("bootstrap_teardown", "csr_approval", "leave", "gather"),
)
COLUMNS: dict[str, Callable[[str], bool]] = {
    "kill -9": "kill -9".__eq__,
    "power cut": "power cut".__eq__,
    "Ctrl-C": "Ctrl-C".__eq__,
    "a read fails": lambda name: name.startswith("reads:"),
    "429": "any: 429".__eq__,
    "a slow answer": "any: slow".__eq__,
    "an order fails": lambda name: name.startswith("order:"),
    "a delete fails": lambda name: name.startswith("delete:"),
    "a machine fails": "machine: fails".__eq__,
}

HEAD = """\
# Ended at any moment, and started again

<!-- Made by `python -m tests.e2e.resume` from what became of the runs of `make chaos`, tests/e2e/resume.json. -->

Every playbook can be ended at any moment and started again: it looks at what is there and goes on. This page tells how often that was tried
in the sandbox, in which phase of which playbook, and what became of it. Each run was ended once or twice at moments that a seed decides,
met up to three faults of the API, and was started again until it ended well. Then machines, tags, names, nodes, labels, files and processes
were compared with those of a run that nothing disturbed, and the orders with the machines that were missing.

- **kill -9**: `ansible-playbook` and its group. What has a session of its own goes on: servers and jobs. A module that is at work survives
  as well, but sends no further request: [reliability.md](reliability.md#which-run-may-write-to-a-cluster) has the rules.
- **power cut**: everything that the user has on that computer ends at once; the machines and the API do not notice.
- **Ctrl-C**: as at a terminal.
- **a read fails**: 500, 502, 503, the connection cut, half an answer. **429**: refused for the number of requests. **a slow answer**: 3 s.
- **an order fails**: 500, or the connection cut before the order arrived or after it was done. **a delete fails**: the same.
- **a machine fails**: it is ordered, and the service cannot deliver it.

A number says how many runs were met by that in that phase and were in the end as undisturbed; "2 of 3" that one was not; a dash that it
was not tried (a phase in which nothing was tried has no row). A phase is a role. What happened to a run in one phase shows in another at
times: such a run counts in both. The first table says how many were tried, of how many that one `make chaos` has.
"""

TAIL = """
Killed while a module writes, and run again or destroyed at once: `python -m tests.e2e.kills`, see
[reliability.md](reliability.md#how-it-was-tried).

Again, or others: `make chaos CHAOS="--seed 7 --runs 50"`. A short form, an install, a scaling and a destruction that are ended at
chosen moments, is in `make test`.
"""


def write_down(record: Record) -> None:
    FRESH.parent.mkdir(exist_ok=True)
    with FRESH.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n")


def read() -> list[Record]:
    found: list[Record] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    return found


def take_up() -> None:
    """What is known with what was tried since; kept in the file."""
    fresh = [json.loads(line) for line in FRESH.read_text(encoding="utf-8").splitlines()] if FRESH.exists() else []
    runs = {(record["seed"], record["number"]): record for record in [*read(), *fresh]}
    lines = ",\n".join(json.dumps(runs[run]) for run in sorted(runs))
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    FRESH.unlink(missing_ok=True)


def page(records: list[Record]) -> str:
    parts = [HEAD, "\n", _sums(records)]
    for step, told in STEPS.items():
        if found := [record for record in records if record["step"] == step]:
            parts += [f"\n## {step[0].upper()}{step[1:]}\n\n{told[0].upper()}{told[1:]}.\n\n", _table(found)]
    return "".join([*parts, TAIL])


def _sums(records: list[Record]) -> str:
    rows = ["| | tried | of | as undisturbed | ended | faults met | starts until it ended well |\n", "|---|---|---|---|---|---|---|\n"]
    steps = [(step, len(range(number, RUNS, len(STEPS)))) for number, step in enumerate(STEPS)]
    for title, whole in [*steps, ("all", RUNS)]:
        tried = [record for record in records if title in (record["step"], "all")]
        starts = ", ".join(f"{times} x {number}" for number, times in sorted(Counter(record["starts"] for record in tried).items()))
        same = sum(record["same"] for record in tried)
        ends, met = (sum(len(record[what]) for record in tried) for what in ("ends", "met"))
        rows.append(f"| {title} | {len(tried)} | {whole} | {same} | {ends} | {met} | {starts or '-'} |\n")
    return "".join(rows)


def _table(records: list[Record]) -> str:
    rows = [f"| phase | {' | '.join(COLUMNS)} |\n", "|---" * (len(COLUMNS) + 1) + "|\n"]
    for phase in PHASES:
        cells = [
            _cell(record for record in records if any(where == phase and fits(what) for where, what in record["ends"] + record["met"]))
            for fits in COLUMNS.values()
        ]
        if set(cells) != {"-"}:
            rows.append(f"| {phase} | {' | '.join(cells)} |\n")
    return "".join(rows)


def _cell(records: Iterable[Record]) -> str:
    same = [record["same"] for record in records]
    if not same:
        return "-"
    return str(len(same)) if all(same) else f"{sum(same)} of {len(same)}"


if __name__ == "__main__":
    take_up()
    PAGE.write_text(page(read()), encoding="utf-8")
