# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check can find: passed, passed with a warning, failed or not checkable.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["passed", "warning", "not checkable", "failed"]


class UnreadableError(Exception):
    """What a check needs was not read; ``failed``: it was asked for, and the answer was an error that has to be mended."""

    def __init__(self, why: str, *, failed: bool = False) -> None:
        super().__init__(why)
        self.failed = failed


@dataclass(frozen=True)
class Finding:
    """What one check found. ``advice`` is what to do when it is not the check's usual advice."""

    verdict: Verdict
    found: str
    advice: str | None = None


def passed(found: str) -> Finding:
    return Finding("passed", found)


def warning(found: str, advice: str | None = None) -> Finding:
    return Finding("warning", found, advice)


def failed(found: str, advice: str | None = None) -> Finding:
    return Finding("failed", found, advice)


def not_checkable(found: str, advice: str | None = None) -> Finding:
    return Finding("not checkable", found, advice)


def either(good: bool, found: str, advice: str | None = None) -> Finding:
    return passed(found) if good else failed(found, advice)


def counted(number: int, what: str) -> str:
    """``1 host``, ``2 hosts``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(items: Iterable[Any], limit: int = 12) -> str:
    texts = [str(item) for item in items]
    return ", ".join(texts[:limit]) + (f" and {len(texts) - limit} more" if len(texts) > limit else "")
