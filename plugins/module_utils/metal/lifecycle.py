# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lifecycle of one resource: compare, create, replace, change and delete it in steps.

Nothing here depends on the kind of resource, and nothing waits: a step does what can be done now and returns what is pending. A module
drives one lifecycle (``frame.metal``), a set of devices one for each member (``machines.set``), all with one list of devices per step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.diff import differences
from ..base.errors import CollectionError, LostAnswerError, NotYetError, StillExistsError, together
from .resource import create_once, limited

if TYPE_CHECKING:
    from .resource import Found, Resource


class Lifecycle:
    """One resource on its way to the desired state.

    First :meth:`plan` or :meth:`plan_removal`, which write nothing; then :meth:`predict`, or :meth:`step` and :meth:`remove` until they
    return nothing pending. ``wait``: whether steps follow later; if not, what cannot be done now is an error.
    """

    def __init__(self, resource: Resource, warn: Callable[[str], None], *, wait: bool = True) -> None:
        self.resource = resource
        self.warn = warn
        self._wait = wait
        self.current: Found | None = None
        self.old: Found | None = None
        """The object to delete before its replacement is created."""
        self.action = "none"
        """``created``, ``updated``, ``replaced``, ``deleted`` or ``none``: planned, and with ``acted`` done (in check mode: predicted)."""
        self.acted = False
        """Whether a write was accepted."""
        self.changes: dict[str, Any] = {}
        """Attributes to change, or ``state: absent`` for a deletion that was not accepted yet."""
        self.desired: dict[str, Any] = {}
        self.before: dict[str, Any] = {}
        self.after: dict[str, Any] = {}
        self.deleted: list[str] = []
        """Ids of the objects that were deleted to be replaced."""
        self.unlisted = False
        """Whether no list was read since this run created the object: it would show an older object of another run."""
        self.duplicate: Found | None = None
        """The object to delete that this run created, because another run had created one before."""
        self.duplicates: list[dict[str, Any]] = []
        """Objects that this run created and deleted for that reason: ``id``, and the id of the object used instead, ``kept``."""
        self._created: str | None = None
        """Id of the object that this run created, as long as another run may have created one as well."""
        self._find_first = True
        self._on_drift = "fail"
        """``on_drift`` for an object of another run that takes the place of the one to create: that is never replaced."""

    @property
    def name(self) -> str:
        return self.resource.title

    def diff(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.before, self.after if self.acted else self.before

    # state=present

    def plan(self, current: Found | None, on_drift: str) -> list[str]:
        """Plan the action for an object that was just read or listed. Raises CollectionError when the desired state cannot be reached."""
        self._on_drift = "ignore" if on_drift == "ignore" else "fail"
        if current is not None:
            return self._compare(current, on_drift)
        self.resource.check_creation()
        self.action, self._find_first = "created", False
        self.expect()
        return [f"{self.name} is not created yet"]

    def _compare(self, current: Found, on_drift: str) -> list[str]:
        self.current = current = self.resource.complete(current)
        self.desired = self.resource.desired()
        comparable = self.resource.comparable(current)
        self.before = self.after = limited(comparable, self.desired)
        pending = self.resource.pending(current)  # raises at once when the desired state cannot be reached
        self.changes, drift = settle_drift(self.resource, current, differences(comparable, self.desired), on_drift, self.warn)
        if drift:
            self.action, self.changes = "replaced", {}
            self.plan_replacement(drift)
            return [f"{self.name} is not replaced yet"]
        if self.changes:
            self.action, self.after = "updated", {**self.before, **self.changes}
            pending = [*pending, f"{self.name} is not changed yet"]
        return pending

    def plan_replacement(self, drift: Mapping[str, Any]) -> None:
        """Plan to replace the object because of ``drift``. Raises CollectionError when it cannot be replaced."""
        self.resource.check_replacement()
        self.replace()

    def replace(self) -> None:
        """Have the next step delete the object and create another."""
        self.old, self.current = self.current, None
        self.expect()

    def expect(self) -> None:
        """Set the desired attributes of the object to create."""
        self.desired = self.resource.desired()
        self.after = dict(self.desired)

    def predict(self) -> None:
        """Set the results as if the plan was carried out (check mode)."""
        self.acted = self.action != "none"
        if self.action in ("created", "replaced"):
            self.current = self.resource.predict(None, self.desired)
        elif self.action == "updated":
            self.current = self.resource.predict(self.current, self.changes)

    def step(self, listing: Mapping[str, Found] | None) -> list[str]:
        """Take the next step, with new objects by id, or (None) with the known state. An object missing in ``listing`` is read."""
        if self.current is None:
            return self._create()
        if listing is None:
            return self._advance(self.current)
        self.unlisted = False
        current = listing.get(str(self.current["id"])) or self.resource.refresh(self.current)
        if self._created is not None:
            current = self._first_created(current, listing)
        return self._advance(current)

    def _create(self) -> list[str]:
        """Delete the old object, if any, without waiting for its end, and create the new one."""
        if self.old is not None:
            if texts := self._delete(self.old):
                return texts
            self.deleted.append(str(self.old["id"]))
            self.old, self.acted, self.after = None, True, {}

        def find() -> Found | None:
            current = self.resource.find()
            return None if current is not None and str(current.get("id")) in self.deleted else current

        find_first, self._find_first = self._find_first, True
        try:
            created = create_once(self.resource.create, find, find_first=find_first)
        except NotYetError as error:
            if not self._wait:
                raise
            return error.waiting
        if not created.ordered:
            # Another run has created it since it was searched.
            return self._advance(self._adopt(created.current))
        self.current = created.current
        self.acted, self.after = True, dict(self.desired)
        left = differences(self.resource.comparable(created.current), self.desired)
        # Attributes that a create does not accept.
        self.changes = {name: value for name, value in left.items() if name in self.resource.after_creation}
        if self.resource.has_rivals:
            self._created, self.unlisted = str(created.current["id"]), True
        return self._advance(created.current)

    def _first_created(self, current: Found, listing: Mapping[str, Found]) -> Found:
        """Return the object to use: the one this run created, or an older one that another run created as the same object.

        In the latter case the one this run created is deleted as soon as the API allows it: a device not while it is provisioning.
        """
        own = listing.get(str(self._created)) or (current if current.get("id") == self._created else None)
        older = None if own is None or self.resource.is_deleting(own) else self.resource.older_duplicate(own, listing.values())
        if own is None or older is None:
            self.duplicate = None
            return current if own is None else own
        self.duplicate = own
        self.warn(f"Another run created {self.name} as well: {older['id']} is used, {own['id']} is deleted")
        if not (texts := self._delete(own)):
            self.duplicates.append({"id": own["id"], "kept": older["id"]})
            self._created = self.duplicate = None
        if texts and self._wait:
            return older
        return self._adopt(older)

    def _adopt(self, current: Found) -> Found:
        """Return an object that another run created, compared with the desired state: its attributes may differ."""
        self.action = "replaced" if self.deleted else "none"
        self._compare(current, self._on_drift)
        return self.current or current

    def _advance(self, current: Found) -> list[str]:
        """Make the changes, if nothing blocks them."""
        self.current = current
        if self.changes:
            if texts := self.resource.blockers(current, self.changes):
                return texts
            self._update(current)
        pending = self.resource.pending(self.current) if self._wait else []
        if self.unlisted:
            pending = [*pending, f"{self.name} is created and not listed yet"]
        if self.duplicate is not None:
            pending = [*pending, f"{self.duplicate['id']}, a duplicate of {self.name}, is not deleted yet"]
        if not pending or not self._wait:
            # The object as it is, not as it was requested.
            self.current = self.resource.complete(self.current)
            self.after = limited(self.resource.comparable(self.current), self.desired)
        return pending

    def _update(self, current: Found) -> None:
        try:
            self.current = update_once(self.resource, current, self.changes)
        except CollectionError as error:
            if error.acted:
                self._note_partial_update(current)
            raise
        self.acted, self.changes = True, {}

    def _note_partial_update(self, current: Found) -> None:
        self.acted = True
        try:
            self.current = self.resource.refresh(current)
        except CollectionError as error:
            self.warn(f"The current state of {self.name} is unknown: {error.message}")
        else:
            self.after = limited(self.resource.comparable(self.current), self.before)

    # state=absent

    def plan_removal(self, current: Found | None) -> list[str]:
        """Plan the deletion of an object that was just read or listed. Raises CollectionError when it cannot be deleted."""
        self.current = current
        if current is None:
            return []
        if not self.resource.is_deleting(current):
            self.resource.check_deletion(current)
            self.action, self.changes = "deleted", {"state": "absent"}
            self.before = self.resource.set_attributes(current)
        return [f"{self.name} is not deleted yet"]

    def remove(self, listing: Mapping[str, Found] | None) -> list[str]:
        """Request its deletion, if that was not accepted before, and check whether it is deleted.

        An object missing in ``listing`` is read: another client may have changed its tags.
        """
        if self.current is None:
            return []
        if listing is not None:
            listed = listing.get(str(self.current["id"]))
            texts = self.resource.remaining(self.current) if listed is None else self.resource.undeleted(listed)
            if not texts or not self.changes:
                return texts
            self.current = listed or self.current
        if self.changes:
            if texts := self._delete(self.current):
                return texts
            self.acted, self.changes = True, {}
        return [f"{self.name} is being deleted"]

    def _delete(self, current: Found) -> list[str]:
        """Request a deletion; returns what blocks it. An accepted deletion without effect is requested again by the next step."""
        try:
            return self.resource.delete(current)
        except StillExistsError as error:
            if not self._wait:
                raise
            return [error.message]

    def rivals(self) -> dict[str, Found]:
        """Return the objects of the same name by id after a creation, else none: the ``listing`` of a single resource for :meth:`step`."""
        return {} if self._created is None else {str(namesake.get("id")): namesake for namesake in self.resource.namesakes()}


def update_once(resource: Resource, current: Found, changes: Mapping[str, Any]) -> Found:
    """Update an object; after a lost answer only the remaining differences are sent again."""
    try:
        return resource.update(current, changes)
    except LostAnswerError:
        current = resource.refresh(current)
        left = differences(resource.comparable(current), changes)
        return resource.update(current, left) if left else current


def settle_drift(
    resource: Resource, current: Found, changes: Mapping[str, Any], on_drift: str, warn: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the changes to make, and the drift for which to replace the object.

    Drift: different immutable attributes. ``on_drift`` is ``ignore``, ``replace`` or ``fail``. Raises CollectionError for ``fail``,
    and when the object cannot be deleted or created again; nothing was changed then.
    """
    drift = {name: changes[name] for name in sorted(changes) if name in resource.immutable}
    if not drift:
        return dict(changes), {}
    if on_drift == "replace":
        resource.check_deletion(current)
        resource.check_creation()
        return {}, drift
    comparable = resource.comparable(current)
    texts = {name: f"{name} is {comparable.get(name)!r}, desired is {value!r}" for name, value in drift.items()}
    if on_drift == "ignore":
        warn(f"{resource.title} is not changed (on_drift=ignore): {'; '.join(texts.values())}")
        return {name: value for name, value in changes.items() if name not in drift}, {}
    raise CollectionError(
        together(f"Cannot change {resource.title}", [f"{text}; {resource.immutable[name]}" for name, text in texts.items()]),
        {"fixed": {name: {"current": comparable.get(name), "desired": value} for name, value in drift.items()}},
    )
