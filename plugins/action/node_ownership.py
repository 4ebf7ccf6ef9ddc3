# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_ownership, shown while it waits: the Nodes without a device whose kubelets still report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._progress import ProgressAction


class ActionModule(ProgressAction):
    """Calls the module again while it waits, and shows which Nodes cannot be deleted yet."""

    def merge(self, earlier: Mapping[str, Any], latest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the latest result with the Nodes that earlier calls have recorded and deleted."""
        merged = super().merge(earlier, latest)
        for name in ("recorded", "deleted"):
            merged[name] = sorted({*(earlier.get(name) or []), *(latest.get(name) or [])})
        return merged
