# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the installer fails: an exit code and the text of its last line.

Source of the codes: the installer's own constants (3 install-config, 8 interrupted, 1 everything else); a Go program that
panics ends with 2.
"""

from __future__ import annotations

from typing import Final

OTHER: Final = 1
PANIC: Final = 2
INSTALL_CONFIG: Final = 3
INTERRUPTED: Final = 8


class InstallerError(Exception):
    """Ends the command. ``level`` is the level its text is logged at; the real one uses both error and fatal."""

    def __init__(self, message: str, code: int = OTHER, *, level: str = "fatal") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.level = level
