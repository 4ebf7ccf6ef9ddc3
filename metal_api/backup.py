# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backup and restore of a state folder: one archive with the state, the CA and the token.

The database of an Ironic of the server's own is not in it: its nodes are created again, from the state and the rack file. The
archive is the same for SQLite and PostgreSQL: it contains the state as ``metal.sqlite``.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metal_api.core.database import Database, DatabaseError, SqliteDatabase, UnusableError
from metal_api.core.world import STATE
from metal_api.database_option import PLACE, check_place, open_database, write_place
from metal_api.state_folder import StartError, locked

FILES: Final = ("token", "tls/ca.pem", "tls/ca.key", "audit.log")
"""Files that are archived beside the database; all others are made at the next start."""
_OF_OLDER_VERSIONS: Final = ("ironic/ironic.sqlite", "ironic/password", "ironic/database-is-complete")
"""Files of archives of older versions that are not restored."""
RESTORED_WITHIN: Final = 600.0
"""Seconds in which PostgreSQL has to store the whole state."""


def backup(state: Path, archive: Path, url: str | None = None) -> list[str]:
    """Write a state folder to ``archive`` (gzip), also while its server runs. Returns the names in it. Raises :class:`StartError`.

    ``url``: of the PostgreSQL database with the state. It contains secrets: the token and the CA's key. Its owner alone
    may read it.
    """
    check_place(state, url)
    if url is None and not (state / STATE).is_file():
        raise StartError(f"--state {state}: no state of a server is there")
    if archive.exists():
        raise StartError(f"{archive} exists already: name another file")
    fresh = archive.with_name(archive.name + ".new")
    try:
        fresh.unlink(missing_ok=True)
        fresh.touch(mode=0o600)
        with tempfile.TemporaryDirectory(dir=fresh.parent, prefix="backup-") as folder, tarfile.open(fresh, "w:gz") as written:
            copy = Path(folder) / "copy.sqlite"
            if url is not None:
                _read(url, copy)
            else:
                _copy(state / STATE, copy)
            written.add(copy, STATE)
            for name in FILES:
                if (state / name).is_file():
                    written.add(state / name, name)
            names = written.getnames()
        fresh.replace(archive)
    except (OSError, sqlite3.Error, UnusableError, DatabaseError) as error:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise StartError(f"the backup {archive} cannot be written: {error}") from None
    return names


def restore(archive: Path, state: Path, url: str | None = None) -> list[str]:
    """Make the state folder of a backup, which must not have a state yet. Returns the names in it. Raises :class:`StartError`.

    ``url``: of an empty PostgreSQL database, which gets the state.
    """
    with locked(state, "server"), contextlib.ExitStack() as closing:
        if (state / STATE).exists() or (state / PLACE).exists():
            raise StartError(f"--state {state}: there is a state already; restore into an empty folder")
        database = None
        if url is not None:
            database = closing.enter_context(contextlib.closing(open_database(url)))
            database.change_within = RESTORED_WITHIN
            if any(any(True for _row in database.rows(table)) for table in database.tables()):
                raise StartError(f"{database.name}: there is a state already; restore into an empty database")
        try:
            with tarfile.open(archive, "r:gz") as read, _restored(state) as folder:
                known = {STATE, *FILES, *_OF_OLDER_VERSIONS}
                names = read.getnames()
                if unknown := sorted(set(names) - known):
                    raise StartError(f"{archive} is no backup of a server: it has {', '.join(unknown[:3])}")
                if STATE not in names:
                    raise StartError(f"{archive} is no backup of a server: {STATE} is missing")
                for member in read.getmembers():
                    if member.name not in _OF_OLDER_VERSIONS:
                        _extract(read, member, folder / member.name)
                _check(folder / STATE, STATE)
                if database is not None:
                    with contextlib.closing(SqliteDatabase(folder / STATE)) as content:
                        _fill(database, content)
                    for left in folder.glob(f"{STATE}*"):
                        left.unlink()
            if database is not None:
                write_place(state, database.name)
        except (OSError, tarfile.TarError, EOFError, zlib.error, sqlite3.Error, UnusableError, DatabaseError) as error:
            raise StartError(f"the backup {archive} cannot be restored: {error}") from None
    return names


def _read(url: str, target: Path) -> None:
    """Copy the content of a PostgreSQL database, as of one moment, to a file."""
    with contextlib.closing(open_database(url, is_snapshot=True)) as database, contextlib.closing(SqliteDatabase(target)) as copy:
        if not database.tables():
            raise StartError(f"{database.name}: no state of a server is there")
        _fill(copy, database)
        # One file: what is in the write-ahead log would be missing in the archive.
        copy.connection.execute("PRAGMA journal_mode=DELETE")


def _fill(target: Database, source: Database) -> None:
    """Copy all rows, in one change. Raises :class:`UnusableError` and :class:`DatabaseError`."""
    tables = source.tables()
    if unknown := [name for name in tables if not re.fullmatch(r"[a-z_]+", name)]:
        raise UnusableError(f"the state has a table {unknown[0]!r}, which no server writes")
    target.create(tables)
    target.write([(table, id_, body) for table in tables for id_, body in source.rows(table)])


@contextlib.contextmanager
def _restored(state: Path) -> Iterator[Path]:
    """Yield a folder whose content is moved into ``state`` when all of it is there; the state's database comes last."""
    with tempfile.TemporaryDirectory(dir=state, prefix="restore-") as folder:
        yield Path(folder)
        for name in (*FILES, STATE):
            made = Path(folder) / name
            if made.exists():
                (state / name).parent.mkdir(exist_ok=True, mode=0o700)
                made.replace(state / name)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        raise StartError(f"the archive is no backup of a server: {member.name} is no file")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with content, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while block := content.read(1 << 20):
            file.write(block)


def _check(path: Path, name: str) -> None:
    """Raise ``sqlite3.DatabaseError`` for a restored database that is damaged."""
    if not path.exists():
        return
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        (result,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if result != "ok":
        raise sqlite3.DatabaseError(f"{name}: {result}")


def _copy(source: Path, target: Path) -> None:
    """Copy a database as of one moment, also while another process writes it."""
    with (
        contextlib.closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as read,
        contextlib.closing(sqlite3.connect(target)) as write,
    ):
        target.chmod(0o600)
        read.backup(write)
