# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd_info, shown while it waits for members."""

from __future__ import annotations

from ..plugin_utils.actions.progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays, while the module waits, what it waits for."""
