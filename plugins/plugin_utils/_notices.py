# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notices for the operator, displayed while a task runs, each once.

``Display.warning`` is not used: since ansible-core 2.19 the warnings of a task are kept until the task ends
(``DeferredWarningContext``), which may be hours. ``Display.display`` is sent to Ansible's main process at once, in every release.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible import constants
from ansible.utils.display import Display

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.notice_file import take_unshown
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run_record import record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show

PAUSE = 0.5
"""Seconds between two reads of a file of notices."""

_LIMIT = 1000


def display_warning(text: str) -> None:
    """Display a warning now, in the format of Ansible's own and on stderr."""
    Display().display(f"[WARNING]: {text}", color=constants.COLOR_WARN, stderr=True)


class NoticeDisplay:
    """Displays notices, each text once."""

    def __init__(self) -> None:
        self._shown: set[str] = set()
        self._lock = threading.Lock()

    def show(self, notices: Any) -> None:
        """Display the notices that were not displayed yet, each with ``level`` (info or warning) and ``text``."""
        for notice in notices if isinstance(notices, list) else ():
            if not isinstance(notice, Mapping):
                continue
            text = printable(notice.get("text"), _LIMIT)
            with self._lock:
                if text in self._shown:
                    continue
                self._shown.add(text)
            record("notice", {"level": str(notice.get("level")), "text": text})
            if notice.get("level") == "warning":
                display_warning(text)
            else:
                show(text)

    @contextmanager
    def following(self, path: str) -> Iterator[None]:
        """Display new notices in this file while the body runs."""
        ended = threading.Event()
        follower = threading.Thread(target=self._follow, args=(path, ended), name="notices", daemon=True)
        follower.start()
        try:
            yield
        finally:
            ended.set()
            follower.join()

    def _follow(self, path: str, ended: threading.Event) -> None:
        try:
            while not ended.wait(PAUSE):
                self.show(take_unshown(path))
            self.show(take_unshown(path))
        except (OSError, ValueError) as problem:
            display_warning(f"Cannot read the notices in {path}: {problem}")
