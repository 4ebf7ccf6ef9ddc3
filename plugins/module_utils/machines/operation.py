# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations that are requested once: reboot, rescue, reinstall. And how a run finds out that one was requested.

A reboot leaves no state to compare. So the user names each request (``operation_id``), and the device keeps that name in tags. Two tags and
one request, in this order:

1. ``ansible-operation-requested=<operation>:<id>:<newest event>``, written together with the other changes, before the request.
2. The request.
3. ``ansible-operation=<operation>:<id>`` in its place, as soon as the API has accepted the request.

A run that finds the third tag requests nothing. A run that finds the first one follows a run that was killed, or whose answer was lost:
events newer than the one in the tag show whether the request arrived, and it is repeated only if they do not. So a request is neither lost
nor repeated, whenever a run ends. If that event is no longer listed, the run fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.argspec import Options
from ..base.errors import CollectionError

OPERATION_OPTIONS = Options(
    {
        "operation": {"type": "str", "choices": ["reboot", "rescue", "reinstall"]},
        "operation_id": {"type": "str"},
        "deprovision_fast": {"type": "bool"},
        "preserve_data": {"type": "bool"},
    },
    required_together=[["operation", "operation_id"]],
    required_by={"deprovision_fast": ["operation"], "preserve_data": ["operation"]},
    # An operation leaves the device on.
    mutually_exclusive=[["operation", "power_state"]],
)

REQUESTED = "ansible-operation-requested="
DONE = "ansible-operation="

NO_EVENT = "none"
"""Stands for the newest event of a device without events."""

BEGINNING = "provisioning.101"
"""Type of the event that begins every provisioning, of a creation and of a reinstallation: "Provisioning started" (recorded answers)."""

_WORD = re.compile(r"[^\s,]{1,100}")
UNDER_WAY = frozenset({"power.200", "power.201"})
"""Types of events that begin a power operation: queued and started. Others end it (recorded answers)."""


def without_operation_tags(tags: Iterable[str]) -> list[str]:
    return [tag for tag in tags if not tag.startswith((REQUESTED, DONE))]


def operation_tags(tags: Iterable[str]) -> list[str]:
    return [tag for tag in tags if tag.startswith((REQUESTED, DONE))]


def oldest_first(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events, oldest first. The API lists the newest first; within one second its order is reversed."""
    turned = list(reversed(events))
    turned.sort(key=lambda event: str(event.get("created_at") or ""))
    return turned


def events_after(events: Sequence[Mapping[str, Any]], newest_before: str) -> list[Mapping[str, Any]] | None:
    """Return the events after ``newest_before``, oldest first; None when that event is not listed."""
    ordered = oldest_first(events)
    if newest_before == NO_EVENT:
        return ordered
    ids = [event.get("id") for event in ordered]
    return ordered[ids.index(newest_before) + 1 :] if newest_before in ids else None


def under_way(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the last power event of ``events`` (oldest first) if it begins a power operation, else None."""
    power = [event for event in events if str(event.get("type")).startswith("power.")]
    return power[-1] if power and power[-1].get("type") in UNDER_WAY else None


@dataclass(frozen=True)
class Operation:
    """One request: ``kind`` is reboot, rescue or reinstall, ``word`` its ``operation_id``."""

    kind: str
    word: str

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Operation | None:
        """Return the operation of these options. Raises CollectionError for invalid options."""
        kind, word = params.get("operation"), params.get("operation_id")
        if kind is None or word is None:
            return None
        if not _WORD.fullmatch(word):
            raise CollectionError(f"operation_id becomes a tag: it must have 1 to 100 characters, no blanks and no commas, not {word!r}")
        if kind != "reinstall":
            misplaced = [name for name in ("deprovision_fast", "preserve_data") if params.get(name) is not None]
            if misplaced:
                raise CollectionError(f"{' and '.join(misplaced)} can only be given with operation=reinstall")
        return cls(str(kind), str(word))

    def __str__(self) -> str:
        return f"{self.kind} {self.word}"

    @property
    def tag(self) -> str:
        return f"{DONE}{self.kind}:{self.word}"

    def is_done(self, tags: Iterable[str]) -> bool:
        return self.tag in tags

    def newest_before(self, tags: Iterable[str]) -> str | None:
        """Return the id of the newest event before the request, as its tag has it; None without such a tag."""
        prefix = f"{REQUESTED}{self.kind}:{self.word}:"
        event_ids = [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)]
        return next((identity for identity in event_ids if ":" not in identity), None)

    def requested(self, tags: Iterable[str], events: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return these tags and the one to write before the request. ``events``: all events of the device."""
        newest = oldest_first(events)[-1].get("id") if events else None
        return [*tags, f"{REQUESTED}{self.kind}:{self.word}:{newest or NO_EVENT}"]

    def done(self, tags: Iterable[str]) -> list[str]:
        """Return these tags with the tag of the accepted operation in place of the one of its request."""
        pending = f"{REQUESTED}{self.kind}:{self.word}:{self.newest_before(tags)}"
        return [*(tag for tag in tags if tag not in (pending, self.tag)), self.tag]

    def is_confirmed_by(self, events: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether these events show that the API has accepted the operation.

        A reboot and the rescue system have the same events (power operations), so one counts as the other: texts as recorded, "Reboot
        operation queued" and "Device rebooted". A reinstallation begins like every provisioning. Its later events prove nothing, since the
        first installation has them too.
        """
        for event in events:
            type_, body = str(event.get("type")), str(event.get("body")).lower()
            if self.kind == "reinstall" and (type_ == BEGINNING or "reinstall" in body):
                return True
            if self.kind != "reinstall" and type_.startswith("power.") and ("reboot" in body or "rescue" in body):
                return True
        return False
