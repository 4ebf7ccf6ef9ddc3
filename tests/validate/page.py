"""Write docs/generated/validation.md from the table of checks and the table of inventories: ``python -m tests.validate.page``."""

import sys
from pathlib import Path

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.checks import CHECKS
from tests.validate.cases import PLAYED, Case, read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "validation.md"

HEAD = """\
# What is checked before anything is ordered

<!-- Made by `python -m tests.validate.page` from plugins/plugin_utils/preflight/checks.py and from cases.yml and played.yml in
     tests/validate, which test_cases.py and test_played.py check. -->

`ansible-playbook playbooks/validate.yml` prints this report, and `install.yml` and `scale.yml` begin with it. All checks run and are
reported together. They create and change nothing, in check mode or not, and the report contains no secrets. The verdict of a check is

- **passed**, with the finding;
- **failed**, with the finding, the requirement and what to do. One failed check ends the run;
- **warning**, with the finding and what to do. The run goes on;
- **not checkable**, with the reason: no service reports it, the run itself creates it, or an earlier request failed.

Existing objects of the cluster are no failures: existing devices need no capacity, their records are not stale, and the boot file server of
an earlier run may use its ports.

Programs read the same report as JSON: [preflight.md](../preflight.md).
"""


def page() -> str:
    cases = read({})[1]
    lines = [HEAD, f"## The {len(CHECKS)} checks\n", "| check | requirement | when it failed |", "| --- | --- | --- |"]
    lines += [f"| {_cell(name)} | {_cell(check.expected)} | {_cell(check.advice)} |" for name, check in CHECKS.items()]
    lines += [
        f"\n## The {len(cases)} inventories it is tested with\n",
        "Each is a valid inventory with changes. Checks that are not named pass, or are not checkable. *Answered* means that an answer",
        "of a service was replaced.\n",
        "| inventory | findings |",
        "| --- | --- |",
    ]
    lines += [f"| {_cell(case.name)}{' *(answered)*' if case.entry.get('answers') else ''} | {_findings(case)} |" for case in cases]
    played = read({}, PLAYED)[1]
    lines += [
        f"\n## The {len(played)} inventories of real runs\n",
        "`ansible-playbook playbooks/validate.yml` runs with each of these against a prepared sandbox, whose answers are not replaced.",
        f"{len(PLAYED['cases'])} are inventories of the table above:",
        f"{_cell('; '.join(PLAYED['cases']))}. The others are\n",
        "| environment | findings |",
        "| --- | --- |",
    ]
    lines += [f"| {_cell(case.name)} | {_findings(case)} |" for case in played[len(PLAYED["cases"]) :]]
    return "\n".join(lines) + "\n"


def _findings(case: Case) -> str:
    order = ("failed", "warning", "not checkable", "passed")
    by_verdict = {verdict: [check for check, expected in case.expected.items() if expected.verdict == verdict] for verdict in order}
    return "; ".join(f"**{verdict}**: {_cell(', '.join(checks))}" for verdict, checks in by_verdict.items() if checks)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*.", "\\*.").replace("<", "`<").replace(">", ">`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
