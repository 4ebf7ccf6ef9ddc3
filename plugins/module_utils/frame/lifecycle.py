# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lifecycle of resources: find, compare, predict, refuse, act, wait and report, for one object and for a set of devices.

A resource says what it is (``Resource`` in ``metal.resource``); nothing here asks which one it is.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences, shown
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotYetError, StillThereError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import StillWaiting, Waiter, WaitTimeout
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.base import ModuleFrame
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import (
    Created,
    Found,
    Resource,
    changes_after_creation,
    create_once,
    limited,
    settle_drift,
    update_once,
)

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.set import DeviceSet


class Lifecycle(ModuleFrame):
    """A module that brings resources to the state its options say."""

    @property
    def waiter(self) -> Waiter:
        """The time this call may wait."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """Show a warning to whoever runs the playbook."""
        raise NotImplementedError

    def bring(self, resource: Resource) -> None:
        """Bring one object to its state."""
        # Not every resource can be absent: a port comes and goes with its device.
        if self.params.get("state") == "absent":
            self._remove(resource)
        else:
            self._provide(resource)

    # state=present

    def _provide(self, resource: Resource) -> None:
        wanted = resource.desired()
        resumed = self.params.get("resume")
        only: frozenset[str] | None
        if resumed:
            found, before, only = self._resume(resource, resumed)
        else:
            start = self._begin(resource, wanted)
            if start is None:
                return
            found, before, only = start

        changes = differences(resource.comparable(found), wanted)
        changes = {name: value for name, value in changes.items() if only is None or name in only}
        changes, drift = settle_drift(resource, found, changes, self._on_drift, self.warn)
        if drift:
            resource.check_replacement()
            if self.check_mode:
                self._report(resource, resource.predict(None, wanted), before, wanted)
                return
            found = self._replace(resource, found, before, wanted)
            changes = changes_after_creation(resource, found, wanted)
        if changes and self.check_mode:
            self._report(resource, resource.predict(found, changes), before, {**before, **changes})
            return
        try:
            if changes:
                found = self._change(resource, found, before, changes)
                changes = {}
            if self.check_mode:
                return
            if self.params.get("wait", False):
                found = self._look(resource, found, resource.pending, f"What was asked for of {resource.title}")
        except StillWaiting:
            self._remember(found, before=before, pending=sorted(changes), more=resource.memory())
            raise
        # What really is, not what was meant.
        self._report(resource, found, before, limited(resource.comparable(found), wanted))
        self.result.update(resource.notes())

    def _begin(self, resource: Resource, wanted: Mapping[str, Any]) -> tuple[Found, dict[str, Any], frozenset[str] | None] | None:
        """Find it or create it: the object, how it was before, and the only attributes that may be changed now (None: all).

        Nothing is returned when check mode has told what would be created.
        """
        found = resource.find()
        if found is not None:
            return self._begin_with(resource, found, wanted)
        resource.check_creation()
        if self.check_mode:
            self._report(resource, resource.predict(None, wanted), {}, wanted)
            return None
        created = self._create(resource)
        if not created.ordered:
            return self._begin_with(resource, created.found, wanted)
        self._report(resource, created.found, {}, wanted)
        chosen = resource.note_order(created.found)
        if chosen["id"] != created.found["id"]:
            return self._begin_with(resource, chosen, wanted)
        return created.found, {}, resource.after_creation

    def _begin_with(self, resource: Resource, found: Found, wanted: Mapping[str, Any]) -> tuple[Found, dict[str, Any], None]:
        before = limited(resource.comparable(found), wanted)
        resource.pending(found)  # says at once when it can never be as wanted
        self._report(resource, found, before, before)
        return found, before, None

    def _create(self, resource: Resource) -> Created:
        """Order it, by choice as soon as it can be had. A slice of that wait leaves nothing to resume: nothing is ordered by then."""
        if not self.params.get("wait", False):
            return create_once(resource.create, resource.find)
        created: list[Created] = []
        waited = False

        def order() -> list[str]:
            nonlocal waited
            look_first, waited = waited, True
            try:
                created.append(create_once(resource.create, resource.find, look_first=look_first))
            except NotYetError as error:
                return error.waiting
            return []

        self.waiter.until_nothing_missing(order, f"Creating {resource.title}")
        return created[0]

    @property
    def _on_drift(self) -> str:
        choice = str(self.params.get("on_drift") or "fail")
        # What a call before this one left for this call to change was looked at then.
        return "fail" if choice == "replace" and self.params.get("resume") else choice

    def _replace(self, resource: Resource, found: Found, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Found:
        """Have it deleted and order it anew, as soon as it is leaving; its end is not waited for.

        A slice of a wait that ends in between leaves nothing to resume: what is leaving is not found any more, so the next call orders.
        """
        self._end(resource, found, "replace")
        self.result.update(changed=True, diff=shown(before, {}, resource.title))
        created = self._create(resource).found
        self._report(resource, created, before, wanted)
        return created

    def _change(self, resource: Resource, found: Found, before: Mapping[str, Any], changes: Mapping[str, Any]) -> Found:
        """Let pass what stands in the way of these changes, and make them."""
        texts = resource.blockers(found, changes)
        if texts and not self.params.get("wait", False):
            raise CollectionError(
                f"Could not change {', '.join(sorted(changes))} of {resource.title} now: {'; '.join(texts)}. Use wait=true"
            )
        if texts:
            found = self._look(resource, found, lambda current: resource.blockers(current, changes), f"Changing {resource.title}")
        try:
            found = update_once(resource, found, changes)
        except CollectionError as error:
            if error.acted:
                self._report_half_way(resource, found, before)
            raise
        self._report(resource, found, before, {**(self.result["diff"]["after"] or before), **changes})
        return found

    def _report_half_way(self, resource: Resource, found: Found, before: Mapping[str, Any]) -> None:
        """What really is after an update that came to an end on its way."""
        self.result["changed"] = True
        try:
            found = resource.refresh(found)
        except CollectionError as error:
            self.warn(f"What {resource.title} is now could not be seen: {error.message}")
        else:
            self._report(resource, found, before, limited(resource.comparable(found), before))

    def _look(self, resource: Resource, found: Found, missing: Callable[[Found], list[str]], what: str) -> Found:
        """Wait until nothing is missing. The first look is at what is known, so that a quiet run makes no call for it."""
        current = found
        first = True

        def look() -> list[str]:
            nonlocal current, first
            if not first:
                current = resource.refresh(current)
                self.result[resource.result_key] = resource.result(current)
            first = False
            return missing(current)

        self.waiter.until_nothing_missing(look, what)
        return current

    def _report(self, resource: Resource, found: Found, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Write down what is so by now: also an error later on returns it."""
        self.result["diff"] = shown(before, after, resource.title)
        self.result["changed"] = self.result["changed"] or dict(before) != dict(after)
        self.result[resource.result_key] = resource.result(found)

    # state=absent

    def _remove(self, resource: Resource) -> None:
        wait = bool(self.params.get("wait", False))
        resumed = self.params.get("resume")
        if resumed:
            gone, before, pending = self._resume(resource, resumed)
            accepted = not pending
        else:
            self.result["diff"] = shown({}, {}, resource.title)
            found = resource.find()
            if found is None:
                return
            gone = found
            accepted = resource.is_deleting(found)
            before = resource.set_attributes(found)
            if not accepted:
                resource.check_deletion(found)
        if self.check_mode:
            if not accepted:
                self.result.update(changed=True, diff=shown(before, {}, resource.title))
            return
        try:
            if not accepted:
                self._end(resource, gone, "delete")
                accepted = True
                self.result.update(changed=True, diff=shown(before, {}, resource.title))
            if wait:
                self.waiter.until_nothing_missing(lambda: resource.remaining(gone), f"The end of {resource.title}")
        except StillWaiting:
            self._remember(gone, before=before, pending=[] if accepted else ["state"])
            raise

    def _end(self, resource: Resource, found: Found, attempted: str) -> None:
        """Have it deleted: it is gone or leaving then. While there is time, what stays though that was accepted is asked for again."""
        if not self.params.get("wait", False):
            if texts := resource.delete(found):
                raise CollectionError(f"Could not {attempted} {resource.title} now: {'; '.join(texts)}. Use wait=true")
            return

        def ask() -> list[str]:
            try:
                return resource.delete(found)
            except StillThereError as error:
                return [error.message]

        self.waiter.until_nothing_missing(ask, f"Deleting {resource.title}")

    # A call that goes on waiting (option progress_interval).

    def _remember(self, found: Found, *, before: Mapping[str, Any], pending: list[str], more: Mapping[str, Any] | None = None) -> None:
        identity = {name: found.get(name) for name in ("id", "hostname", "state", "locked", "devices") if name in found}
        self.result["resume"] = {
            **(more or {}),
            "found": identity,
            "before": dict(before),
            "pending": pending,
            "changed": self.result["changed"],
            "diff": self.result["diff"],
        }

    def _resume(self, resource: Resource, resumed: Mapping[str, Any]) -> tuple[Found, dict[str, Any], frozenset[str]]:
        """Take up what the call before knew: the object, how it was before, and what may still be changed."""
        self.result.update(changed=resumed["changed"], diff=resumed["diff"])
        found = resumed["found"]
        if self.params["state"] == "present":
            found = resource.refresh(found)
            self.result[resource.result_key] = resource.result(found)
        return found, resumed["before"], frozenset(resumed["pending"])

    # Several as one.

    def bring_set(self, devices: DeviceSet) -> None:
        """Bring all devices of the set to their state: each as far as it gets, whatever becomes of the others."""
        listing: list[Found] | None = None
        if self.params.get("resume"):
            listing = devices.look_at_ours()
            devices.recall(self.params["resume"], listing)
        else:
            devices.plan(devices.look())
        if self.check_mode:
            devices.predict()
        else:
            try:
                self._act(devices, listing)
            except StillWaiting:
                self.result["resume"] = devices.memory()
                raise
        failure = devices.failure()
        self._report_set(devices)
        if failure is not None:
            raise failure

    def _act(self, devices: DeviceSet, listing: list[Found] | None) -> None:
        """Do what was decided, then wait, with one listing a look. ``listing``: that of a call which only goes on waiting."""
        first = True

        def look() -> list[str]:
            nonlocal first
            texts = devices.step(listing if first else devices.look_at_ours())
            first = False
            self._report_set(devices)
            return texts

        if self.params["wait"]:
            try:
                self.waiter.until_nothing_missing(look, "What was asked for of these machines")
            except WaitTimeout:
                devices.give_up("this did not happen within wait_timeout")
        else:
            look()
            if devices.is_unlisted():
                look()
            devices.give_up("this has to pass before it can be ordered, changed or deleted; use wait=true", pending_only=True)

    def _report_set(self, devices: DeviceSet) -> None:
        before, after = devices.diff()
        self.result.update(devices.results())
        self.result["diff"] = shown(before, after, "devices")
        self.result["changed"] = any(member.acted for member in devices.members)
