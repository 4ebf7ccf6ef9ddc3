# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines in the two forms of the real installer.

On stderr ``level=info msg=text`` without quotes (its formatter is set not to quote), or coloured with the message padded to
44 characters on a terminal; in ``<dir>/.openshift_install.log``, at every level, with time and quotes. A message of several
lines becomes several entries.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

LEVELS: Final = ("debug", "info", "warn", "error", "fatal")
LOG_FILE: Final = ".openshift_install.log"
_COLOURS: Final = {"debug": 37, "info": 36, "warning": 33, "error": 31, "fatal": 31}


class Log:
    """Writes to ``stream`` from ``level`` up and, once ``open_file`` was called, everything to the log file."""

    def __init__(self, level: str = "info", stream: TextIO | None = None) -> None:
        self._threshold = LEVELS.index(level)
        self._stream = sys.stderr if stream is None else stream
        self._file: Path | None = None

    def open_file(self, directory: Path) -> None:
        """Go on in the log file of an asset directory, which is made if need be (the real one does so too)."""
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._file = directory / LOG_FILE
        self._file.touch(mode=0o640)

    def debug(self, message: str) -> None:
        self.entry("debug", message)

    def info(self, message: str) -> None:
        self.entry("info", message)

    def warning(self, message: str) -> None:
        self.entry("warning", message)

    def error(self, message: str) -> None:
        self.entry("error", message)

    def fatal(self, message: str) -> None:
        self.entry("fatal", message)

    def entry(self, level: str, message: str) -> None:
        for line in message.splitlines() or [""]:
            if LEVELS.index("warn" if level == "warning" else level) >= self._threshold:
                self._stream.write(self._console(level, line) + "\n")
            if self._file is not None:
                now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(f'time="{now}" level={level} msg={json.dumps(line, ensure_ascii=False)}\n')
        self._stream.flush()

    def _console(self, level: str, line: str) -> str:
        if self._stream.isatty():
            return f"\x1b[{_COLOURS[level]}m{level.upper()}\x1b[0m {line:<44} "
        return f"level={level} msg={line}"
