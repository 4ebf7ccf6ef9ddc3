# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A call of the API, which is a handler's argument, and the reply, which is its result.

Handlers are functions without an await: each runs to its end before another one starts, in one transaction of the store. So what a handler
reads is still true when it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, overload

from starlette.datastructures import QueryParams

from metal_api.core.errors import not_found
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.store import Record
from metal_api.core.world import World

T = TypeVar("T")
R = TypeVar("R", bound=Record)

MAX_PER_PAGE = 1000


def whole_number(value: Any) -> int | None:
    """Return a number, also from its text, as clients send both; None for anything else. Of a text the first nine digits are read."""
    if isinstance(value, str):
        sign, digits = (-1, value[1:]) if value.startswith("-") else (1, value)
        # Python refuses to parse thousands of digits.
        return sign * int(digits[:9]) if digits.isascii() and digits.isdecimal() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Caller(Protocol):
    """The owner of a call's token. ``key``: the API key's record. ``user_id``: of a project's key, the user it acts for."""

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
    """A handler's answer. ``body`` None: the answer is empty."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Call:
    """``base``: ``/metal/v1`` or empty, as the client wrote it; ``path`` is without it. ``body``: the JSON object sent, or empty."""

    world: World
    caller: Caller
    method: str
    base: str
    path: str
    params: Mapping[str, str]
    query: QueryParams
    body: dict[str, Any]
    # A body that is no object: the default route of a BGP session is a bare boolean.
    bare: bool | None = None

    @property
    def id(self) -> str:
        return self.params["id"]

    @cached_property
    def include(self) -> Include:
        return Include.parse(self.query.getlist("include"), self.query.getlist("exclude"))

    @cached_property
    def rendering(self) -> Rendering:
        return Rendering(self.world, self.base, self.caller.sees)

    def shown(self, record: Record) -> dict[str, Any]:
        """Return a record as JSON, with the parts that the call includes and excludes."""
        return self.rendering(record, self.include)

    def values(self, name: str) -> set[str]:
        """Return a list in the query: ``name=a,b``, ``name[]=a&name[]=b`` or ``name=a&name=b``."""
        texts = [*self.query.getlist(name), *self.query.getlist(f"{name}[]")]
        return {part for text in texts for part in text.split(",") if part}

    def field(self, name: str) -> Any:
        """Return a field of the body or of the query: clients send flags, VLAN numbers and labels in either."""
        return self.body[name] if name in self.body else self.query.get(name)

    def flag(self, name: str) -> bool:
        value = self.field(name)
        return value is True or str(value).lower() in {"true", "1"}

    @overload
    def find(self, of: type[R], id_: str | None = None) -> R: ...

    @overload
    def find(self, of: str, id_: str | None = None) -> Any: ...

    def find(self, of: type[R] | str, id_: str | None = None) -> Any:
        """Return the record of the path's id (or ``id_``), of a kind with ``project_id``. Raises 404 if the caller has none."""
        record: Any = self.world.store[of].get(id_ or self.id)
        if record is None or not self.caller.sees(record.project_id):
            raise not_found()
        return record

    def number(self, name: str, default: int, maximum: int) -> int:
        """Return a number of the query, limited to 1 to ``maximum``; ``default`` for what is no number.

        Ours: the vendor's OpenAPI text has no 422 for lists.
        """
        number = whole_number(self.query.get(name, "").strip())
        return default if number is None else min(max(number, 1), maximum)

    def page(self, key: str, records: list[T], render: Callable[[T], Any], *, per_page: int = 10) -> Reply:
        """Return one page of ``records`` under ``key``, with its links: ``next`` is null on the last page (recorded answers)."""
        records = self._sorted(records)
        page = self.number("page", 1, 100_000)
        size = self.number("per_page", per_page, MAX_PER_PAGE)
        last = max(1, -(-len(records) // size))

        def link(number: int) -> dict[str, str]:
            kept = [(name, value) for name, value in self.query.multi_items() if name not in {"page", "per_page"}]
            return {"href": f"{self.base}{self.path}?{QueryParams([*kept, ('page', str(number)), ('per_page', str(size))])}"}

        return Reply(
            {
                key: [render(record) for record in records[(page - 1) * size : page * size]],
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
        """Sort by ``sort_by``, a field of the objects, and ``sort_direction`` (vendor's OpenAPI text).

        The text does not name the lists that can be sorted: here all paged lists can. Unknown fields are ignored (ours).
        """
        name = self.query.get("sort_by")
        values = {id(record): getattr(record, name, None) for record in records} if name else {}
        if not any(isinstance(value, str | int | float) for value in values.values()):
            return records
        # Objects without a value come first; a number replaces None, which cannot be compared.
        return sorted(
            records,
            key=lambda record: (False, 0) if values[id(record)] is None else (True, values[id(record)]),
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
    """Return the routes of an update: the vendor's OpenAPI text has PUT, older clients send PATCH, the service accepted both."""
    return [Route("PUT", path, handler), Route("PATCH", path, handler)]
