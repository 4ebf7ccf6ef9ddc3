# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cluster_status, with what it needs of each machine: variables of hosts may have secrets."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._module_process import ModuleAction

USED = ("hostname", "role", "pool", "plan", "metro", "placement", "labels", "annotations", "taints")
"""Keys of ``machines``. Nothing else of a machine leaves the controller."""


class ActionModule(ModuleAction):
    """Calls the module with these keys of the inventory's machines."""

    _supports_async = False
    _supports_diff = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        ActionBase.run(self, tmp, task_vars)
        arguments = dict(self._task.args)
        machines = arguments.get("machines")
        if isinstance(machines, list) and all(isinstance(machine, dict) for machine in machines):
            arguments["machines"] = [{name: machine[name] for name in USED if machine.get(name) is not None} for machine in machines]
        answer: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
        return answer
