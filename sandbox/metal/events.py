# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of devices and projects, newest first (ours: no document says in which order)."""

from __future__ import annotations

from sandbox.metal.calls import Call, Reply, Route, paths
from sandbox.metal.records import Event


def list_device_events(call: Call) -> Reply:
    return _page(call, call.world.store.events.by("device", call.device().id))


def list_project_events(call: Call) -> Reply:
    project = call.project()
    store = call.world.store
    found = store.events.by("project", project.id)
    for device in store.devices.by("project", project.id):
        found += store.events.by("device", device.id)
    return _page(call, found)


def list_organization_events(call: Call) -> Reply:
    store = call.world.store
    projects = {each.id for each in store.projects.by("organization", call.organization().id)}
    return _page(call, [each for each in store.events if each.project_id in projects])


def list_events(call: Call) -> Reply:
    return _page(call, [each for each in call.world.store.events if call.caller.sees(each.project_id)])


def _page(call: Call, events: list[Event]) -> Reply:
    # Those of one second stay in the order they happened in, turned round.
    newest = sorted(events, key=lambda each: each.created_at)[::-1]
    return call.page("events", newest, call.rendering.event)


def show_event(call: Call) -> Reply:
    return Reply(call.rendering.event(call.find(call.world.store.events)))


ROUTES: list[Route] = [
    *paths("GET", list_device_events, "/devices/{id}/events"),
    *paths("GET", list_project_events, "/projects/{id}/events"),
    *paths("GET", list_organization_events, "/organizations/{id}/events"),
    *paths("GET", list_events, "/events"),
    *paths("GET", show_event, "/events/{id}"),
]
