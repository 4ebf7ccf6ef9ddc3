# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: the findings of all checks of ``checks.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.base.printable import printable
from .capacity import cost
from .checks import CHECKS, Check
from .context import Context
from .findings import UnreadableError, Verdict, counted, failed, not_checkable
from .planning import plan_of

VERDICTS: tuple[Verdict, ...] = ("passed", "not checkable", "warning", "failed")
"""In the order of the report: what needs attention is last."""
SUMMARY_WORDS = {"warning": "with a warning"}
"""A verdict as the summary prints it. Any other is printed as it is."""


def judge(settings: Mapping[str, Any], readings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report: ``checks`` with failures last, counts, prices in US dollars, the plan of the playbook, and all in one line.

    A check has ``verdict`` (``passed``, ``warning``, ``failed``, or ``not checkable`` with the reason in ``found``), ``expected``,
    ``advice``, and ``is_notable``: it is printed although it passed. ``price_of_the_run`` is an estimate; ``price_per_month`` is that of
    730 hours of the machines that remain. Prices are None if unknown, ``plan`` is None without a ``playbook``.
    For ``settings`` and ``readings`` see :class:`Context`.
    """
    context = Context(settings, readings)
    checks = sorted((_checked(name, check, context) for name, check in CHECKS.items()), key=lambda line: VERDICTS.index(line["verdict"]))
    counts = Counter(line["verdict"] for line in checks)
    costs = cost(context)
    plan = plan_of(context)
    return {
        "cluster": context.cluster,
        "checks": checks,
        "passed": counts["passed"],
        "warnings": counts["warning"],
        "not_checkable": counts["not checkable"],
        "failed": counts["failed"],
        "machines_to_order": len(context.machines_to_order),
        **costs,
        "plan": plan.data() if plan else None,
        "summary": _summary(context, counts, costs),
    }


def _checked(name: str, check: Check, context: Context) -> dict[str, Any]:
    try:
        finding = check.find(context)
    except UnreadableError as problem:
        finding = failed(str(problem)) if problem.failed else not_checkable(str(problem))
    observed = printable(" ".join(finding.found.split()), 4000)
    advice = "" if finding.verdict == "passed" else finding.advice or (check.advice if finding.verdict in ("failed", "warning") else "")
    return {
        "check": name,
        "verdict": finding.verdict,
        "found": observed,
        "expected": check.expected,
        "advice": advice,
        "is_notable": finding.is_notable,
    }


def _summary(context: Context, counts: Mapping[Verdict, int], costs: Mapping[str, Any]) -> str:
    shown = [verdict for verdict in VERDICTS if counts[verdict] or verdict != "warning"]
    verdicts = ", ".join(f"{counts[verdict]} {SUMMARY_WORDS.get(verdict, verdict)}" for verdict in shown)
    summary = f"{verdicts}; {counted(len(context.machines_to_order), 'machine')} to order"
    if not context.machines_to_order or costs["price_of_the_run"] is None:
        return summary
    hours = float(context.settings.get("run_hours") or 1)
    return (
        f"{summary} for {costs['price_per_hour']:.2f} US dollars per hour: about {costs['price_of_the_run']:.2f} for the run ({hours:g} h)"
        f" and {costs['price_per_month']:.0f} per month for the machines that stay"
    )


WORDS = {"passed": "passed", "failed": "FAILED", "not checkable": "unknown"}
"""A verdict as the lines of checks print it. Any other is printed as it is."""
NOT_MADE = "not checked: "
"""What a check has found that has nothing to check in this run."""


def screen_lines(report: Mapping[str, Any], *, verbose: bool = False) -> list[str]:
    """Return the report as lines: failed and unknown checks with what to do, what to know of others, and one line for all that passed.

    Checks that have nothing to check in this run are in that line too, with their reasons. ``verbose``: a line for every check. Failed
    checks are last, next to the error that ends the run.
    """
    checks = sorted(report["checks"], key=lambda check: (check["verdict"] != "passed", check["verdict"] == "failed"))
    passed: list[Mapping[str, Any]] = []
    unmade: list[Mapping[str, Any]] = []
    shown: list[Mapping[str, Any]] = []
    for check in checks:
        is_unmade = check["verdict"] == "not checkable" and check["found"].startswith(NOT_MADE) and not check["advice"]
        folded = passed if check["verdict"] == "passed" and not check.get("is_notable") else unmade if is_unmade else shown
        (shown if verbose else folded).append(check)
    lines = [_folded(passed, unmade)] if passed or unmade else []
    width = max((len(check["check"]) for check in shown), default=0)
    for check in shown:
        verdict = check["verdict"]
        lines.append(f"{WORDS.get(verdict, verdict):8} {check['check']:{width}}  {check['found']}")
        if verdict == "failed":
            lines.append(f"{'':9}expected: {check['expected']}")
        if check["advice"]:
            lines.append(f"{'':9}to do:    {check['advice']}")
    # The plan, which is printed next, has numbers and prices.
    return lines if report.get("plan") and not report["failed"] else [*lines, report["summary"]]


def _folded(passed: Sequence[Mapping[str, Any]], unmade: Sequence[Mapping[str, Any]]) -> str:
    text = f"{counted(len(passed), 'check')} passed"
    if unmade:
        text += f", {len(unmade)} not made"
    reasons = dict.fromkeys(check["found"].removeprefix(NOT_MADE) for check in unmade)
    return f"{text} (all of them with -v){': ' if reasons else ''}{'; '.join(reasons)}"
