"""Writes docs/generated/resume.md from the results of disturbed runs: ``python -m tests.e2e.resume``.

``chaos.py`` records each run when it ends; this module merges the new records, which replace older ones of the same run.
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
    """Result of one disturbed run; its seed and number decide its interruptions and faults.

    ``ends``: interruptions with their phase (a role); ``met``: faults with the phase of the request. ``starts``: number of starts until
    it succeeded. ``same``: whether the final state was that of an undisturbed run.
    """

    seed: int
    number: int
    step: str
    ends: list[list[str]]
    met: list[list[str]]
    starts: int
    same: bool


RUNS = 50
"""Number of runs of one `python -m tests.e2e.chaos`, which repeats its steps in order."""

# Steps with the names and in the order of chaos.py, phases in the order of an install.
STEPS = {
    "install": "`install.yml`, from nothing to three control plane machines and two workers, started again until it succeeded",
    "scale up": "`scale.yml` with one more worker, started again until it succeeded",
    "scale down": "`scale.yml` with one worker less, started again until it succeeded",
    "scale up, taken back": "`scale.yml` with one more worker, interrupted, and run again without it: its device is deleted",
    "destroy": "`destroy.yml`, started again until it succeeded",
    "install, given up": "`install.yml`, interrupted, and then `destroy.yml`: also devices whose order was interrupted are deleted",
}
PHASES = (
    *("start", "cluster_lock", "validate", "ignition", "network", "load_balancer", "boot_files", "provision", "dns", "cluster"),
    *("bootstrap_teardown", "csr_approval", "node_removal", "destroy", "gather"),
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
# Interrupted runs: every playbook, in every phase

<!-- Made by `python -m tests.e2e.resume` from what became of the runs of `python -m tests.e2e.chaos`, tests/e2e/resume.json. -->

Every playbook can be interrupted at any moment and run again: it reads the current state and continues. This page shows how often the
tests did that in the sandbox, in which phase of which playbook, and with which result. Each run was interrupted once or twice at moments
that a seed decides, met up to three API faults, and was started again until it succeeded. Then devices, tags, records, nodes, labels,
files and processes were compared with those of an undisturbed run, and the orders with the machines that had been pending.

- **kill -9**: `ansible-playbook` and its process group. Processes with a session of their own continue: servers and jobs. A module that
  is running survives too, but sends no further request: [reliability.md](../reliability.md#which-run-may-write-to-a-cluster) has the rules.
- **power cut**: all processes of the user on the controller end at once; devices and API are not affected.
- **Ctrl-C**: as at a terminal.
- **a read fails**: 500, 502, 503, the connection cut, half an answer. **429**: refused by the rate limit. **a slow answer**: 3 s.
- **an order fails**: 500, or the connection cut before or after the order was executed. **a delete fails**: the same.
- **a machine fails**: its device is ordered, and the service cannot deliver it.

A number counts the runs with that event in that phase whose final state was that of an undisturbed run; "2 of 3" means that one run
differed; a dash that it was not tested (a phase without any test has no row). A phase is a role. A run that was disturbed in two phases
counts in both. The first table shows how many runs were recorded, of how many in one `python -m tests.e2e.chaos`.
"""

TAIL = """
`python -m tests.e2e.kills` kills modules while they write, and runs the playbook again or destroys the cluster at once:
[reliability.md](../reliability.md#tests).

To run this again, or other seeds: `python -m tests.e2e.chaos --seed 7 --runs 50`. `make test` has a short form: an install, a scale run
and a destroy that are interrupted at chosen moments.
"""


def write_down(record: Record) -> None:
    FRESH.parent.mkdir(exist_ok=True)
    with FRESH.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n")


def read() -> list[Record]:
    found: list[Record] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    return found


def take_up() -> None:
    """Merge new records into the file of recorded runs."""
    fresh = [json.loads(line) for line in FRESH.read_text(encoding="utf-8").splitlines()] if FRESH.exists() else []
    runs = {(record["seed"], record["number"]): record for record in [*read(), *fresh]}
    lines = ",\n".join(json.dumps(runs[run]) for run in sorted(runs))
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    FRESH.unlink(missing_ok=True)


def page(records: list[Record]) -> str:
    parts = [HEAD, "\n", _sums(records)]
    for step, description in STEPS.items():
        if found := [record for record in records if record["step"] == step]:
            parts += [f"\n## {step[0].upper()}{step[1:]}\n\n{description[0].upper()}{description[1:]}.\n\n", _table(found)]
    return "".join([*parts, TAIL])


def _sums(records: list[Record]) -> str:
    rows = ["| | runs | of | same final state | interruptions | faults met | starts until success |\n", "|---|---|---|---|---|---|---|\n"]
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
