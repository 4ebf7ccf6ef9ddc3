# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lifecycle of resources: find, compare, predict, refuse, act, wait and report, for one object and for a set of devices.

Nothing here depends on the kind of resource (``Resource`` in ``metal.resource``).

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences, shown
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotYetError, StillExistsError
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
    """A module that brings resources to the desired state."""

    @property
    def waiter(self) -> Waiter:
        """The waiter of this call."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """Show a warning."""
        raise NotImplementedError

    def bring(self, resource: Resource) -> None:
        """Bring one object to its state."""
        # Not every resource can be absent: a port is created and deleted with its device.
        if self.params.get("state") == "absent":
            self._ensure_absent(resource)
        else:
            self._ensure_present(resource)

    # state=present

    def _ensure_present(self, resource: Resource) -> None:
        desired = resource.desired()
        resumed = self.params.get("resume")
        only: frozenset[str] | None
        if resumed:
            found, before, only = self._resume(resource, resumed)
        else:
            start = self._find_or_create(resource, desired)
            if start is None:
                return
            found, before, only = start

        changes = differences(resource.comparable(found), desired)
        changes = {name: value for name, value in changes.items() if only is None or name in only}
        changes, drift = settle_drift(resource, found, changes, self._on_drift, self.warn)
        if drift:
            resource.check_replacement()
            if self.check_mode:
                self._report(resource, resource.predict(None, desired), before, desired)
                return
            found = self._replace(resource, found, before, desired)
            changes = changes_after_creation(resource, found, desired)
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
                found = self._wait_for(resource, found, resource.pending, f"Waiting for {resource.title}")
        except StillWaiting:
            self._remember(found, before=before, pending=sorted(changes), more=resource.memory())
            raise
        # The object as it is, not as it was requested.
        self._report(resource, found, before, limited(resource.comparable(found), desired))
        self.result.update(resource.notes())

    def _find_or_create(self, resource: Resource, desired: Mapping[str, Any]) -> tuple[Found, dict[str, Any], frozenset[str] | None] | None:
        """Return the object, found or created, how it was before, and the only attributes that may be changed now (None: all).

        Returns None when check mode has reported what would be created.
        """
        found = resource.find()
        if found is not None:
            return self._start_from(resource, found, desired)
        resource.check_creation()
        if self.check_mode:
            self._report(resource, resource.predict(None, desired), {}, desired)
            return None
        created = self._create(resource)
        if not created.ordered:
            return self._start_from(resource, created.found, desired)
        self._report(resource, created.found, {}, desired)
        chosen = resource.note_order(created.found)
        if chosen["id"] != created.found["id"]:
            return self._start_from(resource, chosen, desired)
        return created.found, {}, resource.after_creation

    def _start_from(self, resource: Resource, found: Found, desired: Mapping[str, Any]) -> tuple[Found, dict[str, Any], None]:
        before = limited(resource.comparable(found), desired)
        resource.pending(found)  # raises at once when the desired state cannot be reached
        self._report(resource, found, before, before)
        return found, before, None

    def _create(self, resource: Resource) -> Created:
        """Create the object; with wait=true as soon as it can be ordered. A slice of that wait has ordered nothing to resume."""
        if not self.params.get("wait", False):
            return create_once(resource.create, resource.find)
        created: list[Created] = []
        waited = False

        def order() -> list[str]:
            nonlocal waited
            find_first, waited = waited, True
            try:
                created.append(create_once(resource.create, resource.find, find_first=find_first))
            except NotYetError as error:
                return error.waiting
            return []

        self.waiter.until_nothing_pending(order, f"Creating {resource.title}")
        return created[0]

    @property
    def _on_drift(self) -> str:
        choice = str(self.params.get("on_drift") or "fail")
        # A resumed call replaces nothing: the first call has decided that.
        return "fail" if choice == "replace" and self.params.get("resume") else choice

    def _replace(self, resource: Resource, found: Found, before: Mapping[str, Any], desired: Mapping[str, Any]) -> Found:
        """Delete the object and create it again as soon as it is being deleted, without waiting for its end.

        A slice of a wait that ends in between leaves nothing to resume: an object that is being deleted is not found, so the next call
        creates one.
        """
        self._delete(resource, found, "replace")
        self.result.update(changed=True, diff=shown(before, {}, resource.title))
        created = self._create(resource).found
        self._report(resource, created, before, desired)
        return created

    def _change(self, resource: Resource, found: Found, before: Mapping[str, Any], changes: Mapping[str, Any]) -> Found:
        """Wait for what blocks these changes, and make them."""
        texts = resource.blockers(found, changes)
        if texts and not self.params.get("wait", False):
            raise CollectionError(f"Cannot change {', '.join(sorted(changes))} of {resource.title} now: {'; '.join(texts)}. Use wait=true")
        if texts:
            found = self._wait_for(resource, found, lambda current: resource.blockers(current, changes), f"Changing {resource.title}")
        try:
            found = update_once(resource, found, changes)
        except CollectionError as error:
            if error.acted:
                self._report_partial(resource, found, before)
            raise
        self._report(resource, found, before, {**(self.result["diff"]["after"] or before), **changes})
        return found

    def _report_partial(self, resource: Resource, found: Found, before: Mapping[str, Any]) -> None:
        """Report the object after a partial update."""
        self.result["changed"] = True
        try:
            found = resource.refresh(found)
        except CollectionError as error:
            self.warn(f"The current state of {resource.title} is unknown: {error.message}")
        else:
            self._report(resource, found, before, limited(resource.comparable(found), before))

    def _wait_for(self, resource: Resource, found: Found, pending: Callable[[Found], list[str]], what: str) -> Found:
        """Wait until nothing is pending. The known object is checked first, so that an idempotent run needs no request."""
        current = found
        first = True

        def poll() -> list[str]:
            nonlocal current, first
            if not first:
                current = resource.refresh(current)
                self.result[resource.result_key] = resource.result(current)
            first = False
            return pending(current)

        self.waiter.until_nothing_pending(poll, what)
        return current

    def _report(self, resource: Resource, found: Found, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Put the object and its changes so far into the result, which a later error returns as well."""
        self.result["diff"] = shown(before, after, resource.title)
        self.result["changed"] = self.result["changed"] or dict(before) != dict(after)
        self.result[resource.result_key] = resource.result(found)

    # state=absent

    def _ensure_absent(self, resource: Resource) -> None:
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
                self._delete(resource, gone, "delete")
                accepted = True
                self.result.update(changed=True, diff=shown(before, {}, resource.title))
            if wait:
                self.waiter.until_nothing_pending(lambda: resource.remaining(gone), f"Deletion of {resource.title}")
        except StillWaiting:
            self._remember(gone, before=before, pending=[] if accepted else ["state"])
            raise

    def _delete(self, resource: Resource, found: Found, attempted: str) -> None:
        """Delete the object until it is deleted or being deleted. An accepted deletion without effect is requested again."""
        if not self.params.get("wait", False):
            if texts := resource.delete(found):
                raise CollectionError(f"Cannot {attempted} {resource.title} now: {'; '.join(texts)}. Use wait=true")
            return

        def request() -> list[str]:
            try:
                return resource.delete(found)
            except StillExistsError as error:
                return [error.message]

        self.waiter.until_nothing_pending(request, f"Deleting {resource.title}")

    # Resumed calls (option progress_interval).

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
        """Return the state of the previous call: the object, how it was before, and what may still be changed."""
        self.result.update(changed=resumed["changed"], diff=resumed["diff"])
        found = resumed["found"]
        if self.params["state"] == "present":
            found = resource.refresh(found)
            self.result[resource.result_key] = resource.result(found)
        return found, resumed["before"], frozenset(resumed["pending"])

    # Sets.

    def bring_set(self, devices: DeviceSet) -> None:
        """Bring each device of the set to its state, also when others fail."""
        listing: list[Found] | None = None
        if self.params.get("resume"):
            listing = devices.list_owned()
            devices.recall(self.params["resume"], listing)
        else:
            devices.plan(devices.list_all())
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
        """Carry out the plan, then wait, with one list of devices for each poll. ``listing``: the list of a resumed call."""
        first = True

        def poll() -> list[str]:
            nonlocal first
            texts = devices.step(listing if first else devices.list_owned())
            first = False
            self._report_set(devices)
            return texts

        if self.params["wait"]:
            try:
                self.waiter.until_nothing_pending(poll, "Waiting for these devices")
            except WaitTimeout:
                devices.fail_pending("wait_timeout is over")
        else:
            poll()
            if devices.is_unlisted():
                poll()
            devices.fail_pending("it can be ordered, changed or deleted only after that; use wait=true", pending_only=True)

    def _report_set(self, devices: DeviceSet) -> None:
        before, after = devices.diff()
        self.result.update(devices.results())
        self.result["diff"] = shown(before, after, "devices")
        self.result["changed"] = any(member.acted for member in devices.members)
