# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Display the progress of metal_device_set while it waits."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions.notices import NOTE
from ..plugin_utils.actions.progress import ProgressAction


class ActionModule(ProgressAction):
    """Displays the notes that the module could not display itself."""

    def notices(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        notes = answer.get("notes")
        return [{"level": NOTE, "text": text} for text in notes] if isinstance(notes, list) else []
