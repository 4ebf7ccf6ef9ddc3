# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The phases of a playbook: the current one, and the duration of the earlier ones.

Each task ``equinix_metal.openshift.phase`` returns the log of all phases so far, a list of dictionaries with ``title``, ``number``,
``count`` and ``started_at`` (seconds since 1970). It has times and no durations, so that it is the same until the next phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .screen import duration

Log = list[dict[str, Any]]


def begin(title: str, phases: Sequence[str], log: Sequence[Mapping[str, Any]], now: float) -> Log:
    """Return the log with this phase at its end. The first of ``phases`` starts a new log: another playbook may have run before."""
    number = list(phases).index(title) + 1 if title in phases else None
    earlier = [] if number == 1 else [dict(entry) for entry in log]
    return [*earlier, {"title": title, "number": number, "count": len(phases), "started_at": round(now, 1)}]


def heading(log: Sequence[Mapping[str, Any]], now: float) -> str:
    last = log[-1]
    elapsed = f" (elapsed {duration(now - log[0]['started_at'])})" if len(log) > 1 else ""
    return f"{position(last, '[{number}/{count}] ')}{last['title']}{elapsed}"


def is_idle(title: str, phases: Sequence[str], plan: Mapping[str, Any] | None) -> bool:
    """Return whether the plan has no step of this phase. The first phase makes the plan."""
    return plan is not None and title in phases[1:] and all(step["phase"] != title for step in plan["steps"])


def position(entry: Mapping[str, Any], form: str) -> str:
    """Return the number of the phase in this format, empty for a phase that is not in its playbook's table."""
    return form.format(**entry) if entry.get("number") else ""


def elapsed(log: Sequence[Mapping[str, Any]], now: float) -> str:
    return duration(now - log[0]["started_at"])
