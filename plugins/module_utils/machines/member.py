# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One device of a set: its planned action and its outcome. Decisions about several devices are in ``set``.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, DeviceFailedError, NotYetError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import SETTLED, Device, state_text
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.placement import Place
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import metro_code, plan_name
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import (
    changes_after_creation,
    create_once,
    limited,
    settle_drift,
    update_once,
)

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

AT_ONCE = 8
"""Concurrent requests while devices are ordered, changed or deleted: enough to hide the network's latency.

The API can order several devices in one request (``/devices/batch``), but carries it out later: after a lost answer it would be unknown
whether a missing device is still to come, and it would be ordered twice. A device of one request is found by its host name at once.
"""

WHERE = frozenset({"metro", "plan"})


@dataclass(eq=False)
class Member:
    """One device of the set and its outcome in this run.

    ``make`` returns its :class:`Device`, for a place or its own options; its second argument: a previous call found the device.
    ``action`` is ``created``, ``updated``, ``replaced``, ``deleted`` or ``none`` (check mode: predicted). ``pending``: later changes.
    ``acted``: a write was accepted. ``settled``: nothing more to do, after success or failure.
    """

    make: Callable[[Place | None, bool], Device]
    key: str
    alternatives: tuple[Place, ...] = ()
    resumed: bool = False
    """A previous call found its device."""
    device: Device = field(init=False)
    place: Place | None = None
    """Its place, or the place to order it in, of several alternatives."""
    found: Found | None = None
    old: Found | None = None
    """The device to delete before its replacement is ordered."""
    held: bool = False
    """Waits for other replacements to complete."""
    drifted: bool = False
    """Is replaced because immutable attributes differ."""
    moved: bool = False
    """Metro or plan differ."""
    action: str = "none"
    error: CollectionError | None = None
    acted: bool = False
    settled: bool = False
    pending: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    desired: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    """Ids of devices that were deleted to be replaced."""
    planned: bool = False
    """The list that was just read has no such device."""
    second: Found | None = None
    """The device to delete that this run ordered, because another run had ordered one before."""
    ordered: str | None = None
    """Id of the device that this run ordered, as long as another run may have ordered one as well."""
    unlisted: bool = False
    """No list was read since the device was ordered."""
    duplicates: list[dict[str, Any]] = field(default_factory=list)
    """Devices that this run ordered and deleted again, because another run had ordered the same one first: ``id`` and ``kept``."""
    replacements: list[dict[str, Any]] = field(default_factory=list)
    """Failed devices that were replaced: ``id`` and ``reason``."""

    def __post_init__(self) -> None:
        # The first alternative, until its place is known.
        self.put_at(self.place or (self.alternatives[0] if len(self.alternatives) > 1 else None))

    def put_at(self, place: Place | None) -> None:
        """Set the place to order and find the device in."""
        self.place = place
        self.device = self.make(place, self.resumed)

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
        """Return whether a device is still to be ordered."""
        return self.error is None and self.action in ("created", "replaced") and not self.acted

    # The steps of state=present. Each returns what is pending.

    def plan(self, listing: Sequence[Found], on_drift: str) -> list[str]:
        """Plan the action for the candidates in ``listing``; writes nothing."""
        self.found = self.device.among(listing)
        if self.found is None:
            self.device.check_creation()
            self.action = "created"
            self.planned = True
            self.expect()
            return [f"{self.key} is not ordered yet"]
        return self._compare(self.found, on_drift)

    def _compare(self, found: Found, on_drift: str) -> list[str]:
        """Plan the action for an existing device."""
        self._recognise(found)
        self.found = self.device.complete(found)
        self.desired = self.device.desired()
        view = self.device.comparable(self.found)
        self.before = self.after = limited(view, self.desired)
        missing = self.device.pending(self.found)  # raises at once when the desired state cannot be reached
        self.pending = differences(view, self.desired)
        self.pending, drift = settle_drift(self.device, self.found, self.pending, on_drift, self.device.warn)
        if drift:
            return self._plan_replacement(drift)
        if self.pending:
            self.action, self.after = "updated", {**self.before, **self.pending}
            missing = [*missing, f"{self.key} is not changed yet"]
        return missing

    def _recognise(self, found: Found) -> None:
        """Select the alternative the device is in, the first one if it is in none."""
        for place in self.alternatives if len(self.alternatives) > 1 else ():
            self.put_at(place)
            if not WHERE & set(differences(self.device.comparable(found), self.device.desired())):
                return
        if self.place is not None:
            self.put_at(self.alternatives[0])

    def _plan_replacement(self, drift: Mapping[str, Any]) -> list[str]:
        self.action, self.drifted, self.held, self.pending = "replaced", True, True, {}
        self.moved = bool(WHERE & set(drift))
        if not self.moved and self.place is not None:
            # Its current place is preferred.
            self.alternatives = (self.place, *(place for place in self.alternatives if place != self.place))
        self.expect()
        return [f"{self.key} is not replaced yet"]

    def expect(self) -> None:
        """Set the desired attributes of the device to order."""
        self.desired = self.device.desired()
        self.after = dict(self.desired)

    def predict(self) -> None:
        """Set the results as if the plan was carried out (check mode)."""
        self.acted = self.action != "none" and self.error is None
        if self.acted and self.action != "deleted":
            ordered = self.action in ("created", "replaced")
            self.found = self.device.predict(None if ordered else self.found, self.desired if ordered else self.pending)

    def begin_turn(self) -> None:
        """Begin its replacement."""
        self.resumed = False
        self.put_at(self.place)
        self.held, self.old, self.found = False, self.found, None

    def renew(self) -> None:
        """Plan the replacement of its failed device. Raises CollectionError when that cannot be deleted."""
        reason = self.error
        if self.found is not None and not (isinstance(reason, DeviceFailedError) and reason.gone):
            self.device.check_deletion(self.found)
            self.old = self.found
        self.device.check_creation()
        if self.action in ("none", "updated"):
            self.action = "replaced"
            self.before = {**self.before, "state": (self.found or {}).get("state")}
        self.replacements.append({"id": (self.found or {}).get("id"), "reason": str(reason)})
        self.resumed = False
        self.put_at(self.place)
        self.found, self.error, self.settled, self.pending = None, None, False, {}
        self.expect()
        self.texts = [f"{self.key} is not ordered again yet"]

    def step(self, listing: Mapping[str, Found] | None) -> list[str]:
        """Take the next step with a new list of devices by id; None: with the known state. A device missing in the list is read."""
        if self.held:
            return [f"{self.key} waits for other replacements to complete"]
        if self.found is None:
            return self._order()
        if listing is None:
            return self._advance(self.found)
        self.unlisted = False
        found = listing.get(str(self.found["id"])) or self.device.refresh(self.found)
        if self.ordered is not None:
            found = self._first_ordered(found, listing)
        return self._advance(found)

    def _first_ordered(self, found: Found, listing: Mapping[str, Found]) -> Found:
        """Return the device to use: the one this run ordered, or an older one of the same name that another run ordered.

        In the latter case the one this run ordered is deleted as soon as the API allows it: not while it is provisioning.
        """
        own = listing.get(str(self.ordered)) or (found if found.get("id") == self.ordered else None)
        older = None if own is None or self.device.is_deleting(own) else self.device.older_duplicate(own, listing.values())
        if own is None or older is None:
            self.second = None
            return found if own is None else own
        self.second = own
        if not self.device.delete(own):
            self.duplicates.append({"id": own["id"], "kept": older["id"]})
            self.ordered = self.second = None
            self.action = "none"
            # Its attributes may differ from the desired ones.
            self._compare(older, "fail")
        return older

    def _order(self) -> list[str]:
        """Delete the old device, if any, without waiting for its end, and order the new one."""
        if self.old is not None:
            texts = self.device.delete(self.old)
            if texts:
                return texts
            self.gone.append(str(self.old["id"]))
            self.old, self.acted = None, True

        def find() -> Found | None:
            found = self.device.find()
            return None if found is not None and str(found.get("id")) in self.gone else found

        find_first, self.planned = not self.planned, False
        try:
            created = create_once(self.device.create, find, find_first=find_first)
        except NotYetError as error:
            return error.waiting
        self.found = created.found
        if not created.ordered:
            # Another run has ordered it since the list was read.
            self.action = "replaced" if self.gone else "none"
            return self._compare(created.found, "fail")
        self.acted = self.unlisted = True
        self.ordered = str(self.found["id"])
        self.pending = changes_after_creation(self.device, self.found, self.desired)
        return self._advance(self.found)

    def _advance(self, found: Found) -> list[str]:
        """Make the pending changes, if nothing blocks them."""
        self.found = found
        if self.pending:
            texts = self.device.blockers(found, self.pending)
            if texts:
                return texts
            self.found = update_once(self.device, found, self.pending)
            self.acted = True
            self.pending = {}
        missing = self.device.pending(self.found)
        if self.unlisted:
            missing = [*missing, f"{self.key} is ordered and not listed yet"]
        if self.second is not None:
            missing = [*missing, f"{self.second['id']}, a duplicate of {self.key}, is not deleted yet"]
        if not missing:
            # The device as it is, not as it was requested.
            self.found = self.device.complete(self.found)
            self.after = limited(self.device.comparable(self.found), self.desired)
        return missing

    # The steps of state=absent.

    def plan_removal(self, listing: Sequence[Found]) -> list[str]:
        """Plan the deletion of the device among the candidates in ``listing``; writes nothing."""
        self.found = self.device.among(listing)
        if self.found is None:
            return []
        if not self.device.is_deleting(self.found):
            self.device.check_deletion(self.found)
            self.action = "deleted"
            self.before = self.device.set_attributes(self.found)
            self.pending = {"state": "absent"}
        return [f"{self.key} is not deleted yet"]

    def remove(self, listing: Mapping[str, Found] | None) -> list[str]:
        """Request its deletion, if that was not accepted before, and check whether it is deleted.

        A device missing in a new list is read: another client may have changed its tags.
        """
        if self.found is None:
            return []
        if listing is not None:
            listed = listing.get(str(self.found["id"]))
            if listed is None:
                texts = self.device.remaining(self.found)
            else:
                self.found = listed
                texts = [] if listed.get("state") == "deleted" else [state_text(listed)]
            if not texts or not self.pending:
                return texts
        if self.pending:
            texts = self.device.delete(self.found)
            if texts:
                return texts
            self.acted = True
            self.pending = {}
        return [f"{self.key} is being deleted"]

    # Results, and the state for the next call.

    @property
    def status(self) -> str:
        """Return ``ready``, ``failed``, ``differs``, ``missing``, ``under_way``, or ``removed`` for a device to delete."""
        if self.error is not None:
            state = (self.found or {}).get("state")
            failed = isinstance(self.error, DeviceFailedError) or state == "failed"
            return "failed" if failed else "differs" if state in SETTLED else "missing"
        if self.action == "deleted" or (self.found is None and self.settled):
            return "removed"
        return "ready" if self.settled else "under_way"

    def result(self) -> dict[str, Any]:
        """Return what the module returns under its host name."""
        found = self.found or {}
        return {
            "id": found.get("id"),
            "changed": self.acted,
            "action": self.action if self.acted else "none",
            "status": self.status,
            "metro": metro_code(found) if found else (self.place.metro if self.place else None),
            "plan": plan_name(found) if found else (self.place.plan if self.place else None),
            "replacements": list(self.replacements),
            "duplicates": list(self.duplicates),
            "error": self.error.message if self.error else None,
        }

    def memory(self) -> dict[str, Any]:
        """Return the state for the next call of the same wait; no secret."""
        return {
            "place": list(self.place) if self.place else None,
            "found": _identity(self.found),
            "old": _identity(self.old),
            "second": _identity(self.second),
            "error": None if self.error is None else [isinstance(self.error, DeviceFailedError), self.error.message, self.error.details],
            "pending": sorted(self.pending),
            **{name: getattr(self, name) for name in _REMEMBERED},
        }

    def recall(self, known: Mapping[str, Any], by_id: Mapping[str, Found], *, absent: bool) -> None:
        """Restore the state of the previous call."""
        self.resumed = known["found"] is not None
        self.put_at(Place(*known["place"]) if known["place"] else None)
        for name in _REMEMBERED:
            setattr(self, name, known[name])
        self.found = by_id.get(known["found"]["id"], known["found"]) if known["found"] else None
        self.old = by_id.get(known["old"]["id"], known["old"]) if known["old"] else None
        self.second = by_id.get(known["second"]["id"], known["second"]) if known["second"] else None
        self.desired = {} if absent else self.device.desired()
        self.pending = {name: self.desired.get(name, "absent") for name in known["pending"]}
        if known["error"] is not None:
            failed, message, details = known["error"]
            self.error = (DeviceFailedError if failed else CollectionError)(message, details)


_REMEMBERED = (
    "held",
    "drifted",
    "moved",
    "action",
    "acted",
    "settled",
    "before",
    "after",
    "gone",
    "ordered",
    "unlisted",
    "duplicates",
    "replacements",
)


def _identity(found: Found | None) -> dict[str, Any] | None:
    return {name: found.get(name) for name in ("id", "hostname", "state", "tags")} if found else None


def run_concurrently(members: Iterable[Member], step: Callable[[Member], list[str]]) -> None:
    """Run a step for all members that are not settled, concurrently."""
    waiting = [member for member in members if not member.settled]
    if len(waiting) < 2:
        for member in waiting:
            member.guard(step)
        return
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(waiting))) as pool:
        for _done in pool.map(lambda member: member.guard(step), waiting):
            pass
