# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call of the API, as a handler sees it, and the answer a handler gives.

Handlers are plain functions without an await in them: each runs to its end before another one starts, inside one transaction of the
store. So whatever a handler reads is still true when it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, overload

from starlette.datastructures import QueryParams

from sandbox.metal.core.errors import not_found
from sandbox.metal.core.include import Wanted
from sandbox.metal.core.rendering import Rendering
from sandbox.metal.core.store import Record
from sandbox.metal.core.world import World

T = TypeVar("T")
R = TypeVar("R", bound=Record)

MAX_PER_PAGE = 1000


def whole_number(value: Any) -> int | None:
    """Return a number, or the one that a text has, as clients send both; None for anything else. Of digits beyond nine only those count."""
    if isinstance(value, str):
        sign, digits = (-1, value[1:]) if value.startswith("-") else (1, value)
        # Python refuses to read thousands of them.
        return sign * int(digits[:9]) if digits.isascii() and digits.isdecimal() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Caller(Protocol):
    """Whose token a call has. ``key``: its record. ``user_id``: for a project's key, the user in whose name it acts."""

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> Any: ...
    @property
    def user_id(self) -> str: ...
    def sees(self, project_id: str) -> bool: ...
    def owns(self, key: Any) -> bool: ...
    def is_member(self, organization: Any) -> bool: ...


@dataclass
class Reply:
    """``body`` None is an empty answer."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Call:
    """``path`` is without ``base``, which is ``/metal/v1`` or empty, as the client wrote it. ``body``: the JSON object sent, or empty."""

    world: World
    caller: Caller
    method: str
    base: str
    path: str
    params: Mapping[str, str]
    query: QueryParams
    body: dict[str, Any]
    # What was sent where that may be something else than an object: the default route of a BGP session is a bare boolean.
    bare: bool | None = None

    @property
    def id(self) -> str:
        return self.params["id"]

    @cached_property
    def wanted(self) -> Wanted:
        return Wanted.parse(self.query.getlist("include"), self.query.getlist("exclude"))

    @cached_property
    def rendering(self) -> Rendering:
        return Rendering(self.world, self.base)

    def shown(self, record: Record) -> dict[str, Any]:
        """A record, with what the call includes and excludes."""
        return self.rendering(record, self.wanted)

    def values(self, name: str) -> set[str]:
        """A list in the query: ``name=a,b``, ``name[]=a&name[]=b`` or ``name=a&name=b``."""
        given = [*self.query.getlist(name), *self.query.getlist(f"{name}[]")]
        return {part for each in given for part in each.split(",") if part}

    def field(self, name: str) -> Any:
        """A field of the body, or of the query: clients put flags, VLAN numbers and even labels in either place."""
        return self.body[name] if name in self.body else self.query.get(name)

    def flag(self, name: str) -> bool:
        value = self.field(name)
        return value is True or str(value).lower() in {"true", "1"}

    @overload
    def find(self, of: type[R], id_: str | None = None) -> R: ...

    @overload
    def find(self, of: str, id_: str | None = None) -> Any: ...

    def find(self, of: type[R] | str, id_: str | None = None) -> Any:
        """The record of the path (or ``id_``), of a kind that has a ``project_id``; 404 if it is not there or not the caller's."""
        record: Any = self.world.store[of].get(id_ or self.id)
        if record is None or not self.caller.sees(record.project_id):
            raise not_found()
        return record

    def number(self, name: str, default: int, maximum: int) -> int:
        """A number of the query between 1 and ``maximum``; others are brought into these bounds, and what is none is passed over (ours:
        the vendor's text has no 422 for lists)."""
        given = whole_number(self.query.get(name, "").strip())
        return default if given is None else min(max(given, 1), maximum)

    def page(self, key: str, records: list[T], render: Callable[[T], Any], *, per_page: int = 10) -> Reply:
        """One page of ``records`` under ``key``, with all links: ``next`` is present and null on the last page (recorded answers)."""
        records = self._sorted(records)
        page = self.number("page", 1, 100_000)
        size = self.number("per_page", per_page, MAX_PER_PAGE)
        last = max(1, -(-len(records) // size))

        def link(number: int) -> dict[str, str]:
            kept = [(name, value) for name, value in self.query.multi_items() if name not in {"page", "per_page"}]
            return {"href": f"{self.base}{self.path}?{QueryParams([*kept, ('page', str(number)), ('per_page', str(size))])}"}

        return Reply(
            {
                key: [render(each) for each in records[(page - 1) * size : page * size]],
                "meta": {
                    "first": link(1),
                    "previous": link(min(page - 1, last)) if page > 1 else None,
                    "self": link(page),
                    "next": link(page + 1) if page < last else None,
                    "last": link(last),
                    "total": len(records),
                    "current_page": page,
                    "last_page": last,
                },
            }
        )

    def _sorted(self, records: list[T]) -> list[T]:
        """By ``sort_by``, a field of the objects themselves, and ``sort_direction`` (vendor's OpenAPI text).

        Where it is offered the text does not say: here in all paged lists. Other fields are passed over (ours).
        """
        name = self.query.get("sort_by")
        values = {id(each): getattr(each, name, None) for each in records} if name else {}
        if not any(isinstance(value, str | int | float) for value in values.values()):
            return records
        # Those without a value come first; a number stands in for it, as None cannot be compared.
        return sorted(
            records,
            key=lambda each: (False, 0) if values[id(each)] is None else (True, values[id(each)]),
            reverse=self.query.get("sort_direction", "").lower() == "desc",
        )


Handler = Callable[[Call], Reply]


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    handler: Handler


def paths(method: str, handler: Handler, *of: str) -> list[Route]:
    return [Route(method, path, handler) for path in of]


def updates(path: str, handler: Handler) -> list[Route]:
    """The vendor's text says PUT, older clients send PATCH, the service took both."""
    return [Route("PUT", path, handler), Route("PATCH", path, handler)]
