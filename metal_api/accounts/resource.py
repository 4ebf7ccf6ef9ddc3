# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users, organizations, projects and API keys as a resource."""

from __future__ import annotations

from metal_api.accounts import api_keys
from metal_api.accounts.authentication import Authentication
from metal_api.accounts.record import ApiKey, Organization, Project, User
from metal_api.accounts.rendering import render_api_key, render_organization, render_project, render_user
from metal_api.accounts.routes import ROUTES
from metal_api.core.resource import Resource
from metal_api.core.store import Kind

RESOURCE = Resource(
    service=Authentication,
    routes=[*ROUTES, *api_keys.ROUTES],
    kinds=[
        Kind(User, "users", "users", render_user),
        Kind(Organization, "organizations", "organizations", render_organization),
        Kind(
            ApiKey,
            "api_keys",
            "api-keys",
            lambda view, key, _include: render_api_key(view, key),
            keys={"token": lambda r: r.token, "user": lambda r: r.user_id, "project": lambda r: r.project_id},
        ),
        Kind(Project, "projects", "projects", render_project, keys={"organization": lambda r: r.organization_id}),
    ],
)
