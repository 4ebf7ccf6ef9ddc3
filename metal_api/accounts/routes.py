# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of users, organizations, projects and their members.

A project's key has access to its project only; for organizations it gets 403. Objects of other users are 404.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from metal_api.accounts.members import members, organization_of, project_of, projects_of
from metal_api.accounts.record import ApiKey, Organization, Project, User
from metal_api.accounts.rendering import membership_id, render_membership
from metal_api.core.body import Body
from metal_api.core.call import Call, Reply, Route, paths, updates
from metal_api.core.errors import forbidden, not_found, unprocessable
from metal_api.core.event import record_project_event
from metal_api.core.world import World


def show_user(call: Call) -> Reply:
    return Reply(call.shown(call.world.store[User][call.caller.user_id]))


def update_user(call: Call) -> Reply:
    if call.caller.key.project_id:
        raise forbidden()
    user = call.world.store[User][call.caller.user_id]
    changes: dict[str, Any] = {
        name: str(call.body[name]) for name in ("first_name", "last_name", "phone_number", "timezone") if call.body.get(name) is not None
    }
    read = Body(call.body)
    changes |= read.attributes("customdata")
    read.fail()
    return Reply(call.rendering(call.world.store.put(replace(user, updated_at=call.world.now(), **changes))))


def list_users(call: Call) -> Reply:
    """Return the members of all projects the caller has access to."""
    store, seen = call.world.store, dict[str, User]()
    for project in store[Project]:
        if call.caller.sees(project.id):
            seen |= {user.id: user for user in members(call.world.store, project)}
    return call.page("users", list(seen.values()), call.shown)


def show_user_by_id(call: Call) -> Reply:
    return Reply(call.shown(_user(call)))


def show_user_customdata(call: Call) -> Reply:
    return Reply({"customdata": _user(call).customdata})


def _user(call: Call) -> User:
    """Return the caller's user, or a member of a project the caller has access to."""
    user = call.world.store[User].get(call.id)
    if user is None:
        raise not_found()
    if user.id != call.caller.user_id and not any(call.caller.sees(project.id) for project in projects_of(call.world.store, user.id)):
        raise not_found()
    return user


def list_organizations(call: Call) -> Reply:
    """List organizations. ``without_projects=true``: those without projects (vendor's OpenAPI text); ``personal`` has no effect here."""
    if call.caller.key.project_id:
        raise forbidden()
    store = call.world.store
    organizations = [organization for organization in store[Organization] if call.caller.is_member(organization)]
    if call.flag("without_projects"):
        organizations = [organization for organization in organizations if not store[Project].count("organization", organization.id)]
    return call.page("organizations", organizations, call.shown)


def show_organization(call: Call) -> Reply:
    return Reply(call.shown(organization_of(call)))


def show_organization_customdata(call: Call) -> Reply:
    return Reply({"customdata": organization_of(call).customdata})


def create_organization(call: Call) -> Reply:
    """Create an organization. Removed from the vendor's OpenAPI text in 2026; older clients use it."""
    if call.caller.key.project_id:
        raise forbidden()
    changes = _organization_attributes(call)
    if not changes.get("name"):
        raise unprocessable("Name can't be blank")
    return Reply(call.shown(_new_organization(call, changes)), 201)


def _new_organization(call: Call, attributes: dict[str, Any]) -> Organization:
    now = call.world.now()
    members = (call.caller.user_id,)
    made = {"id": str(uuid.uuid4()), "member_ids": members, "created_at": now, "updated_at": now, **attributes}
    return call.world.store.put(Organization(**made))


def _organization_attributes(call: Call) -> dict[str, Any]:
    read = Body(call.body)
    changes = read.attributes("customdata")
    for name in ("name", "description", "website", "twitter"):
        if call.field(name) is not None:
            changes[name] = str(call.field(name))
    if changes.get("name") == "":
        read.problems.append("Name can't be blank")
    read.fail()
    return changes


def update_organization(call: Call) -> Reply:
    organization = replace(organization_of(call), updated_at=call.world.now(), **_organization_attributes(call))
    return Reply(call.shown(call.world.store.put(organization)))


def delete_organization(call: Call) -> Reply:
    """Delete an organization with its projects, unless one of them cannot be deleted: metal-cli's end-to-end tests do so."""
    organization, world = organization_of(call), call.world
    projects = world.store[Project].matching("organization", organization.id)
    for project in projects:
        if blockers := world.blockers(project):
            raise unprocessable(f"Cannot delete an organization with project {project.name} that has " + ", ".join(blockers))
    for project in projects:
        _erase_project(world, project)
    world.store.drop(organization)
    return Reply(status=204)


def list_projects(call: Call) -> Reply:
    return _page(call, list(call.world.store[Project]))


def list_organization_projects(call: Call) -> Reply:
    return _page(call, call.world.store[Project].matching("organization", organization_of(call).id))


def _page(call: Call, projects: list[Project]) -> Reply:
    """Return a page of projects. ``name`` matches a part of the name (clients' code)."""
    name = call.query.get("name", "").lower()
    seen = [project for project in projects if call.caller.sees(project.id) and name in project.name.lower()]
    return call.page("projects", seen, call.shown)


def create_project(call: Call) -> Reply:
    """Create a project, by default in the user's default organization or in a new one, "<Full Name> Projects" (vendor's OpenAPI text)."""
    if call.caller.key.project_id:
        raise forbidden()
    store = call.world.store
    user = store[User][call.caller.user_id]
    organization_id = call.params.get("id") or call.field("organization_id")
    organization = store[Organization].get(organization_id or user.organization_id)
    if organization_id and (organization is None or not call.caller.is_member(organization)):
        raise not_found()
    attributes = _attributes(call, creating=True)
    if organization is None:
        organization = _new_organization(call, {"name": f"{user.first_name} {user.last_name} Projects"})
        store.put(replace(user, organization_id=organization.id))
    now = call.world.now()
    project = Project(id=str(uuid.uuid4()), organization_id=organization.id, created_at=now, updated_at=now, **attributes)
    store.put(project)
    _record(call, project, "project.created", f"Project {project.name} created")
    return Reply(call.shown(project), 201)


def _record(call: Call, project: Project, type_: str, body: str) -> None:
    """Record an event of a project (types and texts are ours: metal-cli's test requires the project's name in the text)."""
    record_project_event(call.world, project.id, type_, body, user_id=call.caller.user_id)


def _attributes(call: Call, *, creating: bool = False) -> dict[str, Any]:
    read = Body(call.body)
    changes = read.attributes("customdata", "tags")
    name = call.field("name")
    if name is not None or creating:
        name = str(name or "")
        if not name.strip():
            read.problems.append("Name can't be blank")
        elif len(name) > 80:
            read.problems.append("Name is too long (maximum is 80 characters)")
        elif any(ord(character) > 0xFFFF for character in name):
            read.problems.append("Name cannot contain characters encoded in greater than 3 bytes")
        changes["name"] = name
    if call.field("backend_transfer_enabled") is not None:
        changes["backend_transfer_enabled"] = call.flag("backend_transfer_enabled")
    if call.field("payment_method_id"):
        changes["payment_method_id"] = str(call.field("payment_method_id"))
    read.fail()
    return changes


def show_project(call: Call) -> Reply:
    return Reply(call.shown(project_of(call)))


def show_project_customdata(call: Call) -> Reply:
    return Reply({"customdata": project_of(call).customdata})


def update_project(call: Call) -> Reply:
    before = project_of(call)
    project = call.world.store.put(replace(before, updated_at=call.world.now(), **_attributes(call)))
    if project.name != before.name:
        _record(call, project, "project.renamed", f"Project {before.name} renamed to {project.name}")
    return Reply(call.shown(project))


def delete_project(call: Call) -> Reply:
    """Delete a project, and what it holds with it. Devices and hardware reservations block the deletion (what did is not published).

    VLANs, gateways, VRFs, blocks and deprovisioning devices do not: clients delete a project right after its last device, never release its
    blocks, and metal-cli's end-to-end tests leave gateways and VRFs in it.
    """
    project, world = project_of(call), call.world
    if blockers := world.blockers(project):
        raise unprocessable("Cannot delete a project that has " + ", ".join(blockers))
    _erase_project(world, project)
    return Reply(status=204)


def _erase_project(world: World, project: Project) -> None:
    for key in world.store[ApiKey].matching("project", project.id):
        world.store.drop(key)
    world.erase(project)


def list_memberships(call: Call) -> Reply:
    project = project_of(call, call.params["project_id"])
    search = call.query.get("search", "").lower()
    users = [user for user in members(call.world.store, project) if search in f"{user.first_name} {user.last_name} {user.email}".lower()]
    return Reply({"memberships": [render_membership(call.rendering, project, user) for user in users]})


def show_membership(call: Call) -> Reply:
    for project in call.world.store[Project]:
        if call.caller.sees(project.id):
            for user in members(call.world.store, project):
                if membership_id(project, user) == call.id:
                    return Reply(render_membership(call.rendering, project, user))
    raise not_found()


ROUTES: list[Route] = [
    *paths("GET", list_memberships, "/projects/{project_id}/memberships"),
    *paths("GET", show_membership, "/memberships/{id}"),
    *paths("POST", create_organization, "/organizations"),
    *updates("/organizations/{id}", update_organization),
    *paths("DELETE", delete_organization, "/organizations/{id}"),
    *paths("GET", show_organization_customdata, "/organizations/{id}/customdata"),
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
