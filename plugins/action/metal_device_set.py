# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""metal_device_set, shown while it waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run_record import record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import LINE_LIMIT, ProgressAction
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._rows import mapping, mappings
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show


class ActionModule(ProgressAction):
    """Calls the module again while it waits, and shows what is missing and what was not as planned."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._shown = 0
        self._recorded: dict[str, tuple[str, str]] = {}

    def stages(self, answer: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the state of each device. One that was deleted has no device any more, one that could not be ordered none yet."""
        states = {str(device.get("hostname")): str(device.get("state")) for device in mappings(answer.get("devices"))}
        found = {}
        for name, value in mapping(answer.get("outcomes")).items():
            status = mapping(value).get("status")
            found[name] = "deleted" if status == "removed" else states.get(name) or str(status or "unknown")
        return found

    def announce(self, answer: dict[str, Any]) -> None:
        """Record each device that has changed, and print the notes that were added: each answer has all earlier ones."""
        for name, state in sorted(self.stages(answer).items()):
            outcome = mapping(mapping(answer.get("outcomes")).get(name))
            action = str(outcome.get("action") or "none")
            if self._recorded.get(name) != (state, action):
                self._recorded[name] = (state, action)
                about = {"name": name, "state": state, "action": action, "plan": outcome.get("plan"), "metro": outcome.get("metro")}
                error = printable(outcome.get("error") or "", LINE_LIMIT)
                record("device", {**about, "error": error, "check_mode": bool(self._task.check_mode)})
        notes = answer.get("notes")
        if not isinstance(notes, list):
            return
        for text in notes[self._shown :]:
            show(f"    {printable(text, LINE_LIMIT)}")
        self._shown = len(notes)
