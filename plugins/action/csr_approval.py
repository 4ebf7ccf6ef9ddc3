# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""csr_approval, shown while it waits: who is missing, and at once what was approved, refused or denied, and alarms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays the module's notices as soon as it returns them, and keeps what earlier calls approved and refused."""

    # A module shows nothing by itself: without progress messages too, its warnings are not kept until the wait is over.
    unwatched_slice = 15.0

    def announce(self, answer: dict[str, Any]) -> None:
        self._notices.show(answer.pop("notices", None))

    def merge(self, earlier: Mapping[str, Any], latest: Mapping[str, Any]) -> dict[str, Any]:
        merged = super().merge(earlier, latest)
        known = {entry.get("name") for entry in _list(latest, "refused")}
        merged["approved"] = [*_list(earlier, "approved"), *_list(latest, "approved")]
        merged["denied"] = [*_list(earlier, "denied"), *_list(latest, "denied")]
        merged["refused"] = [*(entry for entry in _list(earlier, "refused") if entry.get("name") not in known), *_list(latest, "refused")]
        nodes = {alarm.get("node") for alarm in _list(latest, "alarms")}
        merged["alarms"] = [*(alarm for alarm in _list(earlier, "alarms") if alarm.get("node") not in nodes), *_list(latest, "alarms")]
        before = {entry.get("name"): entry for entry in _list(earlier, "verdicts")}
        names = {entry.get("name") for entry in _list(latest, "verdicts")}
        merged["verdicts"] = [entry for name, entry in before.items() if name not in names and _decided(entry)]
        merged["verdicts"] += [
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


def _decided(entry: Mapping[str, Any] | None) -> bool:
    return entry is not None and entry.get("verdict") in ("approved", "denied")
