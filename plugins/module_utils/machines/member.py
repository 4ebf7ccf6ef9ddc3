# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One device of a set: the lifecycle of a resource, and what a set adds: its place, its turn, its outcome beside others.

Decisions about several devices are in ``set``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..base.diff import differences
from ..base.errors import CollectionError, DeviceFailedError
from ..metal.lifecycle import Lifecycle
from ..metal.objects import metro_code, plan_name
from .device import SETTLED, Device
from .placement import Place

if TYPE_CHECKING:
    from ..metal.resource import Found

AT_ONCE = 8
"""Concurrent requests while devices are ordered, changed or deleted: enough to hide the network's latency.

The API can order several devices in one request (``/devices/batch``), but carries it out later: after a lost answer it would be unknown
whether a missing device is still to come, and it would be ordered twice. A device of one request is found by its host name at once.
"""

WHERE = frozenset({"metro", "plan"})


class Member(Lifecycle):
    """One device of the set and its outcome in this run.

    ``make`` returns its :class:`Device`, for a place or its own options.
    """

    resource: Device

    def __init__(
        self,
        make: Callable[[Place | None], Device],
        key: str,
        alternatives: tuple[Place, ...] = (),
        *,
        warn: Callable[[str], None],
    ) -> None:
        # The first alternative, until its place is known.
        self.place = alternatives[0] if len(alternatives) > 1 else None
        """Its place, or the place to order it in, of several alternatives."""
        super().__init__(make(self.place), warn)
        self._make = make
        self.key = key
        self.alternatives = alternatives
        self.held = False
        """Waits for other replacements to complete."""
        self.drifted = False
        """Is replaced because immutable attributes differ."""
        self.moved = False
        """Metro or plan differ."""
        self.settled = False
        """Nothing more to do, after success or failure."""
        self.error: CollectionError | None = None
        self.texts: list[str] = []
        self.replacements: list[dict[str, Any]] = []
        """Failed devices that were replaced: ``id`` and ``reason``."""

    @property
    def name(self) -> str:
        return self.key

    def put_at(self, place: Place | None) -> None:
        self.place = place
        self.resource = self._make(place)

    def guard(self, step: Callable[[Member], list[str]]) -> list[str]:
        """Run a step; an expected error is kept and settles this device, not the others."""
        if self.settled:
            return []
        try:
            self.texts = step(self)
        except CollectionError as error:
            self.error = error
            self.texts = []
        self.settled = not self.texts
        return self.texts

    @property
    def orders(self) -> bool:
        return self.error is None and self.action in ("created", "replaced") and not self.acted

    def _compare(self, current: Found, on_drift: str) -> list[str]:
        self._recognise(current)
        return super()._compare(current, on_drift)

    def _recognise(self, current: Found) -> None:
        """Select the alternative the device is in, the first one if it is in none."""
        for place in self.alternatives if len(self.alternatives) > 1 else ():
            self.put_at(place)
            if not WHERE & set(differences(self.resource.comparable(current), self.resource.desired())):
                return
        if self.place is not None:
            self.put_at(self.alternatives[0])

    def plan_replacement(self, drift: Mapping[str, Any]) -> None:
        """Plan to replace the device when it is its turn; the set checks the capacity of all."""
        self.drifted = self.held = True
        self.moved = bool(WHERE & set(drift))
        if not self.moved and self.place is not None:
            # Its current place is preferred.
            self.alternatives = (self.place, *(place for place in self.alternatives if place != self.place))
        self.expect()

    def begin_turn(self) -> None:
        self.put_at(self.place)
        self.held = False
        self.replace()

    def renew(self) -> None:
        """Plan the replacement of its failed device. Raises CollectionError when that cannot be deleted."""
        reason = self.error
        if self.current is not None and not (isinstance(reason, DeviceFailedError) and reason.gone):
            self.resource.check_deletion(self.current)
            self.old = self.current
        self.resource.check_creation()
        if self.action in ("none", "updated"):
            self.action = "replaced"
            self.before = {**self.before, "state": (self.current or {}).get("state")}
        self.replacements.append({"id": (self.current or {}).get("id"), "reason": str(reason)})
        self.put_at(self.place)
        self.current, self.error, self.settled, self.changes = None, None, False, {}
        self.expect()
        self.texts = [f"{self.key} is not ordered again yet"]

    def predict(self) -> None:
        if self.error is None:
            super().predict()

    def step(self, listing: Mapping[str, Found] | None) -> list[str]:
        if self.held:
            return [f"{self.key} waits for other replacements to complete"]
        return super().step(listing)

    # Results.

    @property
    def status(self) -> str:
        """Return ``ready``, ``failed``, ``differs``, ``missing``, ``under_way``, or ``removed`` for a device to delete."""
        if self.error is not None:
            state = (self.current or {}).get("state")
            failed = isinstance(self.error, DeviceFailedError) or state == "failed"
            return "failed" if failed else "differs" if state in SETTLED else "missing"
        if self.action == "deleted" or (self.current is None and self.settled):
            return "removed"
        return "ready" if self.settled else "under_way"

    def result(self) -> dict[str, Any]:
        current = self.current or {}
        return {
            "id": current.get("id"),
            "changed": self.acted,
            "action": self.action if self.acted else "none",
            "status": self.status,
            "metro": metro_code(current) if current else (self.place.metro if self.place else None),
            "plan": plan_name(current) if current else (self.place.plan if self.place else None),
            "replacements": list(self.replacements),
            "duplicates": list(self.duplicates),
            "error": self.error.message if self.error else None,
        }


def run_concurrently(members: Iterable[Member], step: Callable[[Member], list[str]]) -> None:
    waiting = [member for member in members if not member.settled]
    if len(waiting) < 2:
        for member in waiting:
            member.guard(step)
        return
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(waiting))) as pool:
        for _done in pool.map(lambda member: member.guard(step), waiting):
            pass
