# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print which phase of a playbook starts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from ansible import constants

from ..module_utils.lock.run_record import begin_record, record
from ..plugin_utils.actions.phases import begin, heading, is_idle
from ..plugin_utils.actions.printing_action import PrintingAction
from ..plugin_utils.actions.screen import show


class ActionModule(PrintingAction):
    """Prints the phase, and returns the log for the next phase and the reports."""

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "title": {"type": "str"},
        "phases": {"type": "list", "elements": "str", "required": True},
        "log": {"type": "list", "elements": "dict", "default": []},
        "plan": {"type": "raw"},
    }

    def print_result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        now = time.time()
        log = begin(options["title"] or self._task.name, options["phases"], options["log"], now)
        if len(log) == 1:
            begin_record()
        record("phase", {**log[-1], "play": str(variables.get("ansible_play_name") or "The playbook")})
        # A phase without a step has nothing else to print either, unless something has changed since the plan was made.
        if self._display.verbosity or not is_idle(options["title"] or self._task.name, options["phases"], options["plan"] or None):
            show(heading(log, now), constants.COLOR_HIGHLIGHT)
        return {"log": log}
