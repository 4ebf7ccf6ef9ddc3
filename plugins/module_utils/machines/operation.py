# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of a device once: a reboot, the rescue system, a new installation. And how one knows that it was asked for.

A reboot leaves nothing that could be compared with a wish. So the user gives each request a word of its own (``operation_id``), and the
device carries, as tags, which requests were made of it. Two tags and one request, in this order:

1. ``ansible-operation-requested=<operation>:<word>:<newest event>``, written together with the other changes, before the request.
2. The request.
3. ``ansible-operation=<operation>:<word>`` in its place, as soon as the service has accepted the request.

A run that finds the third asks for nothing. One that finds the first came after a run that was killed, or whose answer was lost: the
events that are newer than the one it names tell whether the request arrived. If they do, it is not made again; if they do not, it is made
now. So a request is neither lost nor made twice, whenever a run ends. If that event is not told any more, nothing is guessed.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError

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
"""In the place of the newest event, for a device that has none."""

BEGINNING = "provisioning.101"
"""Type of the event that begins every provisioning, of a creation and of a reinstallation: "Provisioning started" (recorded answers)."""

_WORD = re.compile(r"[^\s,]{1,100}")
UNDER_WAY = frozenset({"power.200", "power.201"})
"""Types of events that begin a power operation: queued and started. Others end it (recorded answers)."""


def without_marks(tags: Iterable[str]) -> list[str]:
    """The tags that are the user's, in their order."""
    return [tag for tag in tags if not tag.startswith((REQUESTED, DONE))]


def marks(tags: Iterable[str]) -> list[str]:
    """The tags that tell of operations, in their order."""
    return [tag for tag in tags if tag.startswith((REQUESTED, DONE))]


def oldest_first(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Events in the order they happened in. The service tells the newest first: its order is kept within one second, only turned round."""
    turned = list(reversed(events))
    turned.sort(key=lambda event: str(event.get("created_at") or ""))
    return turned


def since(events: Sequence[Mapping[str, Any]], newest_before: str) -> list[Mapping[str, Any]] | None:
    """The events after that one, oldest first. Nothing (None) when it is not told: too long ago, or a list that is behind; who knows."""
    ordered = oldest_first(events)
    if newest_before == NO_EVENT:
        return ordered
    ids = [event.get("id") for event in ordered]
    return ordered[ids.index(newest_before) + 1 :] if newest_before in ids else None


def under_way(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The event that says that a power operation is under way, if the last of these (oldest first) that is about power does."""
    power = [event for event in events if str(event.get("type")).startswith("power.")]
    return power[-1] if power and power[-1].get("type") in UNDER_WAY else None


@dataclass(frozen=True)
class Operation:
    """One request: ``kind`` is reboot, rescue or reinstall, ``word`` the user's word for it."""

    kind: str
    word: str

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Operation | None:
        """The one these options ask for. Raises CollectionError for what cannot be meant."""
        kind, word = params.get("operation"), params.get("operation_id")
        if kind is None or word is None:
            return None
        if not _WORD.fullmatch(word):
            raise CollectionError(f"operation_id is kept in a tag: 1 to 100 characters, no blanks and no commas, so it cannot be {word!r}")
        if kind != "reinstall":
            odd = [name for name in ("deprovision_fast", "preserve_data") if params.get(name) is not None]
            if odd:
                raise CollectionError(f"{' and '.join(odd)} can only be given with operation=reinstall")
        return cls(str(kind), str(word))

    def __str__(self) -> str:
        return f"{self.kind} {self.word}"

    @property
    def mark(self) -> str:
        """The tag that says it was accepted."""
        return f"{DONE}{self.kind}:{self.word}"

    def is_done(self, tags: Iterable[str]) -> bool:
        return self.mark in tags

    def newest_before(self, tags: Iterable[str]) -> str | None:
        """Id of the newest event when it was about to be requested, by the tag that says so; nothing when there is none."""
        prefix = f"{REQUESTED}{self.kind}:{self.word}:"
        found = [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)]
        return next((identity for identity in found if ":" not in identity), None)

    def requested(self, tags: Iterable[str], events: Sequence[Mapping[str, Any]]) -> list[str]:
        """These tags and the one to write before the request. ``events``: all there are of the device."""
        newest = oldest_first(events)[-1].get("id") if events else None
        return [*tags, f"{REQUESTED}{self.kind}:{self.word}:{newest or NO_EVENT}"]

    def done(self, tags: Iterable[str]) -> list[str]:
        """These tags and the one that says that it was accepted, which takes the other's place."""
        pending = f"{REQUESTED}{self.kind}:{self.word}:{self.newest_before(tags)}"
        return [*(tag for tag in tags if tag not in (pending, self.mark)), self.mark]

    def is_told_by(self, events: Iterable[Mapping[str, Any]]) -> bool:
        """Whether these events say that the service has taken it up.

        A reboot and the rescue system are told alike, as a power operation, so the one is taken for the other: texts as recorded, "Reboot
        operation queued" and "Device rebooted". A new installation begins as every provisioning does. Later steps of one say nothing: a
        machine that is being installed for the first time tells them as well.
        """
        for event in events:
            type_, body = str(event.get("type")), str(event.get("body")).lower()
            if self.kind == "reinstall" and (type_ == BEGINNING or "reinstall" in body):
                return True
            if self.kind != "reinstall" and type_.startswith("power.") and ("reboot" in body or "rescue" in body):
                return True
        return False
