# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""API keys: a user's key has access to all projects of the user, a project's key to that project. There is no GET by id."""

from __future__ import annotations

import secrets
import uuid

from metal_api.accounts.members import project_of
from metal_api.accounts.record import ApiKey
from metal_api.accounts.rendering import render_api_key
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.errors import forbidden, not_found


def list_user_keys(call: Call) -> Reply:
    return _list(call, call.world.store[ApiKey].matching("user", _user_id(call)))


def list_project_keys(call: Call) -> Reply:
    return _list(call, call.world.store[ApiKey].matching("project", project_of(call).id))


def _list(call: Call, keys: list[ApiKey]) -> Reply:
    """Return the keys, without pages (vendor's OpenAPI text), and for a read-only key without the tokens of other keys (ours)."""
    search, own = call.query.get("search", "").lower(), call.caller.key
    shown = [
        render_api_key(call.rendering, key, with_token=not own.read_only or key.id == own.id)
        for key in keys
        if search in key.description.lower()
    ]
    return Reply({"api_keys": shown})


def create_user_key(call: Call) -> Reply:
    return _create(call, user_id=_user_id(call))


def create_project_key(call: Call) -> Reply:
    return _create(call, project_id=project_of(call).id)


def _create(call: Call, **owner: str) -> Reply:
    now = call.world.now()
    key = ApiKey(
        id=str(uuid.uuid4()),
        token=secrets.token_urlsafe(24),
        description=str(call.field("description") or ""),
        read_only=call.flag("read_only"),
        created_at=now,
        updated_at=now,
        **owner,
    )
    return Reply(call.rendering(call.world.store.put(key)), 201)


def delete_key(call: Call) -> Reply:
    key = call.world.store[ApiKey].get(call.id)
    if key is None or not call.caller.owns(key):
        raise not_found()
    call.world.store.drop(key)
    return Reply(status=204)


def _user_id(call: Call) -> str:
    """Return the caller's user id. Raises 403 for a project's key, which belongs to no user."""
    if call.caller.key.project_id:
        raise forbidden()
    return call.caller.user_id


ROUTES: list[Route] = [
    *paths("GET", list_user_keys, "/user/api-keys"),
    *paths("POST", create_user_key, "/user/api-keys"),
    *paths("DELETE", delete_key, "/user/api-keys/{id}", "/api-keys/{id}"),
    *paths("GET", list_project_keys, "/projects/{id}/api-keys"),
    *paths("POST", create_project_key, "/projects/{id}/api-keys"),
]
