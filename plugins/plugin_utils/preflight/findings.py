# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The finding of a check: passed, passed with a warning, failed or not checkable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["passed", "warning", "not checkable", "failed"]


class UnreadableError(Exception):
    """A check has no data. ``failed``: the data was requested and the answer was an error, so the check fails."""

    def __init__(self, reason: str, *, failed: bool = False) -> None:
        super().__init__(reason)
        self.failed = failed


@dataclass(frozen=True)
class Finding:
    """The finding of one check. ``advice`` replaces the advice of the check. ``is_notable``: printed although the check passed."""

    verdict: Verdict
    found: str
    advice: str | None = None
    is_notable: bool = False


def passed(found: str, *, is_notable: bool = False) -> Finding:
    return Finding("passed", found, is_notable=is_notable)


def warning(found: str, advice: str | None = None) -> Finding:
    return Finding("warning", found, advice)


def failed(found: str, advice: str | None = None) -> Finding:
    return Finding("failed", found, advice)


def not_checkable(found: str, advice: str | None = None) -> Finding:
    return Finding("not checkable", found, advice)


def passed_if(condition: bool, found: str, advice: str | None = None) -> Finding:
    return passed(found) if condition else failed(found, advice)


def counted(number: int, what: str) -> str:
    """Return ``1 host``, ``2 hosts``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(items: Iterable[Any], limit: int = 12) -> str:
    """Return the items separated by commas, and how many there are beyond ``limit``."""
    texts = [str(item) for item in items]
    return ", ".join(texts[:limit]) + (f" and {len(texts) - limit} more" if len(texts) > limit else "")
