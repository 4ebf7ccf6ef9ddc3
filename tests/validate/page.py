"""Writes docs/generated/validation.md from the table of checks and the table of inventories: ``python -m tests.validate.page``."""

from __future__ import annotations

import sys
from pathlib import Path

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.checks import CHECKS
from tests.validate.cases import PLAYED, Case, read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "validation.md"

HEAD = """\
# What is checked before anything is ordered

<!-- Made by `python -m tests.validate.page` from plugins/module_utils/preflight/checks.py and of cases.yml and played.yml in
     tests/validate, which test_cases.py and test_played.py hold. -->

`ansible-playbook playbooks/validate.yml` makes this report, and `install.yml` and `scale.yml` begin with it. All checks are made and told
together; nothing is ordered or changed by them, in check mode or not, and no secret stands in the report. Each check is

- **passed**, with what was found;
- **failed**, with what was found, what was expected and what to do. One of these ends the run;
- a **warning**, with what was found and what to do. The run goes on;
- **not checkable**, with the reason: nobody tells, it is made by the run itself, or something before it failed.

What a cluster has already is no problem of its own: machines that exist are not asked for again, their records are not stale, a server of
an earlier run may have its ports.

Programs read the same report as JSON: [preflight.md](../preflight.md).
"""


def page() -> str:
    cases = read({})[1]
    lines = [HEAD, f"## The {len(CHECKS)} checks\n", "| check | expected | when it failed |", "| --- | --- | --- |"]
    lines += [f"| {_cell(check.name)} | {_cell(check.expected)} | {_cell(check.advice)} |" for check in CHECKS]
    lines += [
        f"\n## The {len(cases)} inventories it is tried with\n",
        "Each is a good inventory with something changed. What is not named passes, or cannot be checked. *Answered* means that the",
        "world's answer was laid over what the others have as read.\n",
        "| inventory | what the report says |",
        "| --- | --- |",
    ]
    lines += [f"| {_cell(case.name)}{' *(answered)*' if case.entry.get('answers') else ''} | {_told(case)} |" for case in cases]
    played = read({}, PLAYED)[1]
    lines += [
        f"\n## The {len(played)} that are played\n",
        "`ansible-playbook playbooks/validate.yml` is run with each of these beside a sandbox that was prepared for it: nothing is laid",
        f"over what the world answers. {len(PLAYED['cases'])} are inventories of the table above:",
        f"{_cell('; '.join(PLAYED['cases']))}. The others are\n",
        "| world | what the report says |",
        "| --- | --- |",
    ]
    lines += [f"| {_cell(case.name)} | {_told(case)} |" for case in played[len(PLAYED["cases"]) :]]
    return "\n".join(lines) + "\n"


def _told(case: Case) -> str:
    order = ("failed", "warning", "not checkable", "passed")
    by_verdict = {verdict: [check for check, said in case.expected.items() if said.verdict == verdict] for verdict in order}
    return "; ".join(f"**{verdict}**: {_cell(', '.join(checks))}" for verdict, checks in by_verdict.items() if checks)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*.", "\\*.").replace("<", "`<").replace(">", ">`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
