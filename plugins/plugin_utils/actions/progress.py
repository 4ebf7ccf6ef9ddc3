# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of a wait: the base class of the action plugins of modules with the options of the fragment ``_wait``.

A module cannot print before it ends. So it appends what it sees while it waits to a file (``module_utils/base/live_output``). A thread of
the action plugin reads that file: it displays notices at once, and what is pending and the stages of things every ``progress_interval``
seconds if they have changed. Each change of a stage is one line.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ansible.plugins.action import ActionBase

from ...module_utils.base.argspec import WAIT_OPTIONS
from ...module_utils.base.live_output import FILE_VARIABLE, Reader
from ...module_utils.base.printable import printable
from ...module_utils.lock.run_record import record
from .module_process import ModuleAction
from .notices import NoticeDisplay
from .screen import duration, show
from .stages import Stages

PAUSE = 0.5
"""Seconds between two reads of what a module has appended."""
LINE_LIMIT = 600


class ProgressDisplay:
    """Displays the entries of a module's file: progress every ``interval`` seconds, with 0 never."""

    def __init__(self, interval: float, notices: NoticeDisplay) -> None:
        self._interval = interval
        self._notices = notices
        self._stages = Stages()
        self._started = time.monotonic()
        self._due = self._started + interval
        self._pending: list[str] = []
        self._shown: list[str] = []
        self._new_stages: dict[str, str] = {}

    @contextmanager
    def following(self, path: str) -> Iterator[None]:
        """Display what is appended to this file while the body runs."""
        ended = threading.Event()
        follower = threading.Thread(target=self._follow, args=(Reader(path), ended), name="progress", daemon=True)
        follower.start()
        try:
            yield
        finally:
            ended.set()
            follower.join()

    def _follow(self, reader: Reader, ended: threading.Event) -> None:
        while not ended.wait(PAUSE):
            self._read(reader)
            if self._interval > 0 and time.monotonic() >= self._due:
                self._due += self._interval
                self._show_stages()
                self._show_pending()
        self._read(reader)
        self._show_stages()

    def _read(self, reader: Reader) -> None:
        for entry in reader.new_entries():
            if "text" in entry:
                self._notices.show(entry)
            if isinstance(pending := entry.get("pending"), list):
                self._pending = [printable(text, LINE_LIMIT) for text in pending]
            if isinstance(stages := entry.get("stages"), dict):
                self._new_stages |= {name: str(stage) for name, stage in stages.items()}

    def _show_stages(self) -> None:
        for change in self._stages.changes(self._new_stages, time.monotonic()):
            show(f"    {change}")

    def _show_pending(self) -> None:
        if self._pending == self._shown:
            return
        self._shown = self._pending
        between = " " if len(self._pending) == 1 else "\n    "
        show(f"waiting since {duration(time.monotonic() - self._started)}:{between}" + between.join(self._pending))


class ProgressAction(ModuleAction):
    """Run the module of the same name, and display its notices and its progress meanwhile."""

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        if self._task.async_val:
            # A background task cannot print.
            return super().run(tmp, task_vars)
        # Not that of ModuleAction, which has no file.
        ActionBase.run(self, tmp, task_vars)
        notices = NoticeDisplay()
        with tempfile.NamedTemporaryFile(prefix="progress-") as file:
            self._task.environment = [*(self._task.environment or []), {FILE_VARIABLE: file.name}]
            with ProgressDisplay(self._interval(), notices).following(file.name):
                answer: dict[str, Any] = self._execute_module(task_vars=task_vars)
        for notice in self.notices(answer):
            notices.show(notice)
        if answer.get("changed"):
            record("change", {"task": printable(self._task.get_name(), LINE_LIMIT), "check_mode": bool(self._task.check_mode)})
        return answer

    def notices(self, answer: dict[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return notices of a result, of a module that could not append them; none by default. May remove them from the result."""
        return ()

    def _interval(self) -> float:
        """Return ``progress_interval``; 0 for a value that the module refuses."""
        try:
            return float(self._task.args.get("progress_interval", WAIT_OPTIONS.argument_spec["progress_interval"]["default"]) or 0)
        except (TypeError, ValueError):
            return 0.0
