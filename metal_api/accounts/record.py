# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of users, organizations, projects and API keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from metal_api.core.store import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class User(Record):
    first_name: str
    last_name: str
    email: str
    created_at: str
    updated_at: str
    organization_id: str
    project_id: str
    customdata: dict[str, Any] = field(default_factory=dict)
    phone_number: str | None = None
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization(Record):
    name: str
    created_at: str
    updated_at: str
    customdata: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    website: str = ""
    twitter: str = ""
    # Users with access to all of its projects. Empty in state folders from before there could be a second user: then all users have access.
    member_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey(Record):
    """A token. ``project_id`` is set for a project's key, ``user_id`` for a user's."""

    token: str
    description: str
    read_only: bool
    created_at: str
    updated_at: str
    user_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Record):
    name: str
    organization_id: str
    created_at: str
    updated_at: str
    customdata: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    backend_transfer_enabled: bool = False
    payment_method_id: str | None = None
    # Users with access who are not members of its organization.
    member_ids: tuple[str, ...] = ()
