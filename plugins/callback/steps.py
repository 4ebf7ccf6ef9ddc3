# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print phases, progress and failures instead of every task."""

from __future__ import annotations

DOCUMENTATION = r"""
name: steps
type: stdout
short_description: Print phases, progress and failures instead of every task
version_added: 1.0.0
description:
  - >-
    An installation starts hundreds of tasks, and a few dozen lines say what happens: the phases, the machines that were created, what is
    waited for, the certificates that were approved, and the summary. This callback prints these lines, warnings, messages of
    M(ansible.builtin.debug), and failures in full, but no other task.
  - With C(-v), and more, it prints every task as P(ansible.builtin.default#callback) does. With C(--diff) it prints tasks that have a diff.
  - The last line of each host is what the recap of P(ansible.builtin.default#callback) has.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
extends_documentation_fragment: [default_callback, result_format_callback]
requirements:
  - set as stdout in configuration
"""

EXAMPLES = r"""
# In the ansible.cfg of a project that uses the collection; the one of this repository has it.
#
# [defaults]
# stdout_callback = equinix_metal.openshift.steps
#
# For one run:
#
# ANSIBLE_STDOUT_CALLBACK=equinix_metal.openshift.steps ansible-playbook equinix_metal.openshift.install
"""

from typing import Any

from ansible import constants
from ansible.plugins.callback.default import CallbackModule as Default

RECAP = {
    "ok": "ok",
    "changed": "changed",
    "unreachable": "unreachable",
    "failures": "failed",
    "skipped": "skipped",
    "rescued": "rescued",
    "ignored": "ignored",
}
"""Counters of a host, and their names in the recap of Ansible's default callback."""


class CallbackModule(Default):  # type: ignore[misc]  # ansible-core has no type information
    """Ansible's default callback without the tasks that went well; with ``-v`` it is the default callback."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "equinix_metal.openshift.steps"

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        if not self._shows_tasks():
            # The name of a task is printed with its first failure or diff.
            self.set_option("display_ok_hosts", False)
            self.set_option("display_skipped_hosts", False)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        if self._shows_tasks():
            super().v2_playbook_on_play_start(play)
        else:
            self._play = play

    def v2_playbook_on_include(self, included_file: Any) -> None:
        if self._shows_tasks():
            super().v2_playbook_on_include(included_file)

    def v2_runner_on_ok(self, result: Any) -> None:
        if self._shows_tasks():
            super().v2_runner_on_ok(result)
        else:
            self._say(result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        if self._shows_tasks():
            super().v2_runner_item_on_ok(result)
        else:
            self._say(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        if self._shows_tasks() or not ignore_errors:
            super().v2_runner_on_failed(result, ignore_errors=ignore_errors)
        else:
            self._handle_warnings(result._result)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        if self._shows_tasks() or not result._task.ignore_errors:
            super().v2_runner_item_on_failed(result)

    def v2_runner_on_async_poll(self, result: Any) -> None:
        if self._shows_tasks():
            super().v2_runner_on_async_poll(result)

    def v2_runner_on_async_ok(self, result: Any) -> None:
        if self._shows_tasks():
            super().v2_runner_on_async_ok(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if self._shows_tasks():
            super().v2_playbook_on_stats(stats)
            return
        for host in sorted(stats.processed):
            counts = stats.summarize(host)
            failed = counts["failures"] or counts["unreachable"]
            color = constants.COLOR_ERROR if failed else constants.COLOR_CHANGED if counts["changed"] else constants.COLOR_OK
            self._display.display(f"{host} : {' '.join(f'{name}={counts[key]}' for key, name in RECAP.items())}", color=color)

    def _shows_tasks(self) -> bool:
        return bool(self._display.verbosity)

    def _say(self, result: Any) -> None:
        """Print warnings, and of ansible.builtin.debug the message, a list as lines, or the value of the variable."""
        output = result._result
        self._handle_warnings(output)
        # That of a loop has its items, which were printed one after the other.
        if result._task.action not in constants._ACTION_DEBUG or "results" in output:
            return
        self._clean_results(output, result._task.action)
        message = output["msg"] if "msg" in output else self._dump_results(output)
        for line in message if isinstance(message, list) else [message]:
            self._display.display(str(line))
