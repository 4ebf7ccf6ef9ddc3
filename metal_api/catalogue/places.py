# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the location of an object: a metro, or a facility of clients from before 2025."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal_api.catalogue.data import Metro, catalogue
from metal_api.core.body import Body
from metal_api.core.call import Call
from metal_api.core.errors import is_blank, not_valid


def place_kind(body: Mapping[str, Any]) -> str:
    """Return the field that has the location: ``metro``, or ``facility`` of clients from before 2025."""
    without_metro = is_blank(body.get("metro"))
    return "facility" if without_metro and (not is_blank(body.get("facility")) or ("facility" in body and "metro" not in body)) else "metro"


def one_place(call: Call, read: Body) -> Metro | None:
    """Return the metro of an object that has one location, from the body or the query."""
    fields = {name: call.field(name) for name in ("metro", "facility") if name in call.body or name in call.query}
    kind = place_kind(fields)
    metro = catalogue().metro_of_facility(fields.get(kind)) if kind == "facility" else catalogue().metro(fields.get(kind))
    if metro is None:
        read.problems.append(not_valid(fields.get(kind), kind))
    return metro


def places(read: Body, kind: str, value: Any) -> list[Metro]:
    """Return the metros for a name, or for a list of names in order of preference; empty if it is invalid."""
    find = catalogue().metro_of_facility if kind == "facility" else catalogue().metro
    names = [None] if is_blank(value) else value if isinstance(value, list) else [value]
    candidates = [list(catalogue().metros.values()) if isinstance(name, str) and name.lower() == "any" else [find(name)] for name in names]
    unknown = [name for name, (first, *_more) in zip(names, candidates, strict=True) if first is None]
    if kind == "facility" and len(unknown) == len(names) > 1:
        # Of several facilities none exists: the service blamed the field (packngo#121).
        unknown = [None]
    if unknown:
        read.problems.append(not_valid(unknown[0], kind))
        return []
    return [metro for metros in candidates for metro in metros if metro is not None]
