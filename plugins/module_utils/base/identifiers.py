# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ids of objects of the Metal API, checked before one becomes part of a path or a body."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from .printable import printable

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
SEGMENT = re.compile(r"(?!\.+\Z)[A-Za-z0-9._~-]+")
"""One part of a path: any id or name that the API returns, but nothing that changes the path or has to be quoted."""
EXAMPLE = "2b70eb8f-fa18-47c0-aba7-222a842362fd"
VLAN_NUMBER = "a VLAN's number"
"""As a keyword: a number of 1 to 4 digits is taken too."""

SHOWN = 64
"""Characters of a refused value that the error shows."""


def canonical_id(value: Any, keywords: Collection[str] = ()) -> str:
    """Return the id in the form in which the API returns it: without blanks around it, in lower case.

    ``keywords``: what may stand in the place of an id, such as ``next-available``. Raises ValueError, with what is wrong, for anything
    else: in a path, ``../projects/...`` or ``?`` would name another object.
    """
    text = str(value).strip()
    if text in keywords or (VLAN_NUMBER in keywords and re.fullmatch("[0-9]{1,4}", text)):
        return text
    if UUID.fullmatch(text.lower()):
        return text.lower()
    if not text:
        raise ValueError("is given, but empty: a variable may have been cleared")
    others = "".join(f" or {keyword}" for keyword in keywords if keyword)
    raise ValueError(f"has to be an id (a UUID like {EXAMPLE}){others}, it is '{printable(text, SHOWN)}'")
