# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hostnames of several devices of one order: a list, or a pattern."""

from __future__ import annotations

from typing import Any

_INDEX = "{{index}}"
_LONGEST = 2000
"""Characters of a pattern: names of longer ones are too long whatever the numbers, and a thousand of them would fill the memory."""


def hostnames(body: dict[str, Any], quantity: int) -> list[str | None]:
    """Return ``quantity`` names, None where the service chooses.

    ``hostnames``: a list, used first. ``hostname``: ``{{index}}`` is the number, from 1, with at least two digits (vendor's OpenAPI text of
    2026; in 2022 without leading zero); without it all devices have the same name.
    """
    listed = body.get("hostnames")
    names: list[str | None] = list(map(str, listed[:quantity])) if isinstance(listed, list) else []
    pattern = body.get("hostname")
    width = max(2, len(str(quantity)))
    numbers = range(len(names) + 1, quantity + 1)
    return names + [str(pattern)[:_LONGEST].replace(_INDEX, f"{number:0{width}d}") if pattern else None for number in numbers]
