# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a run: its phases and devices on a time axis, notices of CSR approval and outages, changes and cost.

Pure functions over the lines that actions and modules have recorded. A line may be missing: a report has what there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ...module_utils.base.times import timestamp
from ..actions.screen import duration

Event = Mapping[str, Any]

WAITING = frozenset({"queued", "provisioning", "reinstalling", "missing", "under_way", "deprovisioning"})
"""States of a device in which it is waited for."""


def run_report(events: Sequence[Event], *, cluster: str, failure: Sequence[str], cost: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return the report. ``failure``: the lines of the failure report, none for a successful run; ``cost``: number of devices and their
    price, where the run has not recorded them.
    """
    phases = [event for event in events if event["kind"] == "phase"]
    began = phases[0]["at"] if phases else now
    total = max(now - began, 0.1)
    play = str(phases[0].get("play") or "") if phases else "The playbook"
    summary = next((event for event in reversed(events) if event["kind"] == "summary"), {})
    return {
        "title": f"{play} of {cluster} {'failed' if failure else 'completed'} after {duration(now - began)}",
        "cluster": cluster,
        "play": play,
        "failed": bool(failure),
        "failure": list(failure),
        "began_at": _time(began),
        "ended_at": _time(now),
        "duration": duration(now - began),
        "result": " ".join(map(str, summary.get("lines") or [])),
        "price_per_hour": summary.get("price_per_hour", cost.get("price_per_hour")),
        "devices_billed": summary.get("devices", cost.get("devices")),
        "phases": _phases(phases, began, now, total, failed=bool(failure)),
        "devices": _devices(events, began, now, total),
        "notices": [
            {"after": duration(event["at"] - began), "level": event.get("level"), "text": event.get("text")}
            for event in events
            if event["kind"] == "notice"
        ],
        "changes": list(dict.fromkeys(str(event.get("task")) for event in events if event["kind"] == "change")),
    }


def _time(moment: float) -> str:
    return timestamp(datetime.fromtimestamp(moment, UTC))


def _bar(start: float, end: float, began: float, total: float) -> dict[str, str]:
    """Return the place of a bar on the time axis, in percent."""
    left = min(100.0, max(0.0, 100 * (start - began) / total))
    return {"left": f"{left:.2f}", "width": f"{max(0.0, min(100.0 - left, 100 * (end - start) / total)):.2f}"}


def _phases(phases: Sequence[Event], began: float, now: float, total: float, *, failed: bool) -> list[dict[str, Any]]:
    ends = [*(phase["at"] for phase in phases[1:]), now] if phases else []
    return [
        {
            "title": phase.get("title"),
            "after": duration(phase["at"] - began),
            "took": duration(end - phase["at"]),
            "bar": _bar(phase["at"], end, began, total),
            "failed": failed and number == len(phases),
        }
        for number, (phase, end) in enumerate(zip(phases, ends, strict=True), 1)
    ]


def _devices(events: Sequence[Event], began: float, now: float, total: float) -> list[dict[str, Any]]:
    """Return each device that was ordered, changed or deleted, with a bar for each of its states."""
    changes: dict[str, list[Event]] = {}
    for event in events:
        if event["kind"] == "device" and not event.get("check_mode"):
            changes.setdefault(str(event.get("name")), []).append(event)
    devices = []
    for name, states in sorted(changes.items()):
        actions = [str(event.get("action")) for event in states if event.get("action") not in (None, "none")]
        if not actions:
            continue
        ends = [*(event["at"] for event in states[1:]), now]
        last = states[-1]
        devices.append(
            {
                "name": name,
                "action": ", ".join(dict.fromkeys(actions)),
                "place": " in ".join(str(last[key]) for key in ("plan", "metro") if last.get(key)),
                "state": str(last.get("state")),
                "error": str(last.get("error") or ""),
                "states": [
                    {
                        "state": str(event.get("state")),
                        "after": duration(event["at"] - began),
                        "took": "" if event.get("state") == "deleted" else duration(end - event["at"]),
                        "waits": event.get("state") in WAITING,
                        "failed": event.get("state") == "failed",
                        "bar": _bar(event["at"], event["at"] if event.get("state") == "deleted" else end, began, total),
                    }
                    for event, end in zip(states, ends, strict=True)
                ],
            }
        )
    return devices
