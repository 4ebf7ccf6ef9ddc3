# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""phase: print which phase of a playbook begins."""

from __future__ import annotations

import time
from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._phases import begin, heading
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no type information
    """Prints the phase, and returns the log that the next phase and the reports go on from."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_diff = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(
            argument_spec={
                "title": {"type": "str"},
                "phases": {"type": "list", "elements": "str", "required": True},
                "log": {"type": "list", "elements": "dict", "default": []},
            }
        )
        now = time.time()
        log = begin(options["title"] or self._task.get_name(), options["phases"], options["log"], now)
        show("\n" + heading(log, now), constants.COLOR_HIGHLIGHT)
        return {"changed": False, "log": log, "_ansible_verbose_override": True}
