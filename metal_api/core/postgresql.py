# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PostgreSQL as the database of a store: one connection, on which every change is one statement and one round trip.

The schema ``metal`` has the table ``records``, and ``server`` with a single row: the version of this layout and the number of changes so
far. By this number the outcome of a change whose answer was lost is found out, never guessed: it is stored if the number has
grown. And a change fails if another process has written meanwhile.

An advisory lock, held as long as the connection, keeps other servers away. A new connection gets it only after the old session has ended:
when it reads the number, no transaction of that session can be committed any more.

A store's changes run on the event loop. They are limited to :data:`CHANGE_WITHIN`, after which the connection counts as lost. Connecting
runs in a thread.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, LiteralString

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from metal_api.core.database import Change, DatabaseError, ReplacedError, UnusableError

LOG = logging.getLogger(__name__)

OLDEST: Final = 12
"""Major version of PostgreSQL: since 12 it ends connections whose other side is gone within a time that the client sets."""
LAYOUT: Final = 1
CHANGE_WITHIN: Final = 5.0
"""Seconds, in which the event loop may wait for the database."""
_START_WITHIN: Final = 60.0
_LOCK_WITHIN: Final = 5.0
_LOCK: Final = int.from_bytes(b"metal", "big")

_HINTS: Final = {
    r"password authentication failed|no password supplied": (
        "The password is read from ~/.pgpass (PGPASSFILE), PGPASSWORD or the URL in --database-url-file"
    ),
    r'database ".*" does not exist': "Create it with createdb, owned by the user of the URL",
    r'role ".*" does not exist': "Create the user with createuser",
    r"no encryption|SSL off|root certificate|certificate verify": (
        "For TLS add ?sslmode=verify-full&sslrootcert=FILE to the URL, with the CA bundle of the server's certificate"
    ),
    r"does not support SSL": "Set ssl = on in PostgreSQL, or add ?sslmode=disable to the URL on a network of your own",
    r"no pg_hba.conf entry": "Admit this user, database and address in pg_hba.conf",
    r"read-only|hot standby|recovery": "Name the primary; several hosts may be listed: postgresql://USER@HOST1,HOST2/DATABASE",
    r"refused|No such file|timeout|translate|resolve|unreachable|No route": (
        "Check that PostgreSQL runs and listens there; for its socket on this computer add ?host=/run/postgresql"
    ),
}
"""Patterns in the messages of libpq and the server -> what to do."""

_SETTINGS: Final[dict[LiteralString, LiteralString]] = {
    "search_path": "metal",
    # When the computer of this process fails, another server gets the lock after some 20 seconds.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
_LAYOUT: Final[tuple[LiteralString, ...]] = (
    "CREATE TABLE server (layout integer NOT NULL, changes bigint NOT NULL)",
    # The row number keeps the order of creation.
    "CREATE TABLE records (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, id text NOT NULL, body text NOT NULL,"
    " UNIQUE (kind, id))",
)
# The column changes is NOT NULL: the statement fails unless the number is what this process left.
_CHANGE: Final = """
WITH counted AS (UPDATE server SET changes = CASE changes WHEN %(before)s THEN %(after)s END),
deleted AS (
    DELETE FROM records USING unnest(%(deleted_kinds)s::text[], %(deleted_ids)s::text[]) AS gone (kind, id)
    WHERE records.kind = gone.kind AND records.id = gone.id
)
INSERT INTO records (kind, id, body)
SELECT kind, id, body FROM unnest(%(kinds)s::text[], %(ids)s::text[], %(bodies)s::text[]) WITH ORDINALITY AS given (kind, id, body, number)
ORDER BY number
ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body
"""


class _Connection(psycopg.Connection[TupleRow]):
    """A connection whose calls end at ``deadline``, of ``time.monotonic()``, also when the server does not answer."""

    deadline = 0.0

    def within(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        left = max(0.0, self.deadline - time.monotonic())
        return super().wait(gen, interval, left if timeout is None else min(left, timeout))


class PostgresqlDatabase:
    """A database by its URL (``postgresql://USER@HOST/DATABASE``), locked for this process. Raises :class:`UnusableError`.

    ``is_snapshot``: one to read from, as of one moment, also while a server uses it.
    """

    def __init__(self, url: str, *, is_snapshot: bool = False) -> None:
        self._parameters = parameters(url)
        self.name = shown(url)
        # More for the content of a whole database.
        self.change_within = CHANGE_WITHIN
        self._is_snapshot = is_snapshot
        self._application = f"metal_api {os.getpid()}@{socket.gethostname()}"[:63]
        # Of the last connection that had the lock.
        self._session = 0
        self._is_in_doubt = False
        self._fresh: tuple[_Connection, int] | None = None
        connection, self._changes = self._connect()
        self._connection: _Connection | None = connection
        self._session = connection.info.backend_pid

    @property
    def is_up(self) -> bool:
        return self._connection is not None

    # --- content

    def create(self, tables: Iterable[str]) -> None:
        """Create schema ``metal``; ``tables`` are rows of one table there."""
        connection = self._connected
        connection.within(_START_WITHIN)
        try:
            if not _exists(connection):
                with connection.transaction():
                    connection.execute("CREATE SCHEMA IF NOT EXISTS metal")
                    for statement in _LAYOUT:
                        connection.execute(statement)
                    connection.execute("INSERT INTO server VALUES (%s, 0)", (LAYOUT,))
        except psycopg.errors.InsufficientPrivilege as error:
            user, name = connection.info.user, connection.info.dbname
            raise UnusableError(
                f"{self.name}: tables cannot be created in schema metal ({_flat(error)}). "
                f"Let user {user} own the database: ALTER DATABASE {name} OWNER TO {user}"
            ) from None
        except psycopg.Error as error:
            raise UnusableError(f"{self.name}: tables cannot be created: {_flat(error)}") from None

    def tables(self) -> list[str]:
        if not _exists(self._connected):
            return []
        return [kind for (kind,) in self._read("SELECT DISTINCT kind FROM records ORDER BY kind")]

    def rows(self, table: str) -> Iterator[tuple[str, str]]:
        yield from self._read("SELECT id, body FROM records WHERE kind = %s ORDER BY n", table)

    def _read(self, query: LiteralString, *values: str) -> list[TupleRow]:
        connection = self._connected
        connection.within(_START_WITHIN)
        try:
            return connection.execute(query, values).fetchall()
        except psycopg.Error as error:
            raise UnusableError(f"{self.name} cannot be read: {_flat(error)}") from None

    def write(self, changes: Sequence[Change]) -> None:
        connection = self._connection
        if connection is None:
            raise DatabaseError(is_in_doubt=False)
        stored = [change for change in changes if change[2] is not None]
        deleted = [change for change in changes if change[2] is None]
        connection.within(self.change_within)
        try:
            connection.execute(
                _CHANGE,
                {
                    "before": self._changes,
                    "after": self._changes + 1,
                    "kinds": [kind for kind, _id, _body in stored],
                    "ids": [id_ for _kind, id_, _body in stored],
                    "bodies": [body for _kind, _id, body in stored],
                    "deleted_kinds": [kind for kind, _id, _body in deleted],
                    "deleted_ids": [id_ for _kind, id_, _body in deleted],
                },
            )
        except psycopg.Error as error:
            # An error of the statement undoes it. FATAL, the end of the session, may come after its commit.
            self._is_in_doubt = error.diag.severity_nonlocalized != "ERROR"
            self._lose(error)
            raise DatabaseError(is_in_doubt=self._is_in_doubt) from None
        self._changes += 1

    # --- connection

    @property
    def _connected(self) -> _Connection:
        if self._connection is None:
            raise UnusableError(f"{self.name}: the connection is lost")
        return self._connection

    def check(self) -> None:
        connection = self._connection
        if connection is None:
            raise DatabaseError(is_in_doubt=False)
        connection.within(CHANGE_WITHIN)
        try:
            connection.execute("SELECT")
        except psycopg.Error as error:
            self._lose(error)
            raise DatabaseError(is_in_doubt=False) from None

    def reconnect(self) -> None:
        connection, changes = self._connect()
        grown = changes - self._changes
        if grown != 0 and not (grown == 1 and self._is_in_doubt):
            connection.close()
            raise ReplacedError(
                f"{self.name} has another state than this server left in it ({changes} changes instead of {self._changes}): another server "
                "has used it, or it was restored, or a failover has lost changes. Start this server again: it reads the state anew"
            )
        self._fresh = connection, changes

    def settle(self) -> bool:
        if self._fresh is None:
            raise RuntimeError("settle without reconnect")
        (self._connection, changes), self._fresh = self._fresh, None
        self._session = self._connection.info.backend_pid
        is_stored, self._changes, self._is_in_doubt = changes > self._changes, changes, False
        return is_stored

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _lose(self, error: psycopg.Error) -> None:
        LOG.error("%s is lost, changes are refused until it answers again: %s", self.name, _flat(error))
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> tuple[_Connection, int]:
        """Return a new connection, with the lock unless for a snapshot, and the number of changes. Raises :class:`UnusableError`."""
        try:
            connection = _Connection.connect(**self._parameters, application_name=self._application, autocommit=True)
        except psycopg.Error as error:
            raise UnusableError(f"{self.name} cannot be used: {explained(_flat(error))}") from None
        try:
            connection.within(_START_WITHIN)
            version = connection.info.server_version // 10000
            if version < OLDEST:
                raise UnusableError(f"{self.name} is PostgreSQL {version}, which is too old: version {OLDEST} or newer is needed")  # noqa: TRY301
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            if self._is_snapshot:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            else:
                self._lock(connection)
            return connection, self._count(connection)
        except psycopg.Error as error:
            connection.close()
            raise UnusableError(f"{self.name} cannot be used: {_flat(error)}") from None
        except UnusableError:
            connection.close()
            raise

    def _count(self, connection: _Connection) -> int:
        if not _exists(connection):
            return 0
        row = connection.execute("SELECT layout, changes FROM server").fetchone()
        layout, changes = row or (LAYOUT, -1)
        if layout > LAYOUT:
            raise UnusableError(
                f"{self.name} was written by a newer version of this program (layout {layout}, this version knows {LAYOUT}): "
                "update this program, or restore a backup into another database"
            )
        return int(changes)

    def _lock(self, connection: _Connection) -> None:
        """Take the lock; wait a little for it, since PostgreSQL may not have noticed yet that a process has ended."""
        deadline = time.monotonic() + _LOCK_WITHIN
        while not _value(connection, "SELECT pg_try_advisory_lock(%s)", _LOCK):
            holder = connection.execute(
                "SELECT pid, application_name, coalesce(host(client_addr), ''), to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')"
                " FROM pg_catalog.pg_locks JOIN pg_catalog.pg_stat_activity USING (pid)"
                " WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32) + objid::bigint = %s"
                " AND pg_locks.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())",
                (_LOCK,),
            ).fetchone()
            session, application, address, connected_at = holder or (0, "unknown", "", None)
            if session and session == self._session:
                # The last session of this process: PostgreSQL has not noticed its loss.
                connection.execute("SELECT pg_terminate_backend(%s)", (session,))
            if time.monotonic() > deadline and session and session == self._session:
                raise UnusableError(f"{self.name}: the last session of this server (PostgreSQL's process {session}) has not ended yet")
            if time.monotonic() > deadline:
                process, _at, host = application.removeprefix("metal_api ").partition("@")
                place, moment = host or address or "an unknown computer", connected_at or "an unknown time"
                raise UnusableError(
                    f"{self.name} is used by another server: process {process} on {place}, connected since {moment}. "
                    "Stop that server, or use another database"
                )
            time.sleep(0.1)


def parameters(url: str) -> dict[str, Any]:
    """Return libpq's parameters for a URL, with limits of time, and TLS to other computers. Raises :class:`UnusableError`."""
    if not re.match(r"postgres(ql)?://", url):
        raise UnusableError("the database is not a URL: write it as postgresql://USER@HOST/DATABASE")
    try:
        options = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.Error as error:
        raise UnusableError(f"the URL of the database is not valid: {_flat(error)}") from None
    defaults: dict[str, Any] = {
        "connect_timeout": 5,
        "tcp_user_timeout": int(CHANGE_WITHIN * 1000),
        "keepalives_idle": 5,
        "keepalives_interval": 5,
        "keepalives_count": 2,
        "target_session_attrs": "read-write",
        "client_encoding": "UTF8",
    }
    hosts = str(options.get("host") or os.environ.get("PGHOST", "")).split(",")
    if "PGSSLMODE" not in os.environ and not all(_is_local(host) for host in hosts):
        defaults["sslmode"] = "verify-full"
    return defaults | options


def _is_local(host: str) -> bool:
    return not host or host.startswith(("/", "@", "127.")) or host in {"localhost", "::1"}


def shown(url: str) -> str:
    """Return a URL without its password and parameters."""
    options = conninfo_to_dict(url)
    user, port = options.get("user"), options.get("port")
    host = options.get("host") or options.get("hostaddr") or ""
    address = f"?host={host}" if str(host).startswith("/") else ""
    place = "" if address else f"{host}{f':{port}' if port else ''}"
    return f"postgresql://{f'{user}@' if user else ''}{place}/{options.get('dbname') or ''}{address}"


def explained(message: str) -> str:
    """Return a message of libpq with what to do."""
    hint = next((hint for pattern, hint in _HINTS.items() if re.search(pattern, message)), "")
    return f"{message}. {hint}" if hint else message


def _flat(error: psycopg.Error) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _exists(connection: _Connection) -> bool:
    return bool(_value(connection, "SELECT to_regclass('metal.server') IS NOT NULL"))


def _value(connection: _Connection, query: LiteralString, *values: object) -> Any:
    row = connection.execute(query, values or None).fetchone()
    return row[0] if row else None
