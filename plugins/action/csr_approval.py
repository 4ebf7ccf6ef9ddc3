# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Display the progress of csr_approval while it waits."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions.progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays the notices that the module could not display itself."""

    def notices(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        notices = answer.pop("notices", None)
        return notices if isinstance(notices, list) else []
