# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cluster_summary: print what a run has led to, and what comes next."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import together
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run_record import record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._commands import Caller
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._folders import kept_place
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._printing_action import PrintingAction
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._summary import (
    access_lines,
    brief,
    cluster_lines,
    cost_of,
    device_lines,
    next_lines,
    time_lines,
    unjoined,
)


class ActionModule(PrintingAction):
    """Prints the summary, and returns its lines but for the times, which differ each time."""

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cluster": {"type": "str", "required": True},
        "state": {"type": "raw", "required": True},
        "resources": {"type": "raw", "required": True},
        "kubeconfig": {"type": "str", "required": True},
        "password_file": {"type": "str", "required": True},
        "pending": {"type": "list", "elements": "str", "default": []},
        "state_store": {"type": "str", "default": "folder"},
        "log": {"type": "list", "elements": "dict", "default": []},
        "plan": {"type": "raw"},
    }

    def print_result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        password, kubeconfig = (
            place and kept_place(place, options["state_store"]) for place in (_existing(options["password_file"]), options["kubeconfig"])
        )
        caller = Caller.of_this_run(variables)
        lines = [
            *cluster_lines(options["cluster"], options["state"]),
            "",
            *device_lines(options["resources"]),
            *access_lines(options["state"], password),
        ]
        next_commands = next_lines(kubeconfig if caller.job else options["kubeconfig"], caller)
        record("summary", {"lines": lines[:1], **cost_of(options["resources"])})
        if options["plan"] and not options["plan"]["steps"] and not self._display.verbosity:
            show("\n".join(brief(lines)))
        else:
            show("\n".join(["", *lines, *time_lines(options["log"], time.time()), *next_commands]))
        result = {"lines": [*lines, *next_commands]}
        problems = [] if self._task.check_mode else unjoined(options["state"], options["resources"], options["pending"])
        if problems:
            return {**result, "failed": True, "msg": together("Not every device of the cluster is a Ready node", problems)}
        return result


def _existing(path: str) -> str:
    """Return a path, empty if it is no file: a cluster folder that was written from the running cluster has no password."""
    return path if Path(path).expanduser().is_file() else ""
