# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""status_report: print the status of a cluster, write it to files, and fail on chosen findings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from ansible import constants

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._pages import status_page
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._printing_action import PrintingAction
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._report_file import write_report
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._status import failing_groups, status_lines


class ActionModule(PrintingAction):
    """Prints the status, and returns its lines."""

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "status": {"type": "dict", "required": True},
        "file": {"type": "path", "default": ""},
        "page": {"type": "path", "default": ""},
        "fail_on": {
            "type": "list",
            "elements": "str",
            "default": ["none"],
            "choices": ["none", "any", "unreachable", "differences", "degraded", "certificates", "csrs"],
        },
    }

    def print_result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        status = options["status"]
        lines = status_lines(status)
        color = constants.COLOR_OK if status["healthy"] else constants.COLOR_WARN
        show("\n" + lines[0], color)
        show("\n".join(lines[1:]))
        changed = False
        if options["file"]:
            changed = write_report(options["file"], json.dumps(status, indent=2, sort_keys=True) + "\n", check_mode=self._task.check_mode)
        if options["page"]:
            changed = write_report(options["page"], status_page(status), check_mode=self._task.check_mode) or changed
        if failing_groups(status, options["fail_on"]):
            # Without the lines, which were printed.
            return {"changed": changed, "failed": True, "msg": f"{lines[0]} (fail_on: {', '.join(options['fail_on'])})"}
        return {"lines": lines, "changed": changed}
