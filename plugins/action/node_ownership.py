# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Display the progress of node_ownership while it waits."""

from ..plugin_utils.actions.progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays what is pending."""
