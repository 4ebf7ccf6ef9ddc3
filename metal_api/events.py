# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of devices and projects, newest first (ours: the order is not documented)."""

from __future__ import annotations

from metal_api.accounts.members import organization_of, project_of
from metal_api.accounts.record import Project
from metal_api.accounts.rendering import author
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.event import Event, record_event, record_project_event
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with
from metal_api.core.store import JSON, Kind

__all__ = ["Event", "record_event", "record_project_event"]


def render_event(view: Rendering, event: Event, _include: Include) -> JSON:
    related = view.path("devices", event.device_id) if event.device_id else view.path("projects", event.project_id)
    return {
        "id": event.id,
        "type": event.type,
        "body": event.body,
        "state": event.state,
        "created_at": event.created_at,
        "relationships": [{"href": related}],
        "ip": event.ip,
        "modified_by": author(view, event.user_id) if event.user_id else None,
        "interpolated": event.body,
        "href": view.path("events", event.id),
    }


def list_device_events(call: Call) -> Reply:
    return _page(call, call.world.store[Event].matching("device", call.find("devices").id))


def list_project_events(call: Call) -> Reply:
    project = project_of(call)
    store = call.world.store
    events = store[Event].matching("project", project.id)
    for device in store["devices"].matching("project", project.id):
        events += store[Event].matching("device", device.id)
    return _page(call, events)


def list_organization_events(call: Call) -> Reply:
    store = call.world.store
    projects = {project.id for project in store[Project].matching("organization", organization_of(call).id)}
    return _page(call, [event for event in store[Event] if event.project_id in projects])


def list_events(call: Call) -> Reply:
    return _page(call, [event for event in call.world.store[Event] if call.caller.sees(event.project_id)])


def _page(call: Call, events: list[Event]) -> Reply:
    # Also events of the same second are listed newest first.
    newest = sorted(events, key=lambda event: event.created_at)[::-1]
    return call.page("events", newest, call.rendering)


def show_event(call: Call) -> Reply:
    return Reply(call.rendering(call.find(Event)))


ROUTES: list[Route] = [
    *paths("GET", list_device_events, "/devices/{id}/events"),
    *paths("GET", list_project_events, "/projects/{id}/events"),
    *paths("GET", list_organization_events, "/organizations/{id}/events"),
    *paths("GET", list_events, "/events"),
    *paths("GET", show_event, "/events/{id}"),
]


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[
        Kind(
            Event,
            "events",
            "events",
            render_event,
            keys={"device": lambda r: r.device_id, "project": lambda r: None if r.device_id else r.project_id},
        )
    ],
    on_erase={Project: drop_with(Event, "project")},
)
