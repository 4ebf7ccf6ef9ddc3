# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who calls: a user's key sees all of the user's projects, a project's key that project."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sandbox.metal.errors import forbidden, unauthorized
from sandbox.metal.records import ApiKey
from sandbox.metal.store import Store


@dataclass(frozen=True)
class Caller:
    """``name`` is for the journal and holds no secret."""

    name: str
    key: ApiKey
    user_id: str

    def sees(self, project_id: str) -> bool:
        return self.key.project_id is None or self.key.project_id == project_id


def authenticate(store: Store, token: str, method: str) -> Caller:
    """The owner of ``token``. 401 for an unknown one, 403 for a write with a read-only one."""
    caller = owner(store, token)
    if caller is None:
        raise unauthorized()
    if caller.key.read_only and method not in {"GET", "HEAD", "OPTIONS"}:
        raise forbidden()
    return caller


def owner(store: Store, token: str) -> Caller | None:
    key = store.api_keys.first("token", token)
    if key is None:
        return None
    # A project's key acts for the user who owns the sandbox: there is one.
    user = store.users.get(key.user_id) or next(iter(store.users))
    return Caller(user.email if key.user_id else f"project {key.project_id} key {key.id[:8]}", key, user.id)


def who(store: Store, token: str) -> str:
    """The owner's name for the journal; for a token nobody has, a short fingerprint of it."""
    caller = owner(store, token)
    if caller is not None:
        return caller.name
    return f"unknown {hashlib.sha256(token.encode()).hexdigest()[:8]}" if token else "nobody"
