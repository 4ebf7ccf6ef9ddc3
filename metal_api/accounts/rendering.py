# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders users, organizations, projects and API keys."""

from __future__ import annotations

import uuid
from typing import Any

from metal_api.accounts.members import members
from metal_api.accounts.record import ApiKey, Organization, Project, User
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.store import JSON


def render_user(view: Rendering, user: User, include: Include) -> JSON:
    email = {"id": str(uuid.uuid5(uuid.UUID(user.id), "email")), "address": user.email, "default": True, "verified": True}
    return {
        "id": user.id,
        "short_id": user.id[:8],
        "first_name": user.first_name,
        "last_name": user.last_name,
        "full_name": f"{user.first_name} {user.last_name}",
        "email": user.email,
        "emails": [include.part("emails", f"#{email['id']}", lambda _: {**email, "href": f"#{email['id']}"})],
        "phone_number": user.phone_number,
        "timezone": user.timezone,
        "two_factor_auth": "",
        "fraud_score": "0.00",
        "max_projects": 0,
        "max_organizations": 0,
        "default_organization_id": user.organization_id,
        "default_project_id": user.project_id,
        "customdata": user.customdata,
        "avatar_url": "",
        "avatar_thumb_url": "",
        "created_at": user.created_at,
        "updated_at": user.updated_at,
        "last_login_at": user.updated_at,
        "href": f"{view.base}/users/{user.id}",
    }


def author(view: Rendering, user_id: str) -> JSON:
    """Return the fields of a user that other objects contain."""
    user = view.store[User].get(user_id) or next(iter(view.store[User]))
    return {
        "id": user.id,
        "short_id": user.id[:8],
        "first_name": user.first_name,
        "last_name": user.last_name,
        "full_name": f"{user.first_name} {user.last_name}",
        "email": user.email,
        "avatar_thumb_url": "",
        "created_at": user.created_at,
        "updated_at": user.updated_at,
        "href": f"{view.base}/users/{user.id}",
    }


def render_organization(view: Rendering, organization: Organization, include: Include) -> JSON:
    projects = [project for project in view.store[Project].matching("organization", organization.id) if view.sees(project.id)]
    return {
        "id": organization.id,
        "name": organization.name,
        "description": organization.description,
        "website": organization.website,
        "twitter": organization.twitter,
        "address": {"address": "1 Loopback Way", "city": "Localhost", "country": "US", "zip_code": "12700"},
        "customdata": organization.customdata,
        "credit_amount": 0.0,
        "projects": view.parts(include, "projects", projects),
        "members": [{"href": f"{view.base}/users/{user_id}"} for user_id in organization.member_ids],
        "memberships": [],
        "created_at": organization.created_at,
        "updated_at": organization.updated_at,
        "href": view.path("organizations", organization.id),
    }


def render_project(view: Rendering, project: Project, include: Include) -> JSON:
    organization = view.store[Organization][project.organization_id]
    devices = view.store["devices"].matching("project", project.id)
    keys = view.store["ssh_keys"].matching("project", project.id)
    return {
        "id": project.id,
        "name": project.name,
        "type": "default",
        "tags": list(project.tags),
        "customdata": project.customdata,
        "backend_transfer_enabled": project.backend_transfer_enabled,
        "bgp_config": {"href": f"{view.base}/projects/{project.id}/bgp-config"},
        "max_devices": view.world.policy.plan_quotas(),
        "network_status": {},
        "organization": view.part(include, "organization", organization),
        "payment_method": {"href": f"#{project.payment_method_id or organization.id}"},
        "invitations": [],
        "members": view.parts(include, "members", members(view.store, project)),
        "memberships": [_membership_part(view, include, project, user) for user in members(view.store, project)],
        "volumes": [],
        "devices": view.parts(include, "devices", devices),
        "ssh_keys": view.parts(include, "ssh_keys", keys),
        "created_at": project.created_at,
        "updated_at": project.updated_at,
        "href": view.path("projects", project.id),
        "url": view.path("projects", project.id),
    }


def render_membership(view: Rendering, project: Project, user: User) -> JSON:
    return {
        "id": membership_id(project, user),
        "roles": ["admin"],
        "bound_roles": [],
        "project": {"href": view.path("projects", project.id)},
        "user": {"href": f"{view.base}/users/{user.id}"},
        "created_at": project.created_at,
        "updated_at": project.created_at,
        "href": view.path("memberships", membership_id(project, user)),
    }


def render_api_key(view: Rendering, key: ApiKey, *, with_token: bool = True) -> JSON:
    """Render a key: a project's key with its project, a user's key with its user (SDKs distinguish them by it)."""
    shown: JSON = {
        "id": key.id,
        "description": key.description,
        **({"token": key.token} if with_token else {}),
        "read_only": key.read_only,
        "created_at": key.created_at,
        "updated_at": key.updated_at,
    }
    if key.project_id:
        shown["project"] = view(view.store[Project][key.project_id])
    elif key.user_id:
        shown["user"] = view(view.store[User][key.user_id])
    return shown


def membership_id(project: Project, user: User) -> str:
    """Return the id of a membership, computed from both ids: memberships have no records."""
    return str(uuid.uuid5(uuid.UUID(project.id), user.id))


def _membership_part(view: Rendering, include: Include, project: Project, user: User) -> Any:
    href = view.path("memberships", membership_id(project, user))
    return include.part("memberships", href, lambda _: render_membership(view, project, user))
