# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live table of the stages of a wait, on the terminal of the person who has set ``OPENSHIFT_PROGRESS=table``.

A task runs in a process without a terminal, so the table is drawn on that of ansible-playbook, its parent. Where that has none (AWX, CI,
output into a file), or without the library rich, there are the ordinary lines of progress.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ansible.utils.display import Display

try:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text
except ImportError as problem:
    RICH_PROBLEM: ImportError | None = problem
else:
    RICH_PROBLEM = None

from ...module_utils.base.printable import printable
from .screen import duration
from .stages import Stages, usual_duration

if TYPE_CHECKING:
    from rich.console import RenderableType

VARIABLE = "OPENSHIFT_PROGRESS"
ROWS = 20
"""Rows of the table: those that changed last. The others are counted."""
CELL = 120


class StageTable:
    """What the table shows now; rich draws it again every second."""

    def __init__(self, title: str, stages: Stages) -> None:
        self._title = title
        self._stages = stages

    def __rich__(self) -> RenderableType:
        if not self._stages.known:
            return Text("")
        now = time.monotonic()
        table = Table(title=Text(printable(self._title, CELL)), title_justify="left", expand=False)
        for heading in ("", "stage", "for", "usually"):
            table.add_column(heading)
        rows = sorted(self._stages.known.items(), key=lambda item: (-item[1][1], item[0]))
        for name, (stage, since) in sorted(rows[:ROWS]):
            # As text: brackets in what a cluster or a machine says are no markup.
            cells = (printable(name, CELL), printable(stage, CELL), duration(now - since), usual_duration(stage))
            table.add_row(*(Text(cell) for cell in cells))
        if len(rows) > ROWS:
            table.add_row(Text(f"and {len(rows) - ROWS} more"), "", "", "")
        return table


@contextmanager
def stage_table(title: str, stages: Stages, *, is_enabled: bool = True) -> Iterator[bool]:
    """Draw the table until the context ends, and return whether it is drawn."""
    terminal = _terminal() if is_enabled and os.environ.get(VARIABLE) == "table" else None
    if terminal is not None and RICH_PROBLEM is not None:
        Display().warning(f"{VARIABLE}=table needs the Python library rich, which is not installed: progress is printed as lines.")
        terminal = None
    if terminal is None:
        yield False
        return
    with terminal.open("w", encoding="utf-8") as screen:
        width, height = os.get_terminal_size(screen.fileno())
        console = Console(file=screen, force_terminal=True, width=width, height=height)
        with Live(StageTable(title, stages), console=console, refresh_per_second=1, transient=True):
            yield True


def _terminal() -> Path | None:
    """Return the terminal that ansible-playbook prints on; None if it prints elsewhere."""
    try:
        path = Path(f"/proc/{os.getppid()}/fd/1").readlink()
    except OSError:
        return None
    return path if path.parent == Path("/dev/pts") or path.name.startswith("tty") else None
