# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cluster_wait, shown while it waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import ProgressAction
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._rows import mappings


class ActionModule(ProgressAction):
    """Calls the module again while it waits, and shows what is missing and which operators and nodes have changed."""

    def stages(self, answer: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the stage of each operator and Node. A failed call has only a part of them, one without an API server none."""
        if answer.get("failed") or not answer.get("api_answers"):
            return {}
        found = {f"operator {operator.get('name')}": _stage(operator) for operator in mappings(answer.get("operators"))}
        ready = answer.get("ready_nodes")
        names = self._task.args.get("nodes")
        if isinstance(ready, list) and isinstance(names, list):
            found |= {f"node {name}": "Ready" if name in ready else "not Ready" for name in names}
        return found


def _stage(operator: Mapping[str, Any]) -> str:
    if not operator.get("available"):
        return "not available"
    return "degraded" if operator.get("degraded") else "progressing" if operator.get("progressing") else "available"
