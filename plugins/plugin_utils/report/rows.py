# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts for a report: labelled rows, columns, counts and prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

LABEL = 8
"""Columns of the labels at the left: the longest is Continue."""


def rows(entries: Iterable[tuple[str, str]], width: int = LABEL) -> list[str]:
    """Return one line for each label with its text; an empty label continues the row above. ``width``: columns of the labels."""
    return [f"  {label + ':' if label else '':{width + 1}} {text}".rstrip() for label, text in entries]


def continued(label: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return entries for ``rows``: the label before the first text, none before the others."""
    return [(label if not number else "", text) for number, text in enumerate(texts)]


def columns(table: Sequence[Sequence[str]]) -> list[str]:
    """Return lines whose columns are as wide as their longest text."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in table]


def price(value: Any, form: str) -> str:
    """Return the price in this format; empty if unknown."""
    return form.format(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
