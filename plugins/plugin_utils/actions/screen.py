# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of several lines that every stdout callback keeps as several lines.

A result is printed by the stdout callback: with ``result_format=json``, the default outside of this repository's ansible.cfg, a text of
several lines becomes one line with ``\\n``. Text that a task displays itself is printed as it is: on a terminal, in a file, and as
an event in AWX.

Ansible's main process prints what its workers display. It flushes when it starts the next worker only, so in a pipe (``| tee``, CI, a
service) the lines of a task that waits for hours would arrive when the task ends. :func:`print_at_once` changes that when this file is
imported, which the main process does before it starts the worker of an action: the strategy loads the action's class.
"""

from __future__ import annotations

import io
import sys

from ansible import constants
from ansible.utils.display import Display

MACHINE_READABLE = frozenset({"json", "jsonl"})
"""Stdout callbacks whose whole output is data: any other line on stdout would break it."""


def print_at_once() -> None:
    """Flush stdout of this process after each line from now on."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.line_buffering:
        sys.stdout.reconfigure(line_buffering=True)


print_at_once()


def show(text: str, color: str | None = None) -> None:
    """Print the text on stdout, or on stderr when stdout is data for a program. ``color``: one of Ansible's colors, for a terminal."""
    callback = str(constants.DEFAULT_STDOUT_CALLBACK).rpartition(".")[2]
    Display().display(text, color=color, stderr=callback in MACHINE_READABLE)


def duration(seconds: float) -> str:
    """Return the time as ``7s``, ``2m10s`` or ``1h02m``."""
    total = max(0, round(seconds))
    if total < 60:
        return f"{total}s"
    if total < 3600:
        return f"{total // 60}m{total % 60:02d}s"
    return f"{total // 3600}h{total % 3600 // 60:02d}m"
