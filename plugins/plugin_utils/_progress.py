# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of a wait: the base class of the action plugins of modules with the options of the fragment ``_wait``.

A module cannot print before it ends. So with ``progress_interval`` one call waits no longer than that and returns ``waiting``, texts of
what is pending; the action plugin prints them and calls the module again until ``wait_timeout`` is over. The value ``resume`` of a result
is the option of that name in the next call, so that a call that continues a wait orders nothing again.

Each change of what `stages` returns of a result is one line. With ``OPENSHIFT_PROGRESS=table`` a terminal has a live table of them instead
of the lists of what is pending.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import out_of_range
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.outage import FILE_VARIABLE
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run_record import record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._module_process import ModuleAction
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._notices import NoticeDisplay
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import duration, show
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._stage_table import stage_table
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._stages import Stages

DEFAULT_TIMEOUT = 1800.0
# Lines of one progress report; the others are counted.
SHOWN = 8
LINE_LIMIT = 600


class ProgressAction(ModuleAction):
    """Call the module of the same name until it waits no longer.

    A subclass may return ``stages``, print more of each result (``announce``) and keep more of earlier ones (``merge``).
    """

    wait_timeout_alias = ""
    """The name that ``wait_timeout`` has in the modules of older collections, if this module accepts it."""
    unwatched_slice = 0.0
    """Seconds until a call ends and is repeated although no progress is printed (``progress_interval`` 0). 0: no limit."""

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        # Not that of ModuleAction, which calls the module.
        ActionBase.run(self, tmp, task_vars)
        self._notices = NoticeDisplay()
        self._stages = Stages()
        arguments = self._without_alias(self._task.args)
        interval = self._seconds(arguments, "progress_interval", 0.0)
        timeout = self._seconds(arguments, "wait_timeout", DEFAULT_TIMEOUT)
        waits = boolean(arguments.get("wait", True), strict=False) and not self._task.async_val and not self._task.check_mode
        with self._following_module_notices():
            if waits and (interval or self.unwatched_slice) > 0:
                with stage_table(self._task.get_name(), self._stages) as has_table:
                    answer = self._in_slices(arguments, task_vars, timeout, interval, has_table=has_table)
            else:
                # A background task cannot print, and without a wait there is no progress.
                once = {**arguments, "progress_interval": 0} if "progress_interval" in arguments else arguments
                answer = self._once(once, task_vars)
        if answer.get("changed") and not self._task.async_val:
            record("change", {"task": printable(self._task.get_name(), LINE_LIMIT), "check_mode": bool(self._task.check_mode)})
        return answer

    @contextmanager
    def _following_module_notices(self) -> Iterator[None]:
        """Display the notices of the module at once: it writes them to a file, since it cannot print before it ends."""
        if self._task.async_val:
            yield
            return
        with tempfile.NamedTemporaryFile(prefix="notices-") as file:
            self._task.environment = [*(self._task.environment or []), {FILE_VARIABLE: file.name}]
            with self._notices.following(file.name):
                yield

    def _in_slices(
        self,
        arguments: Mapping[str, Any],
        task_vars: dict[str, Any] | None,
        timeout: float,
        interval: float,
        *,
        has_table: bool,
    ) -> dict[str, Any]:
        # A task runs in a process and a session of its own: without this check it would survive a killed play, and order and wait
        # in parallel to the next run.
        play, started = os.getppid(), time.monotonic()
        answer: dict[str, Any] | None = None
        last: list[str] = []
        resume: dict[str, Any] = {}
        while True:
            left = max(0.0, timeout - (time.monotonic() - started))
            slices = {"wait_timeout": left, "progress_interval": interval or self.unwatched_slice}
            latest = self._once({**arguments, **resume, **slices}, task_vars)
            resume = {"resume": latest.pop("resume")} if "resume" in latest else {}
            answer = latest if answer is None else self.merge(answer, latest)
            waiting = latest.get("waiting")
            if latest.get("failed") or not isinstance(waiting, list) or not waiting:
                return answer
            texts = [str(text) for text in waiting]
            # A table without a stage shows nothing: of modules that have none, and of an API server that does not answer yet.
            if texts != last and interval > 0 and not (has_table and self._stages.known):
                self.show(texts, time.monotonic() - started)
            last = texts
            if os.getppid() != play:
                raise AnsibleActionFail("the play was killed: the wait ends")

    def merge(self, earlier: Mapping[str, Any], latest: Mapping[str, Any]) -> dict[str, Any]:
        """Return one result of two calls: the latest, ``changed`` if any of both is, with the warnings of both."""
        merged = {**latest, "changed": bool(earlier.get("changed")) or bool(latest.get("changed"))}
        if warnings := list(earlier.get("warnings") or []):
            merged["warnings"] = [*warnings, *(text for text in latest.get("warnings") or [] if text not in warnings)]
        return merged

    def announce(self, answer: dict[str, Any]) -> None:
        """Print something of a result; nothing by default. May remove from it what is only for this."""

    def stages(self, answer: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the stage of each thing that is waited for, by name; none by default."""
        return {}

    def show(self, waiting: Sequence[str], seconds: float) -> None:
        """Print what is pending."""
        lines = [printable(text, LINE_LIMIT) for text in waiting[:SHOWN]]
        if len(waiting) > SHOWN:
            lines.append(f"and {len(waiting) - SHOWN} more")
        between = " " if len(lines) == 1 else "\n    "
        show(f"waiting since {duration(seconds)}:{between}" + between.join(lines))

    def _once(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars, wrap_async=self._task.async_val)
        if stages := self.stages(answer):
            for change in self._stages.changes(stages, time.monotonic()):
                show(f"    {change.line()}")
        self.announce(answer)
        return answer

    @staticmethod
    def _seconds(arguments: Mapping[str, Any], name: str, default: float) -> float:
        value = arguments.get(name)
        try:
            seconds = default if value is None else float(value)
        except (TypeError, ValueError) as problem:
            raise AnsibleActionFail(f"{name} has to be a number of seconds, it is {value!r}") from problem
        # The module gets the rest of the time, so that it cannot refuse the value itself.
        if wrong := out_of_range(name, seconds):
            raise AnsibleActionFail(wrong)
        return seconds

    def _without_alias(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with ``wait_timeout`` instead of its alias, which would take precedence over the time that is left."""
        arguments = dict(given)
        if self.wait_timeout_alias in arguments:
            arguments.setdefault("wait_timeout", arguments.pop(self.wait_timeout_alias))
        return arguments
