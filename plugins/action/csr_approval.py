# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""csr_approval, shown while it waits: who is missing, what was approved, and at once whom it refused or denied, and alarms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.utils.display import Display

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import ProgressAction

# A stranger may file thousands; all of them are in the result.
WARNINGS = 10


class ActionModule(ProgressAction):
    """Keeps what earlier calls approved and refused, and warns of each refused request and each alarm once."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._refused: set[tuple[str, str]] = set()
        self._alarms: set[tuple[str, ...]] = set()

    def announce(self, answer: Mapping[str, Any]) -> None:
        for name in _list(answer, "approved"):
            entry: Mapping[str, Any] = next((entry for entry in _list(answer, "verdicts") if entry.get("name") == name), {})
            word = "to be approved" if self._task.check_mode else "approved"
            Display().display(f"{word}: {name} of {entry.get('node')}: {entry.get('reason')}")
        fresh = [entry for entry in _list(answer, "refused") if (entry.get("name"), entry.get("reason")) not in self._refused]
        denied = set(_list(answer, "denied"))
        for entry in fresh[:WARNINGS]:
            became = "stays pending" if entry.get("name") not in denied else "is to be denied" if self._task.check_mode else "is denied"
            Display().warning(
                f"certificate request {entry.get('name')} for node {entry.get('node')!r} {became}: {entry.get('reason')}",
                formatted=False,
            )
        if len(fresh) > WARNINGS:
            Display().warning(f"{len(fresh) - WARNINGS} more certificate requests were refused, see refused in the result")
        self._refused |= {(str(entry.get("name")), str(entry.get("reason"))) for entry in fresh}
        # Again only when another one has been let in: whoever has the token may file a request each second.
        alarms = {_subject(alarm): str(alarm.get("message")) for alarm in _list(answer, "alarms")}
        for message in [message for subject, message in alarms.items() if subject not in self._alarms][:WARNINGS]:
            Display().warning(message, formatted=False)
        self._alarms |= alarms.keys()

    def merge(self, earlier: Mapping[str, Any], latest: Mapping[str, Any]) -> dict[str, Any]:
        merged = super().merge(earlier, latest)
        known = {entry.get("name") for entry in _list(latest, "refused")}
        merged["approved"] = [*_list(earlier, "approved"), *_list(latest, "approved")]
        merged["denied"] = [*_list(earlier, "denied"), *_list(latest, "denied")]
        merged["refused"] = [*(entry for entry in _list(earlier, "refused") if entry.get("name") not in known), *_list(latest, "refused")]
        nodes = {alarm.get("node") for alarm in _list(latest, "alarms")}
        merged["alarms"] = [*(alarm for alarm in _list(earlier, "alarms") if alarm.get("node") not in nodes), *_list(latest, "alarms")]
        before = {entry.get("name"): entry for entry in _list(earlier, "verdicts")}
        merged["verdicts"] = [
            before[entry.get("name")] if entry.get("verdict") == "ignored" and _decided(before.get(entry.get("name"))) else entry
            for entry in _list(latest, "verdicts")
        ]
        if "diff" in latest:
            merged["diff"] = {
                **latest["diff"],
                "before": dict.fromkeys([*merged["approved"], *merged["denied"]], "pending"),
                "after": dict.fromkeys(merged["approved"], "approved") | dict.fromkeys(merged["denied"], "denied"),
            }
        return merged


def _list(answer: Mapping[str, Any], key: str) -> list[Any]:
    value = answer.get(key)
    return value if isinstance(value, list) else []


def _subject(alarm: Mapping[str, Any]) -> tuple[str, ...]:
    """The machine, and the requests that let it in."""
    return (str(alarm.get("node")), *(str(request.get("name")) for request in _list(alarm, "requests") if request.get("approved")))


def _decided(entry: Mapping[str, Any] | None) -> bool:
    return entry is not None and entry.get("verdict") in ("approved", "denied")
