# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""metal_device_set, shown while it waits."""

from __future__ import annotations

import time
from typing import Any

from ansible.utils.display import Display

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run_record import record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._device_progress import DeviceProgress
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import LINE_LIMIT, ProgressAction


class ActionModule(ProgressAction):
    """Calls the module again while it waits, and shows what is missing and what was not as planned."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._shown = 0
        self._progress = DeviceProgress()

    def announce(self, answer: dict[str, Any]) -> None:
        """Print and record each device that has changed, and print the notes that were added: each answer has all earlier ones."""
        for change in self._progress.changes(answer, time.monotonic()):
            about = {"name": change.name, "state": change.state, "action": change.action, **change.place, "error": change.error}
            record("device", {**about, "check_mode": bool(self._task.check_mode)})
            if line := change.line():
                Display().display(f"    {line}")
        notes = answer.get("notes")
        if not isinstance(notes, list):
            return
        for text in notes[self._shown :]:
            Display().display(f"    {printable(text, LINE_LIMIT)}")
        self._shown = len(notes)
