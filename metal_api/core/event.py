# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of an event, for all resources: those above ``events`` record events too."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Protocol

from metal_api.core.store import Record
from metal_api.core.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    """An event of a device or a project. ``user_id``: its author, None for the service or the device."""

    type: str
    body: str
    created_at: str
    project_id: str
    device_id: str | None = None
    user_id: str | None = None
    state: str | None = None
    ip: str | None = None


class Subject(Protocol):
    """The subject of an event: a device."""

    @property
    def id(self) -> str: ...
    @property
    def project_id(self) -> str: ...


def record_event(  # noqa: PLR0913 - the fields of an event
    world: World, device: Subject, type_: str, body: str, *, user_id: str | None = None, state: str | None = None
) -> Event:
    return world.store.put(
        Event(
            id=str(uuid.uuid4()),
            type=type_,
            body=body,
            created_at=world.now(),
            project_id=device.project_id,
            device_id=device.id,
            user_id=user_id,
            state=state,
        )
    )


def record_project_event(world: World, project_id: str, type_: str, body: str, *, user_id: str | None = None) -> Event:
    """Record an event of a project."""
    event = Event(id=str(uuid.uuid4()), type=type_, body=body, created_at=world.now(), project_id=project_id, user_id=user_id)
    return world.store.put(event)
