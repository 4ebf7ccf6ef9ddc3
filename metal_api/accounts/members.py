# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The members of projects, and the project or organization of a call."""

from __future__ import annotations

from metal_api.accounts.record import Organization, Project, User
from metal_api.core.call import Call
from metal_api.core.errors import forbidden, not_found
from metal_api.core.store import Store
from metal_api.core.world import World


def members(store: Store, project: Project) -> list[User]:
    """Return the users with access to ``project``, those of its organization first."""
    of_organization = store[Organization][project.organization_id].member_ids or [user.id for user in store[User]]
    ids = dict.fromkeys((*of_organization, *project.member_ids))
    return [user for user in map(store[User].get, ids) if user is not None]


def projects_of(store: Store, user_id: str) -> list[Project]:
    return [project for project in store[Project] if any(user.id == user_id for user in members(store, project))]


def project_of(call: Call, id_: str | None = None) -> Project:
    """Return the project of the path (or ``id_``). Raises 404 without access."""
    project = call.world.store[Project].get(id_ or call.id)
    if project is None or not call.caller.sees(project.id):
        raise not_found()
    return project


def organization_of(call: Call) -> Organization:
    """Return the organization of the path. Raises 403 for a project's key, 404 for an organization of other users."""
    if call.caller.key.project_id:
        raise forbidden()
    organization = call.world.store[Organization].get(call.id)
    if organization is None or not call.caller.is_member(organization):
        raise not_found()
    return organization


def add_user(  # noqa: PLR0913 - the fields of a user
    world: World, first_name: str, last_name: str, email: str, ids: tuple[str, str, str], *, project_name: str
) -> User:
    """Create a user with an organization and a project, with ``ids`` in this order; in a transaction."""
    now = world.now()
    user_id, organization_id, project_id = ids
    world.store.put(Organization(id=organization_id, name=first_name, member_ids=(user_id,), created_at=now, updated_at=now))
    world.store.put(Project(id=project_id, name=project_name, organization_id=organization_id, created_at=now, updated_at=now))
    return world.store.put(
        User(
            id=user_id,
            first_name=first_name,
            last_name=last_name,
            email=email,
            organization_id=organization_id,
            project_id=project_id,
            created_at=now,
            updated_at=now,
        )
    )
