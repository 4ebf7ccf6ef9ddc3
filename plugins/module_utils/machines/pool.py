# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines a set is made of: names by pattern and number, and which of the devices that exist are too many.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHRINK_RULES = ("never", "named", "newest", "oldest", "failed_first")

_PLACE = re.compile(r"\{index(?::(?P<braces>\d*)d?)?\}|%(?P<percent>\d*)d")
"""Where a pattern's number goes: ``{index}``, ``{index:02}``, or as the predecessors of this module write it ``%d``, ``%02d``."""


class PatternError(ValueError):
    """A text that is no pattern of names; the message says why."""


@dataclass(frozen=True)
class NamePattern:
    """Host names that differ by a number: text before it, text after it, how many digits it has at least, and the first number."""

    before: str
    after: str
    digits: int = 0
    first: int = 0

    @classmethod
    def parse(cls, text: str, first: int) -> NamePattern:
        """Raises PatternError when there is not exactly one place for the number."""
        places = list(_PLACE.finditer(text))
        if len(places) != 1:
            raise PatternError(f"{text} has {len(places)} places for a number, one is needed: write it as {{index}}, {{index:02}} or %02d")
        place = places[0]
        return cls(text[: place.start()], text[place.end() :], int(place["braces"] or place["percent"] or 0), first)

    def name(self, number: int) -> str:
        return f"{self.before}{number:0{self.digits}d}{self.after}"

    def number(self, hostname: Any) -> int | None:
        """The number that is in this name; nothing when the name is not of the pattern. Case means nothing, as in names at large."""
        found = re.fullmatch(f"{re.escape(self.before)}([0-9]+){re.escape(self.after)}", str(hostname or ""), re.IGNORECASE)
        number = int(found[1]) if found else -1
        return number if number >= self.first and self.name(number).lower() == str(hostname).lower() else None


def has_place(text: str) -> bool:
    """Whether a number belongs into this name."""
    return _PLACE.search(text) is not None


def names_by_number(pattern: NamePattern, count: int) -> list[str]:
    """``count`` names, from the first number on."""
    return [pattern.name(number) for number in range(pattern.first, pattern.first + count)]


def names_by_what_is_there(pattern: NamePattern, count: int, existing: Iterable[Mapping[str, Any]], rule: str) -> list[str]:
    """``count`` names: of devices that exist as long as they last, by the rule which of too many; then the lowest numbers that are free."""
    there = {number: device for device in existing if (number := pattern.number(device.get("hostname"))) is not None}
    going = {id(device) for device in removal_order(list(there.values()), rule)[: max(0, len(there) - count)]}
    kept = [number for number, device in there.items() if id(device) not in going]
    # The names of those that go are not free: they are there until the set is as wanted.
    free = itertools.islice((number for number in itertools.count(pattern.first) if number not in there), max(0, count - len(kept)))
    return [pattern.name(number) for number in sorted([*kept, *free])]


def removal_order(devices: Sequence[Mapping[str, Any]], rule: str) -> list[Mapping[str, Any]]:
    """Devices in the order in which they go when there are too many.

    ``newest``: the one created last first; ``oldest``: the one created first; ``failed_first``: those in the state failed, then as
    ``newest``; ``named``: by name. Of several created in the same second the one whose name comes last goes first.
    """
    ordered = sorted(devices, key=lambda device: (str(device.get("hostname")), str(device.get("id"))), reverse=rule != "named")
    if rule in ("newest", "failed_first"):
        ordered.sort(key=lambda device: str(device.get("created_at") or ""), reverse=True)
    elif rule == "oldest":
        ordered.sort(key=lambda device: str(device.get("created_at") or ""))
    if rule == "failed_first":
        ordered.sort(key=lambda device: device.get("state") != "failed")
    return ordered


def surplus(owned: Sequence[Mapping[str, Any]], wanted: Collection[str], pattern: NamePattern | None, rule: str) -> list[Mapping[str, Any]]:
    """The devices of ours that are not of the set, in the order in which they go.

    With a pattern only those whose name is of it: other devices with the same tags are of other sets. Without one all that are not wanted.
    """
    names = {name.lower() for name in wanted}
    beyond = [
        device
        for device in owned
        if str(device.get("hostname") or "").lower() not in names
        and device.get("hostname")
        and (pattern is None or pattern.number(device.get("hostname")) is not None)
    ]
    return removal_order(beyond, rule)
