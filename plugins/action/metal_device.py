# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""metal_device, shown while it waits."""

from __future__ import annotations

from ..plugin_utils.actions.progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays, while the module waits, what is missing."""
