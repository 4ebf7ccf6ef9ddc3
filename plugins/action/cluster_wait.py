# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of the same name and display its progress while it waits. Other modules that wait have links to this file."""

from ..plugin_utils.actions.progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays what is pending."""
