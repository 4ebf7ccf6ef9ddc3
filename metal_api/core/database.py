# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The databases that a store can have: what all of them do, and SQLite. PostgreSQL: metal_api/core/postgresql.py."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from metal_api.core.errors import unprocessable

LOG = logging.getLogger(__name__)

VALUES: Final = "named_values"
"""A table of every database, whose ids are names of values."""

NOT_STORED: Final = "The database cannot store changes now. Nothing was changed. Try again later."
IN_DOUBT: Final = (
    "The database did not confirm this change. Whether it is stored is found out when the database answers again: "
    "read the object before you try again."
)

Change = tuple[str, str, str | None]
"""Table, id and body of a row; None as body deletes the row."""


class DatabaseError(Exception):
    """A change is not stored, or (``is_in_doubt``) perhaps not. The message is for the client that requested the change."""

    def __init__(self, *, is_in_doubt: bool) -> None:
        super().__init__(IN_DOUBT if is_in_doubt else NOT_STORED)
        self.is_in_doubt = is_in_doubt


class UnusableError(Exception):
    """A database cannot be used; the message is one sentence for the operator."""


class ReplacedError(UnusableError):
    """A database does not have the state that this process left in it: what is in memory is not true any more."""


class Database(Protocol):
    """Tables of rows with a unique id and a body, both text, in order of creation. One process writes at a time.

    After :class:`DatabaseError` the database is down until :meth:`reconnect` and :meth:`settle` have succeeded.
    """

    @property
    def name(self) -> str:
        """The name of the database in messages, without secrets."""

    @property
    def is_up(self) -> bool:
        """Whether changes can be stored, as far as is known."""

    def create(self, tables: Iterable[str]) -> None:
        """Create the tables that do not exist. Table names are identifiers of this program, never input."""

    def tables(self) -> list[str]:
        """Return the names of all tables."""

    def rows(self, table: str) -> Iterator[tuple[str, str]]:
        """Return id and body of all rows, in order of creation."""

    def write(self, changes: Sequence[Change]) -> None:
        """Store all changes or none. Raises :class:`DatabaseError`, and 422 for a change that is too large for the database."""

    def check(self) -> None:
        """Find out whether changes can be stored. Raises :class:`DatabaseError`."""

    def reconnect(self) -> None:
        """Reconnect a database that is down; in a thread, since it needs seconds. Raises :class:`UnusableError`."""

    def settle(self) -> bool:
        """Use what :meth:`reconnect` has made, and return whether the change that was in doubt is stored."""

    def close(self) -> None: ...


class SqliteDatabase:
    """A file, which its owner alone may read: it contains tokens and userdata.

    With a write-ahead log a commit has reached the operating system when it returns, so ``kill -9`` loses nothing. ``is_durable``: it has
    reached the disk, too (``synchronous=FULL``), so a power failure loses nothing either; else a commit takes microseconds.

    Raises :class:`UnusableError`.
    """

    def __init__(self, path: Path, *, is_durable: bool = False) -> None:
        path.touch(mode=0o600)
        self.name = str(path)
        self.connection = sqlite3.connect(path, isolation_level=None)
        with self._usable():
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.execute(f"PRAGMA synchronous={'FULL' if is_durable else 'NORMAL'}")
        self._statements: dict[str, tuple[str, str]] = {}
        self.is_up = True

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            self.connection.close()
            raise UnusableError(f"{self.name} cannot be used: {error}") from error

    def create(self, tables: Iterable[str]) -> None:
        with self._usable():
            self.connection.execute("BEGIN")
            for table in tables:
                # The row number keeps the order of creation over a restart.
                columns = "name TEXT PRIMARY KEY" if table == VALUES else "n INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL"
                self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns}, body TEXT NOT NULL)")
            self.connection.execute("COMMIT")

    def tables(self) -> list[str]:
        rows = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        return [name for (name,) in rows if name != "journal"]

    def rows(self, table: str) -> Iterator[tuple[str, str]]:
        with self._usable():
            yield from self.connection.execute(f"SELECT {_key(table)}, body FROM {table} ORDER BY rowid")  # noqa: S608 - see Database.create

    def write(self, changes: Sequence[Change]) -> None:
        execute = self.connection.execute
        try:
            execute("BEGIN")
            try:
                for table, id_, body in changes:
                    upsert, delete = self._statements.get(table) or self._prepared(table)
                    if body is None:
                        execute(delete, (id_,))
                    else:
                        execute(upsert, (id_, body))
                execute("COMMIT")
            except BaseException:
                # SQLite ends the transaction itself where the disk is full.
                if self.connection.in_transaction:
                    execute("ROLLBACK")
                raise
        except (sqlite3.DataError, OverflowError) as error:
            # The request is at fault and not the database, which stores all others.
            raise unprocessable(f"The change is too large for the database: {error}") from None
        except sqlite3.Error as error:
            LOG.error("%s cannot be written: %s", self.name, error)  # noqa: TRY400 - its words suffice
            self.is_up = False
            raise DatabaseError(is_in_doubt=False) from None

    def _prepared(self, table: str) -> tuple[str, str]:
        key = _key(table)
        self._statements[table] = (
            f"INSERT INTO {table} ({key}, body) VALUES (?, ?) ON CONFLICT ({key}) DO UPDATE SET body = excluded.body",  # noqa: S608 - see Database.create
            f"DELETE FROM {table} WHERE {key} = ?",  # noqa: S608 - see Database.create
        )
        return self._statements[table]

    def check(self) -> None:
        """Do nothing: a file has no connection that could be lost."""

    def reconnect(self) -> None:
        """Do nothing: the next change shows whether the file can be written."""

    def settle(self) -> bool:
        self.is_up = True
        return False

    def close(self) -> None:
        self.connection.close()


def _key(table: str) -> str:
    return "name" if table == VALUES else "id"
