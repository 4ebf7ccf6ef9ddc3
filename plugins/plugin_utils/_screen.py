# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text for the person who reads a run's output: several lines stay several lines, whatever callback prints the results.

A result is printed by the stdout callback: with ``result_format=json``, the default outside of this repository's ansible.cfg, a text of
several lines becomes one line with ``\\n``. What is displayed by the task itself is printed as it is: on a terminal, in a file, and as
an event in AWX.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible import constants
from ansible.utils.display import Display

MACHINE_READABLE = frozenset({"json", "jsonl"})
"""Stdout callbacks whose whole output is data: any other line on stdout would break it."""


def show(text: str, color: str | None = None) -> None:
    """Print the text on stdout, or on stderr when stdout is data for a program. ``color`` is one that Ansible knows, for a terminal."""
    callback = str(constants.DEFAULT_STDOUT_CALLBACK).rpartition(".")[2]
    Display().display(text, color=color, stderr=callback in MACHINE_READABLE)


def duration(seconds: float) -> str:
    """Return the time as ``7s``, ``2m10s`` or ``1h02m``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
