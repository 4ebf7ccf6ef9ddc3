# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that can be a text, or the path of a file with that text."""

from __future__ import annotations

from pathlib import Path

from ...module_utils.base.errors import CollectionError


def is_path(value: str) -> bool:
    """Return whether a value is a path: one line that begins as a path does. No certificate, key or manifest begins so."""
    text = value.strip()
    return "\n" not in text and text.startswith(("/", "~/", "./", "../"))


def file_text(value: str, variable: str) -> str:
    """Return the text, or the text of the file whose path it is. Raises CollectionError for a file that cannot be read."""
    if not is_path(value):
        return value
    try:
        return Path(value.strip()).expanduser().read_text(encoding="utf-8")
    except (OSError, RuntimeError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise CollectionError(
            f"{variable}: the file {value.strip()} cannot be read on the controller: {reason}. Set {variable} to the path of an existing "
            "file, or to the text itself"
        ) from problem
