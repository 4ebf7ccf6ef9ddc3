# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH keys of the user and of projects. Fields may come in the query instead of the body (clients' code)."""

from __future__ import annotations

import base64
import hashlib
import uuid
from dataclasses import dataclass, replace

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project
from metal_api.core.body import Body
from metal_api.core.call import Call, Reply, Route, paths, updates
from metal_api.core.errors import forbidden, not_found, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with
from metal_api.core.store import JSON, Kind, Record
from metal_api.core.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class SshKey(Record):
    """A public key of a user or of a project."""

    label: str
    key: str
    fingerprint: str
    created_at: str
    updated_at: str
    tags: tuple[str, ...] = ()
    user_id: str | None = None
    project_id: str | None = None


def render_ssh_key(view: Rendering, key: SshKey, include: Include) -> JSON:
    owner = f"{view.base}/projects/{key.project_id}" if key.project_id else f"{view.base}/users/{key.user_id}"
    return {
        "id": key.id,
        "label": key.label,
        "key": key.key,
        "fingerprint": key.fingerprint,
        "tags": list(key.tags),
        "entity": {"href": owner},
        # An object: clients fail for a path (clients' code).
        "owner": {"href": owner},
        "user": {"href": owner} if key.user_id else None,
        "created_at": key.created_at,
        "updated_at": key.updated_at,
        "href": view.path("ssh-keys", key.id),
    }


def list_user_keys(call: Call) -> Reply:
    """List the keys of the user; with a project's key, which belongs to no user, those of the project (ours)."""
    if call.caller.key.project_id:
        return _list(call, call.world.store[SshKey].matching("project", call.caller.key.project_id))
    return _list(call, call.world.store[SshKey].matching("user", call.caller.user_id))


def list_project_keys(call: Call) -> Reply:
    return _list(call, call.world.store[SshKey].matching("project", project_of(call).id))


def _list(call: Call, keys: list[SshKey]) -> Reply:
    """Not paged (vendor's OpenAPI text)."""
    search = call.query.get("search", "").lower()
    matching = [key for key in keys if search in f"{key.label} {key.fingerprint} {key.key}".lower()]
    return Reply({"ssh_keys": [call.shown(key) for key in matching]})


def create_user_key(call: Call) -> Reply:
    if call.caller.key.project_id:
        raise forbidden()
    return _create(call, call.world.store[SshKey].matching("user", call.caller.user_id), user_id=call.caller.user_id)


def create_project_key(call: Call) -> Reply:
    project = project_of(call)
    return _create(call, call.world.store[SshKey].matching("project", project.id), project_id=project.id)


def _create(call: Call, present: list[SshKey], **owner: str) -> Reply:
    """Store the key unchanged, with its newline at the end, if any (clients' code)."""
    read = Body(call.body)
    attributes, problems = read.attributes("tags"), read.problems
    label, key = str(call.field("label") or ""), str(call.field("key") or "")
    if not label:
        problems.append("Label can't be blank")
    try:
        mark = fingerprint(key)
    except ValueError:
        mark = ""
        problems.append("Key is invalid" if key.strip() else "Key can't be blank")
    if mark and any(existing.fingerprint == mark for existing in present):
        problems.append("Fingerprint has already been taken")
    read.fail()
    now = call.world.now()
    fields = {**owner, **attributes}
    record = SshKey(id=str(uuid.uuid4()), label=label, key=key, fingerprint=mark, created_at=now, updated_at=now, **fields)
    return Reply(call.shown(call.world.store.put(record)), 201)


def _key(call: Call) -> SshKey:
    key = call.world.store[SshKey].get(call.id)
    if key is None or not call.caller.owns(key):
        raise not_found()
    return key


def show_key(call: Call) -> Reply:
    return Reply(call.shown(_key(call)))


def update_key(call: Call) -> Reply:
    key = _key(call)
    read = Body(call.body)
    changes = read.attributes("tags")
    read.fail()
    if call.field("label") is not None:
        changes["label"] = str(call.field("label"))
        if not changes["label"]:
            raise unprocessable("Label can't be blank")
    if call.field("key") is not None:
        try:
            changes |= {"key": str(call.field("key")), "fingerprint": fingerprint(str(call.field("key")))}
        except ValueError:
            raise unprocessable("Key is invalid") from None
    key = call.world.store.put(replace(key, updated_at=call.world.now(), **changes))
    return Reply(call.shown(key))


def delete_key(call: Call) -> Reply:
    call.world.store.drop(_key(call))
    return Reply(status=204)


def project_key(world: World, project: Project, label: str, key: str) -> SshKey:
    """Return the project's key with this text; create it if there is none. Raises ValueError for an invalid key."""
    mark, now = fingerprint(key), world.now()
    existing = [candidate for candidate in world.store[SshKey].matching("project", project.id) if candidate.fingerprint == mark]
    if existing:
        return existing[0]
    id_ = str(uuid.uuid4())
    return world.store.put(SshKey(id=id_, label=label, key=key, fingerprint=mark, project_id=project.id, created_at=now, updated_at=now))


def fingerprint(key: str) -> str:
    """Return the MD5 fingerprint of an OpenSSH public key, with colons. Raises ValueError for an invalid key."""
    digest = hashlib.md5(public_data(key), usedforsecurity=False).hexdigest()
    return ":".join(digest[at : at + 2] for at in range(0, 32, 2))


def public_data(key: str) -> bytes:
    """Return the binary form of an OpenSSH public key (RFC 4253, section 6.6). Raises ValueError for an invalid key."""
    parts = key.split()
    if len(parts) < 2 or not parts[0].startswith(("ssh-", "ecdsa-", "sk-")):
        raise ValueError("not an OpenSSH public key")
    return base64.b64decode(parts[1], validate=True)


ROUTES: list[Route] = [
    *paths("GET", list_user_keys, "/ssh-keys"),
    *paths("POST", create_user_key, "/ssh-keys"),
    *paths("GET", list_project_keys, "/projects/{id}/ssh-keys"),
    *paths("POST", create_project_key, "/projects/{id}/ssh-keys"),
    *paths("GET", show_key, "/ssh-keys/{id}"),
    *updates("/ssh-keys/{id}", update_key),
    *paths("DELETE", delete_key, "/ssh-keys/{id}"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[Kind(SshKey, "ssh_keys", "ssh-keys", render_ssh_key, keys={"user": lambda r: r.user_id, "project": lambda r: r.project_id})],
    on_erase={Project: drop_with(SshKey, "project")},
)
