# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_drain, shown while it waits: the pods that are left, and the budgets that keep them."""

from __future__ import annotations

from ..plugin_utils.actions.progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays, while the module waits, which pods are left and why."""
