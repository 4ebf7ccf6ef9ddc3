# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run openshift_installer in a fork of Ansible's worker process."""

from ..plugin_utils.actions.module_process import ModuleAction


class ActionModule(ModuleAction):
    """Runs the module of the same name."""
