# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""print_lines: print text of several lines as it is, whatever callback prints the results."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.equinix_metal.openshift.plugins.module_utils._printable import printable
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show

LONGEST = 2000
"""Characters of one line: a long error still fits."""


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no type information
    """Prints the lines, and returns them for callbacks that keep results."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_diff = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec={"lines": {"type": "raw", "required": True}})
        given = options["lines"]
        lines = [part for item in (given if isinstance(given, list) else [given]) for part in str(item).splitlines() or [""]]
        lines = [printable(line, LONGEST) for line in lines]
        if lines:
            show("\n".join(lines))
        return {"changed": False, "lines": lines, "_ansible_verbose_override": True}
