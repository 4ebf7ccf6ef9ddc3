# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""run_report: write what a run has done as an HTML page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run_record import end_record, read_record
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._commands import Caller
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._failure import what_failed, what_next
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._folders import kept_place
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._notices import display_warning
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._pages import run_page
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._printing_action import PrintingAction
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._report_file import (
    MODE,
    PRIVATE,
    ReportError,
    keep_newest,
    write_report,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._run_report import run_report
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import show
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._summary import cost_of


class ActionModule(PrintingAction):
    """Writes the page, and ends the record of the run."""

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cluster": {"type": "str", "required": True},
        "file": {"type": "path", "default": ""},
        "directory": {"type": "path", "default": ""},
        "keep": {"type": "int", "default": 20},
        "failure": {"type": "dict", "default": {}},
        "resources": {"type": "raw", "default": {}},
    }

    def print_result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        now, events = time.time(), read_record()
        end_record()
        if self._task.check_mode or not events:
            return {"path": None}
        cost = cost_of(options["resources"])
        given = options["failure"]
        failure = [*what_failed(given), *what_next(given, Caller.of_this_run(variables))] if given else []
        report = run_report(events, cluster=options["cluster"], failure=failure, cost=cost, now=now)
        try:
            target = self._target(options, report, now)
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

    @staticmethod
    def _target(options: Mapping[str, Any], report: Mapping[str, Any], now: float) -> Path | None:
        """Return the file; None without the files of a cluster: before they are created, and after destroy.yml has deleted them."""
        if options["file"]:
            return Path(options["file"])
        folder = Path(options["directory"])
        if not options["directory"] or not (folder / "ignition").is_dir():
            return None
        moment = datetime.fromtimestamp(now, UTC)
        reports = folder / "reports"
        try:
            reports.mkdir(mode=0o700, exist_ok=True)
        except OSError as problem:
            raise ReportError(f"Cannot create {reports}: {problem.strerror}. Set openshift_report_file") from problem
        return reports / f"{str(report['play']).lower()}-{moment:%Y%m%dT%H%M%SZ}.html"
