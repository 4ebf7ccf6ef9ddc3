# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong and is expected to: everything a module tells its user instead of showing a traceback.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CollectionError(Exception):
    """An expected failure.

    ``message`` says what was attempted on what, what the other side answered and what to do next. ``details`` is plain data
    for programs (JSON types only, no secrets); a module returns it as ``failure``.
    """

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return self.message


def together(heading: str, problems: list[str]) -> str:
    """One message for several problems, so that a user mends them in one go: the heading alone with a single problem."""
    if len(problems) == 1:
        return f"{heading}: {problems[0]}"
    return f"{heading}, {len(problems)} problems: " + "; ".join(f"({number}) {problem}" for number, problem in enumerate(problems, 1))
