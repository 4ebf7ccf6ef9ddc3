# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of devices, from the API and from the machines themselves, and what the newest one says: how far a machine is, or that it stopped.

The state of a device says nothing about that: it is ``active`` once its boot script was served. Machines report it themselves, in events
``user.*``, with the state ``failed`` if a stage of Ignition failed. An event after that one, such as that of a reboot, begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options, identifier
from ..base.errors import CollectionError
from ..base.printable import printable
from ..metal.objects import normal_time, reference
from .operation import oldest_first

if TYPE_CHECKING:
    from ..clients.metal import MetalClient

_TEXT_LIMIT = 300

DEVICE_EVENT_OPTIONS = Options(
    {
        "device_id": identifier(),
        "hostname": {"type": "str"},
        "types": {"type": "list", "elements": "str"},
        "since": {"type": "str"},
    },
    mutually_exclusive=[["device_id", "hostname"]],
)


def event_result(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an event. ``device_id`` is None for an event of the project itself."""
    related = [thing.get("href") for thing in event.get("relationships") or [] if isinstance(thing, Mapping)]
    devices = [reference({"href": href}) for href in related if isinstance(href, str) and "/devices/" in href]
    return {
        **{name: event.get(name) for name in ("id", "type", "body", "state", "ip", "created_at")},
        "device_id": devices[0] if devices else None,
    }


def find_events(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_device_event_info`` returns: the events of a device or of all devices of the project, oldest first."""
    identity = params["device_id"]
    if identity is None and params["hostname"] is not None:
        identity = _device(client, params["project_id"], params["hostname"])
    path = f"devices/{identity}/events" if identity else f"projects/{params['project_id']}/events"
    listed = client.read_list(path, "events", doing=f"list the events of {'device' if identity else 'project'} {path.split('/')[1]}")
    events = [event_result(event) for event in listed]
    if params["types"] is not None:
        events = [event for event in events if event["type"] in params["types"]]
    since = normal_time(params["since"])
    if since is not None:
        events = [event for event in events if str(event["created_at"] or "") >= since]
    return {"events": oldest_first(events)}


def _device(client: MetalClient, project: str, hostname: str) -> str:
    listed = client.read_list(f"projects/{project}/devices", "devices", params={"hostname": hostname}, doing=f"read device {hostname}")
    same = sorted(str(device.get("id")) for device in listed if str(device.get("hostname") or "").lower() == hostname.lower())
    if len(same) != 1:
        raise CollectionError(
            f"Cannot list events: {len(same) or 'no'} devices have the hostname {hostname}{': ' if same else ''}{', '.join(same)}."
            " Set device_id",
            {"hostname": hostname, "ids": same},
        )
    return same[0]


def last_event(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the newest of a device's events; empty if there is none."""
    return (oldest_first(events) or [{}])[-1]


def has_stopped(event: Mapping[str, Any]) -> bool:
    """Return whether a machine whose newest event this is stopped in its installation or first boot."""
    return str(event.get("type") or "").startswith("user.") and event.get("state") == "failed"


def stopped_text(hostname: object, event: Mapping[str, Any]) -> str:
    return f"{hostname} stopped in its installation or first boot: {event_text(event)}"


def event_text(event: Mapping[str, Any]) -> str:
    """Return an event's text, which is untrusted (machines send ``user.*``), and its time."""
    text = printable(" ".join(str(event.get("body") or event.get("type") or "no event yet").split()), _TEXT_LIMIT)
    at = printable(event.get("created_at") or "")
    return f"{text} ({at[11:]})" if len(at) == 20 else text
