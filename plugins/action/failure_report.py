# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""failure_report: print why a playbook failed, and end it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from ansible import constants

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._commands import Caller
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._failure import (
    describe,
    kept_result,
    short,
    still_billed,
    title,
    what_failed,
    what_next,
    where_bundle,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._folders import kept_place
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._printing_action import PrintingAction
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show


class ActionModule(PrintingAction):
    """First, in a ``rescue``, prints what failed and keeps it; then, at the end of the play, prints the whole report and fails."""

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cluster": {"type": "str", "default": ""},
        "log": {"type": "list", "elements": "dict", "default": []},
        "report": {"type": "dict"},
        "resources": {"type": "raw"},
        "bundle": {"type": "raw"},
        "state_store": {"type": "str", "default": "folder"},
    }

    def print_result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        return self._begin(options, variables) if options["report"] is None else self._end(options, variables)

    @staticmethod
    def _begin(options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        # Read as they are: a template in a task's name may name a variable that is not defined here.
        task, result = variables.get("ansible_failed_task"), variables.get("ansible_failed_result")
        play = str(variables.get("ansible_play_name") or "The playbook")
        report = describe(task, result, title(play, options["cluster"], options["log"], time.time()), options["cluster"])
        show("\n" + report["title"], constants.COLOR_ERROR)
        show("\n".join(what_failed(report)))
        return {"report": report, "result": kept_result(result)}

    @staticmethod
    def _end(options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        report, bundle = options["report"], options["bundle"]
        if isinstance(bundle, Mapping) and bundle.get("path"):
            bundle = {**bundle, "path": kept_place(str(bundle["path"]), options["state_store"])}
        lines = [*what_failed(report), *what_next(report, Caller.of_this_run(variables))]
        if options["resources"] is not None:
            lines += still_billed(options["resources"], report["cluster"])
        show("\n" + report["title"], constants.COLOR_ERROR)
        show("\n".join([*lines, *where_bundle(bundle)]))
        return {"failed": True, "msg": short(report, bundle)}
