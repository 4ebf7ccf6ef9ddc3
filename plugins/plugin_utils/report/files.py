# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report files on the controller, written completely or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..cluster_folder.state_files import replace_file


class ReportError(AnsibleActionFail):  # type: ignore[misc]  # ansible-core has no type information
    """A report that cannot be written."""


MODE = 0o640
"""A report has addresses and names, and no secrets."""


PRIVATE = 0o600
"""Of a report in the cluster folder, which no other user can read."""


def write_report(path: str, content: str, *, check_mode: bool, mode: int = MODE) -> bool:
    """Write the file, and return whether it has changed; in check mode whether it would."""
    target = Path(path).expanduser()
    try:
        if target.is_file() and target.read_text(encoding="utf-8") == content:
            return False
        if not check_mode:
            replace_file(target, content.encode(), mode)
    except (OSError, UnicodeDecodeError) as problem:
        raise ReportError(
            f"Cannot write the report {target}: {problem}. Choose a file in an existing folder that you may write to"
        ) from problem
    return True


def run_report_file(directory: str, play: str, moment: float) -> Path | None:
    """Return the file of a run report in a cluster folder; None without the files of a cluster: before they are created, and after
    destroy.yml has deleted them.
    """
    folder = Path(directory)
    if not directory or not (folder / "ignition").is_dir():
        return None
    reports = folder / "reports"
    try:
        reports.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise ReportError(f"Cannot create {reports}: {problem.strerror}. Set openshift_report_file") from problem
    return reports / f"{play.lower()}-{datetime.fromtimestamp(moment, UTC):%Y%m%dT%H%M%SZ}.html"


def keep_newest(folder: Path, number: int) -> None:
    """Delete all reports in the folder but the newest ``number``; their names end with the time. 0 keeps all."""
    if number <= 0:
        return
    for old in sorted(folder.glob("*-*T*Z.html"), key=lambda path: path.stem.rpartition("-")[2])[:-number]:
        old.unlink(missing_ok=True)
