# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""metal_device_set, shown while it waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.utils.display import Display

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run_record import record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import LINE_LIMIT, ProgressAction


class ActionModule(ProgressAction):
    """Calls the module again while it waits, and shows what is missing and what was not as planned."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._shown = 0
        self._recorded: dict[str, tuple[str, str]] = {}

    def announce(self, answer: dict[str, Any]) -> None:
        """Print the notes that were added since the previous answer, which has all earlier ones; record each device that has changed."""
        self._record(answer)
        notes = answer.get("notes")
        if not isinstance(notes, list):
            return
        for text in notes[self._shown :]:
            Display().display(f"    {printable(text, LINE_LIMIT)}")
        self._shown = len(notes)

    def _record(self, answer: Mapping[str, Any]) -> None:
        devices = {str(device.get("hostname")): device for device in answer.get("devices") or [] if isinstance(device, Mapping)}
        outcomes = answer.get("outcomes")
        for name, outcome in outcomes.items() if isinstance(outcomes, Mapping) else ():
            device = devices.get(name, {})
            action = str(outcome.get("action") or "none")
            state = str(device.get("state") or outcome.get("status") or "unknown")
            if outcome.get("status") == "removed":
                state = "deleted"
            if self._recorded.get(name) != (state, action):
                self._recorded[name] = (state, action)
                error = printable(outcome.get("error") or "", LINE_LIMIT)
                about = {"name": name, "state": state, "action": action, "plan": outcome.get("plan"), "metro": outcome.get("metro")}
                record("device", {**about, "error": error, "check_mode": bool(self._task.check_mode)})
