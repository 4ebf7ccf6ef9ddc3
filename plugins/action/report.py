# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print reports of a cluster or a run, and write them to files. Each kind is a function with its own options."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail

from ..module_utils.base.errors import CollectionError, together
from ..module_utils.joining.csr import POLICY_OPTIONS
from ..module_utils.lock.run_record import end_record, read_record, record
from ..plugin_utils.actions.notices import display_warning
from ..plugin_utils.actions.printing_action import PrintingAction
from ..plugin_utils.actions.screen import show
from ..plugin_utils.cluster_folder.folders import kept_place
from ..plugin_utils.report.commands import Caller
from ..plugin_utils.report.failure import describe, kept_result, short, still_billed, title, what_failed, what_next, where_bundle
from ..plugin_utils.report.files import MODE, PRIVATE, ReportError, keep_newest, run_report_file, write_report
from ..plugin_utils.report.pages import run_page, status_page
from ..plugin_utils.report.run_report import run_report
from ..plugin_utils.report.status import status_of
from ..plugin_utils.report.status_lines import failing_groups, status_lines
from ..plugin_utils.report.summary import access_lines, brief, cluster_lines, cost_of, device_lines, next_lines, time_lines, unjoined
from ..plugin_utils.world.status import collect

Options = Mapping[str, Any]
Spec = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Task:
    """The context of a report: variables, check mode and verbosity of its task."""

    variables: Mapping[str, Any]
    check_mode: bool
    is_verbose: bool

    @property
    def caller(self) -> Caller:
        return Caller.of_this_run(self.variables)


def summary(options: Options, task: Task) -> dict[str, Any]:
    """Print the summary of a run and the next commands. The result has no times, which differ each time."""
    # A cluster folder that was written from the running cluster has no password.
    password_file = options["password_file"] if Path(options["password_file"]).expanduser().is_file() else ""
    password, kubeconfig = (place and kept_place(place, options["state_store"]) for place in (password_file, options["kubeconfig"]))
    lines = [
        *cluster_lines(options["cluster"], options["state"]),
        "",
        *device_lines(options["resources"]),
        *access_lines(options["state"], password),
    ]
    next_commands = next_lines(kubeconfig if task.caller.job else options["kubeconfig"], task.caller)
    record("summary", {"lines": lines[:1], **cost_of(options["resources"])})
    if options["plan"] and not options["plan"]["steps"] and not task.is_verbose:
        show("\n".join(brief(lines)))
    else:
        show("\n".join(["", *lines, *time_lines(options["log"], time.time()), *next_commands]))
    result = {"lines": [*lines, *next_commands]}
    problems = [] if task.check_mode else unjoined(options["state"], options["resources"], options["pending"])
    if problems:
        return {**result, "failed": True, "msg": together("Not every device of the cluster is a Ready node", problems)}
    return result


def status(options: Options, task: Task) -> dict[str, Any]:
    """Read the cluster here, on the controller, as preflight does; print its status and write it to files."""
    try:
        report = status_of(collect(options["settings"], options), options["certificate_days"], datetime.now(UTC))
    except (CollectionError, ValueError, TypeError) as problem:
        return {"failed": True, "msg": f"The status cannot be made with these settings: {problem}"}
    lines = status_lines(report)
    show("\n" + lines[0], constants.COLOR_OK if report["healthy"] else constants.COLOR_WARN)
    show("\n".join(lines[1:]))
    changed = False
    if options["file"]:
        changed = write_report(options["file"], json.dumps(report, indent=2, sort_keys=True) + "\n", check_mode=task.check_mode)
    if options["page"]:
        changed = write_report(options["page"], status_page(report), check_mode=task.check_mode) or changed
    return {"status": report, "lines": lines, "failing": failing_groups(report, options["fail_on"]), "changed": changed}


def run(options: Options, task: Task) -> dict[str, Any]:
    """Write the report of the run as an HTML page, and end its record."""
    now, events = time.time(), read_record()
    end_record()
    if task.check_mode or not events:
        return {"path": None}
    failed_task = options["failure"]
    failure = [*what_failed(failed_task), *what_next(failed_task, task.caller)] if failed_task else []
    report = run_report(events, cluster=options["cluster"], failure=failure, cost=cost_of(options["resources"]), now=now)
    try:
        target = Path(options["file"]) if options["file"] else run_report_file(options["directory"], str(report["play"]), now)
        if target is None:
            return {"path": None}
        write_report(str(target), run_page(report), check_mode=False, mode=MODE if options["file"] else PRIVATE)
        if not options["file"]:
            keep_newest(target.parent, options["keep"])
    except ReportError as problem:
        # What the run has done stays done.
        display_warning(f"No run report was written: {problem}")
        return {"path": None}
    # It is written after the cluster folder was saved.
    show(f"Report: {kept_place(str(target), store='')}")
    return {"path": str(target)}


def failure(options: Options, task: Task) -> dict[str, Any]:
    """First, in a ``rescue``, print what failed and keep it; then, at the end of the play, print the whole report and fail."""
    if options["report"] is None:
        # Read as they are: a template in a task's name may name a variable that is not defined here.
        failed, result = task.variables.get("ansible_failed_task"), task.variables.get("ansible_failed_result")
        play = str(task.variables.get("ansible_play_name") or "The playbook")
        report = describe(failed, result, title(play, options["cluster"], options["log"], time.time()), options["cluster"])
        show("\n" + report["title"], constants.COLOR_ERROR)
        show("\n".join(what_failed(report)))
        return {"report": report, "result": kept_result(result)}
    report, bundle = options["report"], options["bundle"]
    if isinstance(bundle, Mapping) and bundle.get("path"):
        bundle = {**bundle, "path": kept_place(str(bundle["path"]), options["state_store"])}
    lines = [*what_failed(report), *what_next(report, task.caller)]
    if options["resources"] is not None:
        lines += still_billed(options["resources"], report["cluster"])
    show("\n" + report["title"], constants.COLOR_ERROR)
    show("\n".join([*lines, *where_bundle(bundle)]))
    return {"failed": True, "msg": short(report, bundle)}


CLUSTER: Spec = {"cluster": {"type": "str", "default": ""}}
SAVED: Spec = {"state_store": {"type": "str", "default": "folder"}, "log": {"type": "list", "elements": "dict", "default": []}}
KINDS: Mapping[str, tuple[Callable[[Options, Task], dict[str, Any]], Spec]] = {
    "summary": (
        summary,
        {
            **CLUSTER,
            **SAVED,
            "state": {"type": "raw", "required": True},
            "resources": {"type": "raw", "required": True},
            "kubeconfig": {"type": "str", "required": True},
            "password_file": {"type": "str", "required": True},
            "pending": {"type": "list", "elements": "str", "default": []},
            "plan": {"type": "raw"},
        },
    ),
    "status": (
        status,
        {
            "settings": {"type": "dict", "required": True, "no_log": True},
            "certificate_days": {"type": "int", "default": 30},
            "server_certificates": {"type": "bool", "default": True},
            **POLICY_OPTIONS,
            "history": {"type": "str", "default": ""},
            "file": {"type": "path", "default": ""},
            "page": {"type": "path", "default": ""},
            "fail_on": {
                "type": "list",
                "elements": "str",
                "default": ["none"],
                "choices": ["none", "any", "unreachable", "differences", "degraded", "certificates", "csrs"],
            },
        },
    ),
    "run": (
        run,
        {
            **CLUSTER,
            "file": {"type": "path", "default": ""},
            "directory": {"type": "path", "default": ""},
            "keep": {"type": "int", "default": 20},
            "failure": {"type": "dict", "default": {}},
            "resources": {"type": "raw", "default": {}},
        },
    ),
    "failure": (
        failure,
        {**CLUSTER, **SAVED, "report": {"type": "dict"}, "resources": {"type": "raw"}, "bundle": {"type": "raw"}},
    ),
}


class ActionModule(PrintingAction):
    """Prints the report of the kind that the task names."""

    @property
    def options(self) -> Spec:
        kind = self._task.args.get("kind")
        if kind not in KINDS:
            raise AnsibleActionFail(f"report: kind has to be one of {', '.join(KINDS)}, got: {kind}")
        return {"kind": {"type": "str", "required": True}, **KINDS[kind][1]}

    def print_result(self, options: Options, variables: Mapping[str, Any]) -> dict[str, Any]:
        task = Task(variables, bool(self._task.check_mode), bool(self._display.verbosity))
        return KINDS[options["kind"]][0](options, task)
