# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: every check of ``checks.py`` made, and told.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.capacity import cost
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.checks import CHECKS, Check
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    UnreadableError,
    Verdict,
    failed,
    not_checkable,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

VERDICTS: tuple[Verdict, ...] = ("passed", "not checkable", "warning", "failed")
"""In the order of the report: what has to be read stands last."""
WORDS = {"warning": "with a warning"}


@dataclass(frozen=True)
class Line:
    """One line of the report."""

    check: str
    verdict: Verdict
    found: str
    expected: str
    advice: str


def judge(wanted: Mapping[str, Any], world: Mapping[str, Any]) -> dict[str, Any]:
    """The report: ``checks`` with failures last, counts, prices in US dollars, ``servers`` to ask capacity for, and ``text`` to show."""
    situation = Situation(wanted, world)
    lines = sorted((_line(each, situation) for each in CHECKS), key=lambda line: VERDICTS.index(line.verdict))
    counts = Counter(line.verdict for line in lines)
    costs = cost(situation)
    summary = _summary(situation, counts, costs)
    return {
        "cluster": situation.cluster,
        "checks": [asdict(line) for line in lines],
        "passed": counts["passed"],
        "warnings": counts["warning"],
        "not_checkable": counts["not checkable"],
        "failed": counts["failed"],
        "machines_to_order": len(situation.missing),
        **costs,
        "servers": situation.servers(),
        "summary": summary,
        "text": [*_columns(lines), summary],
        "problems": _problems(lines),
    }


def _line(each: Check, situation: Situation) -> Line:
    try:
        finding = each.find(situation)
    except UnreadableError as problem:
        finding = failed(str(problem)) if problem.failed else not_checkable(str(problem))
    found = printable(" ".join(finding.found.split()), 4000)
    advice = "" if finding.verdict == "passed" else finding.advice or (each.advice if finding.verdict in ("failed", "warning") else "")
    return Line(each.name, finding.verdict, found, each.expected, advice)


def _columns(lines: Sequence[Line]) -> list[str]:
    width = max(len(line.check) for line in lines)
    words = {"failed": "FAILED", "warning": "WARNING"}
    return [f"{words.get(line.verdict, line.verdict):13}  {line.check:{width}}  {line.found}" for line in lines]


def _problems(lines: Sequence[Line]) -> list[str]:
    told = []
    for line in lines:
        if line.verdict == "failed":
            told += [f"- {line.check}: {line.found}", f"    expected: {line.expected}", f"    to do: {line.advice}"]
    return told


def _summary(situation: Situation, counts: Mapping[Verdict, int], costs: Mapping[str, Any]) -> str:
    told = ", ".join(f"{counts[verdict]} {WORDS.get(verdict, verdict)}" for verdict in VERDICTS if counts[verdict] or verdict != "warning")
    ordered = len(situation.missing)
    if not ordered:
        return f"{told}; no machine is to be ordered"
    told += f"; {ordered} {'machine is' if ordered == 1 else 'machines are'} to be ordered"
    if costs["price_of_the_run"] is None:
        return told
    hours = float(situation.wanted.get("run_hours") or 1)
    return (
        f"{told}, for {costs['price_per_hour']:.2f} US dollars an hour, so the run costs about {costs['price_of_the_run']:.2f}"
        f" ({hours:g} h) and a month of those that stay {costs['price_per_month']:.0f}"
    )


WORDS = {"passed": "passed", "failed": "FAILED", "not checkable": "unknown"}
"""A verdict as it is printed. Any other is printed as it is called."""


def screen_lines(report: Mapping[str, Any], *, verbose: bool = False) -> list[str]:
    """Return the report for a person: what failed and what is unknown, each with what to do, and one line for all that passed.

    ``verbose``: every check. What failed comes last, next to the error that ends the run.
    """
    checks = sorted(report["checks"], key=lambda check: (check["verdict"] != "passed", check["verdict"] == "failed"))
    shown = [check for check in checks if verbose or check["verdict"] != "passed"]
    hidden = len(checks) - len(shown)
    lines = [f"{hidden} {'check' if hidden == 1 else 'checks'} passed (all of them with -v)"] if hidden else []
    width = max((len(check["check"]) for check in shown), default=0)
    for check in shown:
        verdict = check["verdict"]
        lines.append(f"{WORDS.get(verdict, verdict):8} {check['check']:{width}}  {check['found']}")
        if verdict == "failed":
            lines.append(f"{'':9}expected: {check['expected']}")
        if check["advice"]:
            lines.append(f"{'':9}to do:    {check['advice']}")
    return [*lines, report["summary"]]
