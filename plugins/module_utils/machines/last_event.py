# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest event of a device: how far a machine is, and whether it stopped in its installation or first boot.

The state of a device says nothing about that: it is ``active`` once its boot script was served. Machines report it themselves, in events
``user.*``, with the state ``failed`` if a stage of Ignition failed. An event after that one, such as that of a reboot, begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.printable import printable
from .operation import oldest_first

_TEXT_LIMIT = 300


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
