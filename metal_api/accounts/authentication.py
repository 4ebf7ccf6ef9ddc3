# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Authentication: a user's key has access to all projects of the user, a project's key to that project."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from metal_api.accounts.record import ApiKey, Organization, Project, User
from metal_api.core.errors import forbidden, unauthorized
from metal_api.core.store import Store
from metal_api.core.world import World


@dataclass(frozen=True)
class Caller:
    """The owner of a token. ``name``: for records of requests, without secrets. ``user_id``: of a project's key, the user it acts for."""

    name: str
    key: ApiKey
    user_id: str
    store: Store

    def sees(self, project_id: str) -> bool:
        """Return whether the caller has access to a project: of a user's key, in its organizations or as a member of the project."""
        if self.key.project_id is not None:
            return self.key.project_id == project_id
        project = self.store[Project].get(project_id)
        if project is None:
            return False
        return self.user_id in project.member_ids or self.is_member(self.store[Organization][project.organization_id])

    def owns(self, key: Any) -> bool:
        """Return whether the caller may manage a key: of a project with access, or, for a user's key, of the same user."""
        if key.project_id is not None:
            return self.sees(key.project_id)
        return self.key.project_id is None and key.user_id == self.user_id

    def is_member(self, organization: Organization) -> bool:
        return not organization.member_ids or self.user_id in organization.member_ids


class Authentication:
    """Finds the caller of a token."""

    def __init__(self, world: World) -> None:
        self._store = world.store

    def authenticate(self, token: str, method: str) -> Caller:
        """Return the owner of ``token``. Raises 401 for an unknown token, 403 for a write with a read-only one."""
        caller = self.owner(token)
        if caller is None:
            raise unauthorized()
        if caller.key.read_only and method not in {"GET", "HEAD", "OPTIONS"}:
            raise forbidden()
        return caller

    def owner(self, token: str) -> Caller | None:
        store = self._store
        key = store[ApiKey].first("token", token)
        if key is None:
            return None
        if key.user_id is not None:
            user = store[User][key.user_id]
            return Caller(user.email, key, user.id, store)
        # A project's key acts for the first member of its organization (ours).
        project = store[Project][str(key.project_id)]
        members = store[Organization][project.organization_id].member_ids
        user_id = members[0] if members else next(iter(store[User])).id
        return Caller(f"project {key.project_id} key {key.id[:8]}", key, user_id, store)

    def knows(self, token: str) -> bool:
        return self._store[ApiKey].first("token", token) is not None

    def name_of(self, token: str) -> str:
        """Return the owner's name for records of requests, for an unknown token its short fingerprint."""
        caller = self.owner(token)
        if caller is not None:
            return caller.name
        return f"unknown {hashlib.sha256(token.encode()).hexdigest()[:8]}" if token else "nobody"

    def tokens(self) -> list[str]:
        return [key.token for key in self._store[ApiKey]]
