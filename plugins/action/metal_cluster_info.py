# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run metal_cluster_info in a fork of Ansible's worker process."""

from ..plugin_utils.actions.module_process import ModuleAction


class ActionModule(ModuleAction):
    """Runs the module of the same name."""
