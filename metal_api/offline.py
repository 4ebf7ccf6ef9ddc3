# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of the state of a server that does not run."""

from __future__ import annotations

import contextlib
import secrets
import uuid
from pathlib import Path

from metal_api.accounts.record import ApiKey, User
from metal_api.core.database import DatabaseError, SqliteDatabase, UnusableError
from metal_api.core.store import Store
from metal_api.core.world import STATE, World
from metal_api.database_option import check_place, open_database
from metal_api.resources import RESOURCES
from metal_api.serve import TOKEN
from metal_api.state_folder import StartError, locked, write_private


def make_key(state: Path, url: str | None = None) -> Path:
    """Make an API key of the first user that may write, and return the file with its token. Raises :class:`StartError`.

    ``url``: of the PostgreSQL database with the state.
    """
    if url is None and not (state / STATE).is_file():
        check_place(state, url)
        raise StartError(f"--state {state}: no state of a server is there")
    with locked(state, "server"), contextlib.ExitStack() as closing:
        check_place(state, url)
        try:
            database = open_database(url) if url is not None else SqliteDatabase(state / STATE, is_durable=True)
            closing.callback(database.close)
            store = Store(database, [kind for resource in RESOURCES for kind in resource.kinds])
            user = next(iter(store[User]), None)
            if user is None:
                raise StartError(f"--state {state}: the state has no user, as before the first start of a server")
            now = World.now()
            key = ApiKey(
                id=str(uuid.uuid4()),
                token=secrets.token_urlsafe(24),
                description="made by the command key",
                read_only=False,
                user_id=user.id,
                created_at=now,
                updated_at=now,
            )
            store.put(key)
            write_private(state / TOKEN, key.token + "\n")
        except (UnusableError, DatabaseError, OSError) as error:
            raise StartError(str(error)) from None
    return state / TOKEN
