# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The attribute table of a resource: each entry is an option of its module, a field of the API's object and a value of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.argspec import identifier
from .objects import metro_code, normal_data, normal_tags, reference


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One attribute of a resource.

    ``option`` is its argument spec. ``read`` returns its value in the API's object (default: the field of the same name), ``written`` the
    fields that show a value in it, for predictions. ``normal`` brings given and current values into the form in which they are compared
    (None: nothing was given), ``sent`` into the form of a request's body.

    ``immutable`` says why it cannot be changed and what to do instead. ``required`` attributes must be given to create the object.
    ``compared`` is false for what is sent with a create and not readable afterwards. ``returned`` is false for what the module's result
    leaves out because it may hold secrets.
    """

    name: str
    option: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], Any] | None = None
    written: Callable[[Any], Mapping[str, Any]] | None = None
    normal: Callable[[Any], Any] = _same
    sent: Callable[[Any], Any] = _same
    immutable: str = ""
    required: bool = False
    compared: bool = True
    returned: bool = True

    def value(self, current: Mapping[str, Any]) -> Any:
        return self.read(current) if self.read else current.get(self.name)

    def fields(self, value: Any) -> Mapping[str, Any]:
        return self.written(value) if self.written else {self.name: value}


def options_of(attributes: Iterable[Attribute]) -> dict[str, Any]:
    return {attribute.name: attribute.option for attribute in attributes}


def text(name: str, **more: Any) -> Attribute:
    """Return the attribute of a text that may be empty; a missing field counts as empty."""
    return Attribute(name=name, **{"option": {"type": "str"}, "normal": lambda value: value or "", **more})


def tags() -> Attribute:
    return Attribute(
        name="tags",
        option={"type": "list", "elements": "str"},
        read=lambda current: sorted(current.get("tags") or []),
        normal=normal_tags,
        # Without repetitions, which the API would keep and the diff would not show.
        sent=normal_tags,
    )


def metro(**more: Any) -> Attribute:
    """Return the attribute metro, by its code; an empty text counts as not set."""
    return Attribute(
        name="metro",
        option={"type": "str"},
        read=metro_code,
        written=lambda code: {"metro": {"code": code}},
        normal=lambda code: code.lower() if code else None,
        sent=str.lower,
        **more,
    )


def customdata(**option: Any) -> Attribute:
    return Attribute(name="customdata", option={"type": "dict", **option}, normal=normal_data, written=lambda _data: {}, returned=False)


def link(name: str, field: str, *, option: Mapping[str, Any] | None = None, **more: Any) -> Attribute:
    """Return an attribute with the id of another object, which ``field`` refers to."""
    return Attribute(
        name=name,
        **{
            "option": option or identifier(),
            "read": lambda current: reference(current.get(field)),
            "written": lambda identity: {field: {"id": identity}},
            **more,
        },
    )
