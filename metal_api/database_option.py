# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options ``--database`` and ``--database-url-file``: PostgreSQL instead of a file in the state folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metal_api.core.database import UnusableError
from metal_api.core.world import STATE
from metal_api.state_folder import StartError, write_private

if TYPE_CHECKING:
    from metal_api.core.postgresql import PostgresqlDatabase

PLACE: Final = "database"
"""In the state folder of a server with PostgreSQL: the URL of its database, without password."""


def database_url(option: str | None, file: Path | None) -> str | None:
    """Return the URL of these options, None for a file in the state folder. Raises :class:`StartError`."""
    if option and file is not None:
        raise StartError("--database and --database-url-file: name one of them")
    if file is not None:
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
            text = file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise StartError(f"--database-url-file {file}: {os.strerror(error.errno or 0)}") from None
        if mode & 0o077:
            raise StartError(f"--database-url-file {file} has mode {mode:04o}, others may read the password in it: chmod 600 {file}")
        _checked(f"--database-url-file {file}", text)
        return text
    if option and _checked("--database", option).get("password"):
        raise StartError(
            "--database has a password, which other users of this computer would see in the list of processes: "
            "put it into ~/.pgpass (PGPASSFILE), PGPASSWORD, or the URL into a file for --database-url-file"
        )
    return option


def _checked(option: str, url: str) -> dict[str, object]:
    # Here and not at the top, also below: SQLite needs no package.
    from metal_api.core.postgresql import parameters  # noqa: PLC0415

    try:
        return parameters(url)
    except UnusableError as error:
        raise StartError(f"{option}: {error}") from None


def open_database(url: str, *, is_snapshot: bool = False) -> PostgresqlDatabase:
    """Return the database. Raises :class:`StartError`."""
    from metal_api.core.postgresql import PostgresqlDatabase  # noqa: PLC0415

    try:
        return PostgresqlDatabase(url, is_snapshot=is_snapshot)
    except UnusableError as error:
        raise StartError(str(error)) from None


def check_place(state: Path, url: str | None) -> None:
    """Raises :class:`StartError` if the state of this folder is elsewhere: another start would begin with an empty one."""
    if url is not None and (state / STATE).exists():
        raise StartError(
            f"--state {state}: its state is in {STATE} there. To move it to PostgreSQL, stop the server, then use backup, and restore with "
            "--database and another folder"
        )
    if url is None and (state / PLACE).exists():
        place = (state / PLACE).read_text(encoding="utf-8").strip()
        raise StartError(f"--state {state}: its state is in PostgreSQL: add --database {place}")


def write_place(state: Path, name: str) -> None:
    write_private(state / PLACE, name + "\n")
