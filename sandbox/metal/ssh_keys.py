# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH keys of the user and of projects. Fields may come in the query instead of the body (clients' code)."""

from __future__ import annotations

import uuid
from dataclasses import replace

from sandbox.metal.calls import Call, Reply, Route, paths, updates
from sandbox.metal.device_input import DeviceInput
from sandbox.metal.errors import forbidden, not_found, unprocessable
from sandbox.metal.records import SshKey
from sandbox.metal.world import fingerprint


def list_user_keys(call: Call) -> Reply:
    return _list(call, call.world.store.ssh_keys.by("user", call.caller.user_id))


def list_project_keys(call: Call) -> Reply:
    return _list(call, call.world.store.ssh_keys.by("project", call.project().id))


def _list(call: Call, keys: list[SshKey]) -> Reply:
    """Not paged (vendor's OpenAPI text)."""
    search = call.query.get("search", "").lower()
    found = [each for each in keys if search in f"{each.label} {each.fingerprint} {each.key}".lower()]
    return Reply({"ssh_keys": [call.rendering.ssh_key(each, call.wanted) for each in found]})


def create_user_key(call: Call) -> Reply:
    if call.caller.key.project_id:
        raise forbidden()
    return _create(call, call.world.store.ssh_keys.by("user", call.caller.user_id), user_id=call.caller.user_id)


def create_project_key(call: Call) -> Reply:
    project = call.project()
    return _create(call, call.world.store.ssh_keys.by("project", project.id), project_id=project.id)


def _create(call: Call, present: list[SshKey], **owner: str) -> Reply:
    """The key is kept as it was sent, with the newline at its end if it has one (clients' code)."""
    read = DeviceInput(call)
    attributes, problems = read.attributes("tags"), read.problems
    label, key = str(call.field("label") or ""), str(call.field("key") or "")
    if not label:
        problems.append("Label can't be blank")
    try:
        mark = fingerprint(key)
    except ValueError:
        mark = ""
        problems.append("Key is invalid" if key.strip() else "Key can't be blank")
    if mark and any(each.fingerprint == mark for each in present):
        problems.append("Fingerprint has already been taken")
    read.fail()
    now = call.world.now()
    fields = {**owner, **attributes}
    record = SshKey(id=str(uuid.uuid4()), label=label, key=key, fingerprint=mark, created_at=now, updated_at=now, **fields)
    return Reply(call.rendering.ssh_key(call.world.store.put(record), call.wanted), 201)


def _key(call: Call) -> SshKey:
    key = call.world.store.ssh_keys.get(call.id)
    if key is None or not call.caller.owns(key):
        raise not_found()
    return key


def show_key(call: Call) -> Reply:
    return Reply(call.rendering.ssh_key(_key(call), call.wanted))


def update_key(call: Call) -> Reply:
    key = _key(call)
    read = DeviceInput(call)
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
    return Reply(call.rendering.ssh_key(key, call.wanted))


def delete_key(call: Call) -> Reply:
    call.world.store.drop(_key(call))
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("GET", list_user_keys, "/ssh-keys"),
    *paths("POST", create_user_key, "/ssh-keys"),
    *paths("GET", list_project_keys, "/projects/{id}/ssh-keys"),
    *paths("POST", create_project_key, "/projects/{id}/ssh-keys"),
    *paths("GET", show_key, "/ssh-keys/{id}"),
    *updates("/ssh-keys/{id}", update_key),
    *paths("DELETE", delete_key, "/ssh-keys/{id}"),
]
