# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the Metal API: all records in memory, each change in the database before its answer is sent.

Reads never use the database. Writes go through ``transaction()``, which is short, has no await and runs on the event loop: requests never
interleave in it, so no lock is needed.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

import orjson

from metal_api.core.database import VALUES, Database, DatabaseError, UnusableError

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An object in the store: a frozen dataclass of JSON values for each kind of object.

    A record never changes; ``dataclasses.replace`` creates its next version, which replaces it in the store. So a failed transaction is
    undone by restoring the old versions.
    """

    id: str


R = TypeVar("R", bound=Record)
Key = Callable[[Any], Hashable | None]
JSON = dict[str, Any]


def _not_shown(_rendering: Any, record: Any, *_include: Any) -> JSON:
    raise TypeError(f"{type(record).__name__} is not shown")


@dataclass(frozen=True)
class Kind(Generic[R]):
    """A kind of record: its table, its keys and its rendering.

    ``collection``: its part of an href, such as ``virtual-networks``. ``show``: renders a record; called with the rendering, the record and
    the included parts. ``brief``: renders the short form that is part of other objects; called with the rendering and the record.
    """

    type: type[R]
    table: str
    collection: str = ""
    show: Callable[[Any, Any, Any], JSON] = _not_shown
    brief: Callable[[Any, Any], JSON] = _not_shown
    keys: Mapping[str, Key] = field(default_factory=dict)


class Table(Generic[R]):
    """All records of one kind, by id and by further keys, each in order of creation."""

    def __init__(self, kind: Kind[R]) -> None:
        self.name = kind.table
        self._make: Callable[..., R] = kind.type
        fields = dataclasses.fields(kind.type)
        self._fields = tuple(attribute.name for attribute in fields)
        self._tuples = {attribute.name for attribute in fields if str(attribute.type).startswith("tuple")}
        self._rows: dict[str, R] = {}
        self._keys = kind.keys
        self._indexes: dict[str, dict[Hashable, dict[str, None]]] = {key: {} for key in kind.keys}

    def values(self, record: R) -> JSON:
        """Return field name -> value, ready for ``json.dumps``."""
        return {name: getattr(record, name) for name in self._fields}

    def read(self, values: JSON) -> None:
        """Add the record with these ``values``. Missing fields get their defaults, so that older state folders can be opened.

        Raises ValueError for fields that this version does not have: they would be lost with the next change.
        """
        if unknown := sorted(values.keys() - set(self._fields)):
            raise ValueError(f"{self.name} have the fields {', '.join(unknown)}, which this version does not know: a newer one wrote them")
        record = self._make(**{name: tuple(value) if name in self._tuples else value for name, value in values.items()})
        self.set(record.id, record)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        return iter(self._rows.values())

    def get(self, id_: object) -> R | None:
        """Return a record, None also for a value that is no id: request bodies contain any type."""
        return self._rows.get(id_) if isinstance(id_, str) else None

    def __getitem__(self, id_: str) -> R:
        return self._rows[id_]

    def matching(self, key: str, value: Hashable) -> list[R]:
        """Return the records whose ``key`` is ``value``."""
        return [self._rows[id_] for id_ in self._indexes[key].get(value, ())]

    def first(self, key: str, value: Hashable) -> R | None:
        for id_ in self._indexes[key].get(value, ()):
            return self._rows[id_]
        return None

    def count(self, key: str, value: Hashable) -> int:
        return len(self._indexes[key].get(value, ()))

    def set(self, id_: str, record: R | None) -> R | None:
        """Set or (None) remove a record in memory and return its previous version. Only for the store: the database is not changed."""
        old = self._rows.get(id_)
        for name, key in self._keys.items():
            before = key(old) if old is not None else None
            after = key(record) if record is not None else None
            if before == after:
                continue
            index = self._indexes[name]
            if before is not None:
                ids = index[before]
                del ids[id_]
                if not ids:
                    del index[before]
            if after is not None:
                index.setdefault(after, {})[id_] = None
        if record is None:
            self._rows.pop(id_, None)
        else:
            self._rows[id_] = record
        return old


@dataclass(frozen=True)
class Change:
    """A record that a transaction has changed: the values of its fields before and after, None for one that was not there."""

    table: str
    id: str
    old: JSON | None
    new: JSON | None


Undo = tuple[Table[Any], str, Record | None]
"""Table, id and previous version of a record that was changed, None for one that was not there."""
Observer = Callable[[Sequence[Change]], None]
"""Gets the changes of a transaction."""


@dataclass(frozen=True)
class _Doubt:
    """A transaction that the database did not confirm. ``context``: of its task, for the observer."""

    records: dict[tuple[Table[Any], str], Record | None]
    changes: list[Change]
    context: Context


class Store:
    """Tables of records, and named values. Raises :class:`UnusableError` for a database with something else.

    ``observe``: gets the changes of each transaction after its commit; None for no observer. ``failed``: called after a transaction that
    the database did not store or confirm; it is undone in memory then.
    """

    def __init__(self, database: Database, kinds: Iterable[Kind[Any]]) -> None:
        self._kinds: dict[type[Record], Kind[Any]] = {kind.type: kind for kind in kinds}
        self._tables: dict[type[Record] | str, Table[Any]] = {kind.type: Table(kind) for kind in self._kinds.values()}
        self._tables |= {table.name: table for table in list(self._tables.values())}
        self._undo: list[Undo] | None = None
        self._changed: dict[tuple[Table[Any], str], Record | None] = {}
        self._doubt: _Doubt | None = None
        self.observe: Observer | None = None
        self.failed: Callable[[], None] | None = None
        self.database = database
        try:
            self._read()
        except (ValueError, TypeError) as error:
            raise UnusableError(f"{database.name} cannot be used: {error}") from error

    def _read(self) -> None:
        """Read all tables, after making those that are missing."""
        self.database.create([*(table.name for table in self), VALUES])
        for table in self:
            for _id, body in self.database.rows(table.name):
                table.read(orjson.loads(body))

    @overload
    def __getitem__(self, of: type[R]) -> Table[R]: ...

    @overload
    def __getitem__(self, of: str) -> Table[Any]: ...

    def __getitem__(self, of: type[Record] | str) -> Table[Any]:
        """Return the table of a kind of record, by its name where the kind belongs to a resource that may not be imported."""
        return self._tables[of]

    def __iter__(self) -> Iterator[Table[Any]]:
        return (self._tables[record_type] for record_type in self._kinds)

    def kind(self, record: Record) -> Kind[Any]:
        return self._kinds[type(record)]

    def close(self) -> None:
        self.database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all changes inside, or none. A nested transaction is part of the outermost."""
        if self._undo is not None:
            yield
            return
        self._undo, self._changed = [], {}
        try:
            yield
            self._commit()
            self._committed(self._undo)
        except BaseException as error:
            for table, id_, old in reversed(self._undo):
                table.set(id_, old)
            if isinstance(error, DatabaseError):
                if error.is_in_doubt:
                    self._doubt = _Doubt(self._changed, self._changes(self._undo), copy_context())
                if self.failed is not None:
                    self.failed()
            raise
        else:
            if self._changed:
                self._report(self._changes(self._undo))
        finally:
            self._undo = None

    def _committed(self, undo: Sequence[Undo]) -> None:
        """Do nothing: a store that keeps previous versions gets them here, at the end of a transaction."""

    def reading(self) -> AbstractContextManager[None]:
        """Return the context of a call that only reads."""
        return self.transaction()

    def _report(self, changes: Sequence[Change]) -> None:
        """Give changes to the observer. What is committed is neither undone nor answered as failed when the observer fails."""
        if self.observe is None:
            return
        try:
            self.observe(changes)
        except Exception:
            LOG.exception("changes are stored, and not reported")

    def _changes(self, undo: list[Undo]) -> list[Change]:
        before: dict[tuple[Table[Any], str], Record | None] = {}
        for table, id_, old in undo:
            before.setdefault((table, id_), old)
        return [
            Change(table.name, id_, table.values(old) if old is not None else None, table.values(new) if new is not None else None)
            for (table, id_), old in before.items()
            for new in (self._changed[table, id_],)
        ]

    def _commit(self) -> None:
        if self._changed:
            self.database.write(
                [
                    (table.name, id_, orjson.dumps(table.values(record)).decode() if record is not None else None)
                    for (table, id_), record in self._changed.items()
                ]
            )

    def settle(self) -> None:
        """Use the database after its ``reconnect()``. A transaction that it did not confirm is repeated in memory if it was stored."""
        doubt, self._doubt = self._doubt, None
        if self.database.settle() and doubt is not None:
            for (table, id_), record in doubt.records.items():
                table.set(id_, record)
            doubt.context.run(self._report, doubt.changes)

    def put(self, record: R) -> R:
        """Add ``record``, or replace its earlier version."""
        self._change(self._tables[type(record)], record.id, record)
        return record

    def drop(self, record: Record) -> None:
        self._change(self._tables[type(record)], record.id, None)

    def _change(self, table: Table[Any], id_: str, record: Record | None) -> None:
        if self._undo is None:
            with self.transaction():
                self._change(table, id_, record)
            return
        self._undo.append((table, id_, table.set(id_, record)))
        self._changed[table, id_] = record

    def read_value(self, name: str) -> Any:
        """Return the JSON value of ``name``, None if there is none."""
        body = dict(self.database.rows(VALUES)).get(name)
        return orjson.loads(body) if body is not None else None

    def write_value(self, name: str, value: Any) -> None:
        self.database.write([(VALUES, name, orjson.dumps(value).decode())])
