# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notices for the operator, displayed while a task runs, each once.

``Display.warning`` is not used: since ansible-core 2.19 the warnings of a task are kept until the task ends
(``DeferredWarningContext``), which may be hours. ``Display.display`` is sent to Ansible's main process at once, in every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible import constants
from ansible.utils.display import Display

from ...module_utils.base.printable import printable
from ...module_utils.lock.run_record import record
from .screen import show

NOTE = "note"
"""Level of what belongs to the progress of a task, which the run report has by itself."""

_LIMIT = 1000


def display_warning(text: str) -> None:
    """Display a warning now, in the format of Ansible's own and on stderr."""
    Display().display(f"[WARNING]: {text}", color=constants.COLOR_WARN, stderr=True)


class NoticeDisplay:
    """Displays notices, each text once."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def show(self, notice: Any) -> None:
        """Display a notice (``level``: info, warning or note; ``text``) that was not displayed yet."""
        if not isinstance(notice, Mapping):
            return
        level, text = str(notice.get("level")), printable(notice.get("text"), _LIMIT)
        if text in self._shown:
            return
        self._shown.add(text)
        if level == NOTE:
            show(f"    {text}")
            return
        record("notice", {"level": level, "text": text})
        if level == "warning":
            display_warning(text)
        else:
            show(text)
