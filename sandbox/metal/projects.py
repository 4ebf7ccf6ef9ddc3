# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user, organizations and projects."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from sandbox.metal.calls import Call, Reply, Route, paths, updates
from sandbox.metal.device_input import DeviceInput
from sandbox.metal.errors import forbidden, not_found, unprocessable
from sandbox.metal.records import Organization, Project, User


def show_user(call: Call) -> Reply:
    return Reply(call.rendering.user(call.world.store.users[call.caller.user_id]))


def update_user(call: Call) -> Reply:
    user = call.world.store.users[call.caller.user_id]
    changes: dict[str, Any] = {
        name: str(call.body[name]) for name in ("first_name", "last_name", "phone_number", "timezone") if call.body.get(name) is not None
    }
    read = DeviceInput(call)
    changes |= read.attributes("customdata")
    read.fail()
    return Reply(call.rendering.user(call.world.store.put(replace(user, updated_at=call.world.now(), **changes))))


def list_users(call: Call) -> Reply:
    return call.page("users", list(call.world.store.users), call.rendering.user)


def show_user_by_id(call: Call) -> Reply:
    return Reply(call.rendering.user(_user(call)))


def show_user_customdata(call: Call) -> Reply:
    return Reply({"customdata": _user(call).customdata})


def _user(call: Call) -> User:
    user = call.world.store.users.get(call.id)
    if user is None:
        raise not_found()
    return user


def list_organizations(call: Call) -> Reply:
    return call.page("organizations", list(call.world.store.organizations), lambda each: call.rendering.organization(each, call.wanted))


def show_organization(call: Call) -> Reply:
    return Reply(call.rendering.organization(_organization(call), call.wanted))


def _organization(call: Call) -> Organization:
    organization = call.world.store.organizations.get(call.id)
    if organization is None:
        raise not_found()
    return organization


def list_projects(call: Call) -> Reply:
    return _page(call, list(call.world.store.projects))


def list_organization_projects(call: Call) -> Reply:
    return _page(call, call.world.store.projects.by("organization", _organization(call).id))


def _page(call: Call, projects: list[Project]) -> Reply:
    """``name`` matches a part of the name (clients' code)."""
    name = call.query.get("name", "").lower()
    seen = [each for each in projects if call.caller.sees(each.id) and name in each.name.lower()]
    return call.page("projects", seen, lambda each: call.rendering.project(each, call.wanted))


def create_project(call: Call) -> Reply:
    """Without an organization: the user's default one (vendor's OpenAPI text)."""
    if call.caller.key.project_id:
        raise forbidden()
    store = call.world.store
    organization_id = call.params.get("id") or call.field("organization_id") or store.users[call.caller.user_id].organization_id
    if store.organizations.get(organization_id) is None:
        raise not_found()
    now = call.world.now()
    project = Project(id=str(uuid.uuid4()), name="", organization_id=organization_id, created_at=now, updated_at=now)
    project = store.put(replace(project, **_attributes(call, creating=True)))
    return Reply(call.rendering.project(project, call.wanted), 201)


def _attributes(call: Call, *, creating: bool = False) -> dict[str, Any]:
    read = DeviceInput(call)
    changes = read.attributes("customdata", "tags")
    name = call.field("name")
    if name is not None or creating:
        name = str(name or "")
        if not name.strip():
            read.problems.append("Name can't be blank")
        elif len(name) > 80:
            read.problems.append("Name is too long (maximum is 80 characters)")
        elif any(ord(each) > 0xFFFF for each in name):
            read.problems.append("Name cannot contain characters encoded in greater than 3 bytes")
        changes["name"] = name
    if call.field("backend_transfer_enabled") is not None:
        changes["backend_transfer_enabled"] = call.flag("backend_transfer_enabled")
    if call.field("payment_method_id"):
        changes["payment_method_id"] = str(call.field("payment_method_id"))
    read.fail()
    return changes


def show_project(call: Call) -> Reply:
    return Reply(call.rendering.project(call.project(), call.wanted))


def show_project_customdata(call: Call) -> Reply:
    return Reply({"customdata": call.project().customdata})


def update_project(call: Call) -> Reply:
    project = replace(call.project(), updated_at=call.world.now(), **_attributes(call))
    return Reply(call.rendering.project(call.world.store.put(project), call.wanted))


def delete_project(call: Call) -> Reply:
    """What blocks a delete is in no public copy: here devices, requested addresses and VLANs do (ours)."""
    project, store = call.project(), call.world.store
    reservations = store.reservations.by("project", project.id)
    in_use = {
        "devices": store.devices.count("project", project.id),
        "IP reservations": sum(each.requested for each in reservations),
        "virtual networks": store.virtual_networks.count("project", project.id),
    }
    if any(in_use.values()):
        raise unprocessable("Cannot delete a project that has " + ", ".join(f"{count} {what}" for what, count in in_use.items() if count))
    for reservation in reservations:
        call.world.addresses.close(reservation)
        store.drop(reservation)
    for table in (store.ssh_keys, store.api_keys, store.events):
        for owned in table.by("project", project.id):
            store.drop(owned)
    store.drop(project)
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("GET", show_user, "/user"),
    *updates("/user", update_user),
    *paths("GET", list_users, "/users"),
    *paths("GET", show_user_by_id, "/users/{id}"),
    *paths("GET", show_user_customdata, "/users/{id}/customdata"),
    *paths("GET", list_organizations, "/organizations"),
    *paths("GET", show_organization, "/organizations/{id}"),
    *paths("GET", list_organization_projects, "/organizations/{id}/projects"),
    *paths("POST", create_project, "/projects", "/organizations/{id}/projects"),
    *paths("GET", list_projects, "/projects"),
    *paths("GET", show_project, "/projects/{id}"),
    *paths("GET", show_project_customdata, "/projects/{id}/customdata"),
    *updates("/projects/{id}", update_project),
    *paths("DELETE", delete_project, "/projects/{id}"),
]
