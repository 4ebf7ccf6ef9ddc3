# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting that can be watched: the action plugin of a module that has the options of the fragment ``_wait``.

A module cannot show anything before it ends. So with ``progress_interval`` one call of it waits no longer than that and answers with
``waiting``, texts that say what is still missing; this shows them and calls the module again until ``wait_timeout`` is over. What it
answers as ``resume`` it gets back as that option, so that a call which goes on waiting does not order something once more.

What a job beside the play has to say is shown too, as soon as it is there: the option ``notices_file`` names the file it is left in.

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
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._notices import NoticeDisplay
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import duration, show

DEFAULT_TIMEOUT = 1800.0
# Names that modules also take for wait_timeout, from the collections before this one.
WAIT_TIMEOUT_ALIASES = ("provisioning_wait_seconds", "timeout")
# Of a pool of hundreds nobody reads every line.
SHOWN = 8
LINE_LIMIT = 600


class ProgressAction(ActionBase):  # type: ignore[misc]  # ansible-core has no type information
    """Calls the module of the same name, again and again while it answers that it is still waiting.

    A subclass may show more of each answer (``announce``) and keep more of earlier ones (``merge``).
    """

    unwatched_slice = 0.0
    """Seconds after which a call ends to be made again although nothing is to be shown of the wait (``progress_interval`` 0). 0: never."""

    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        self._notices = NoticeDisplay()
        arguments = _by_their_names(self._task.args)
        interval = self._seconds(arguments, "progress_interval", 0.0)
        timeout = self._seconds(arguments, "wait_timeout", DEFAULT_TIMEOUT)
        waits = boolean(arguments.get("wait", True), strict=False) and not self._task.async_val and not self._task.check_mode
        beside = "" if self._task.async_val else arguments.get("notices_file")
        with self._notices.following(beside), self._following_the_module():
            if waits and (interval or self.unwatched_slice) > 0:
                return self._in_slices(arguments, task_vars, timeout, interval)
            # As a background task nothing can be shown, and without waiting there is nothing to show.
            return self._once({**arguments, "progress_interval": 0} if "progress_interval" in arguments else arguments, task_vars)

    @contextmanager
    def _following_the_module(self) -> Iterator[None]:
        """Show at once what the module leaves in a file of its own: it cannot show anything itself before it ends."""
        if self._task.async_val:
            yield
            return
        with tempfile.NamedTemporaryFile(prefix="notices-") as file:
            self._task.environment = [*(self._task.environment or []), {FILE_VARIABLE: file.name}]
            with self._notices.following(file.name):
                yield

    def _in_slices(self, arguments: Mapping[str, Any], task_vars: dict[str, Any] | None, timeout: float, interval: float) -> dict[str, Any]:
        # Tasks run in a process of their own, with a session of its own: it does not notice the end of the play, and would go on to order
        # and to wait beside the next run.
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
            if texts != last and interval > 0:
                self.show(texts, time.monotonic() - started)
            last = texts
            if os.getppid() != play:
                raise AnsibleActionFail("the play has been killed: nobody waits for this any more")

    def merge(self, earlier: Mapping[str, Any], latest: Mapping[str, Any]) -> dict[str, Any]:
        """One result of two calls: the latest, changed when any call has changed something, with the warnings of both."""
        merged = {**latest, "changed": bool(earlier.get("changed")) or bool(latest.get("changed"))}
        if warnings := list(earlier.get("warnings") or []):
            merged["warnings"] = [*warnings, *(text for text in latest.get("warnings") or [] if text not in warnings)]
        return merged

    def announce(self, answer: dict[str, Any]) -> None:
        """Show something of an answer; nothing by default. What is for this alone may be taken out of it."""

    def show(self, waiting: Sequence[str], seconds: float) -> None:
        """Show what is still missing."""
        lines = [f"    {printable(text, LINE_LIMIT)}" for text in waiting[:SHOWN]]
        if len(waiting) > SHOWN:
            lines.append(f"    and {len(waiting) - SHOWN} more")
        show(f"waiting since {duration(seconds)}:\n" + "\n".join(lines))

    def _once(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars, wrap_async=self._task.async_val)
        self.announce(answer)
        return answer

    @staticmethod
    def _seconds(arguments: Mapping[str, Any], name: str, default: float) -> float:
        value = arguments.get(name)
        try:
            seconds = default if value is None else float(value)
        except (TypeError, ValueError) as problem:
            raise AnsibleActionFail(f"{name} has to be a number of seconds, it is {value!r}") from problem
        # The module gets what is left of it, and could not refuse it any more.
        if wrong := out_of_range(name, seconds):
            raise AnsibleActionFail(wrong)
        return seconds


def _by_their_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the time to wait under its own name: beside an alias the module would not heed what a slice has left of it."""
    arguments = dict(given)
    for alias in WAIT_TIMEOUT_ALIASES:
        if alias in arguments:
            arguments.setdefault("wait_timeout", arguments.pop(alias))
    return arguments
