# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that bring one resource, or a set of devices, to the desired state: waiting, check mode and results.

What is done, and when, decides ``metal.lifecycle``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.diff import shown
from ..base.errors import CollectionError
from ..base.printable import printable
from ..base.wait import Waiter, WaitTimeout
from ..lock.run_record import record
from ..metal.lifecycle import Lifecycle
from .base import LONGEST_LINE, ModuleFrame

if TYPE_CHECKING:
    from ..machines.set import DeviceSet
    from ..metal.resource import Resource


class ResourceModule(ModuleFrame):
    @property
    def waiter(self) -> Waiter:
        raise NotImplementedError

    def warn(self, text: str) -> None:
        raise NotImplementedError

    # One object.

    def bring(self, resource: Resource) -> None:
        # Not every resource can be absent: a port is created and deleted with its device.
        absent = self.params.get("state") == "absent"
        lifecycle = Lifecycle(resource, self.warn, wait=self._waits)
        try:
            if absent:
                lifecycle.plan_removal(resource.find())
            else:
                lifecycle.plan(resource.find(), self.params.get("on_drift") or "fail")
            if self.check_mode:
                lifecycle.predict()
            elif absent:
                self._remove(lifecycle)
            else:
                self._converge(lifecycle)
        finally:
            self._report(lifecycle, absent=absent)

    @property
    def _waits(self) -> bool:
        return bool(self.params.get("wait", False))

    def _converge(self, lifecycle: Lifecycle) -> None:
        # The object that was just found or created is checked first, so that an idempotent run needs no further request.
        first = True

        def step() -> list[str]:
            nonlocal first
            texts = lifecycle.step(None if first else lifecycle.rivals())
            first = False
            return lifecycle.step(lifecycle.rivals()) if lifecycle.unlisted else texts

        title = lifecycle.resource.title
        if self._waits:
            self.waiter.until_nothing_pending(step, f"Creation or change of {title}")
            return
        texts = step()
        if lifecycle.found is None or lifecycle.changes:
            attempted = "replace" if lifecycle.found is None else f"change {', '.join(sorted(lifecycle.changes))} of"
            raise CollectionError(f"Cannot {attempted} {title} now: {'; '.join(texts)}. Use wait=true")
        if lifecycle.duplicate is not None:
            self.warn(
                f"Cannot delete {lifecycle.duplicate['id']}, a duplicate of {title}, yet. It is billed: delete it"
                " (metal_device with id, state=absent)"
            )

    def _remove(self, lifecycle: Lifecycle) -> None:
        def remove() -> list[str]:
            texts = lifecycle.remove(None) if lifecycle.changes else []
            return texts if lifecycle.changes else lifecycle.remove({})

        title = lifecycle.resource.title
        if self._waits:
            self.waiter.until_nothing_pending(remove, f"Deletion of {title}")
        elif lifecycle.changes:
            texts = lifecycle.remove(None)
            if lifecycle.changes:
                raise CollectionError(f"Cannot delete {title} now: {'; '.join(texts)}. Use wait=true")

    def _report(self, lifecycle: Lifecycle, *, absent: bool) -> None:
        """Put the object and what was done so far into the result, which an error returns as well."""
        current = lifecycle.found or lifecycle.old
        if current is None and not lifecycle.acted and not absent:
            return
        self.result.update(changed=lifecycle.acted, diff=shown(*lifecycle.diff(), lifecycle.resource.title))
        if current is not None and not absent:
            self.result[lifecycle.resource.result_key] = lifecycle.resource.result(current)
        if lifecycle.duplicates:
            self.result["duplicates"] = lifecycle.duplicates

    # A set of devices.

    def bring_set(self, devices: DeviceSet) -> None:
        """Bring each device of the set to its state, also when others fail."""
        self.stages = devices.stages
        self._recorded: dict[str, tuple[str, str]] = {}
        self._displayed_notes = 0
        devices.plan(devices.list_all())
        if self.check_mode:
            devices.predict()
        else:
            self._act(devices)
        failure = devices.failure()
        self._report_set(devices)
        if failure is not None:
            raise failure

    def _act(self, devices: DeviceSet) -> None:
        """Carry out the plan, then wait, with one list of devices for each poll."""
        first = True

        def poll() -> list[str]:
            nonlocal first
            texts = devices.step(None if first else devices.list_owned())
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
        for note in devices.notes[self._displayed_notes :]:
            self.module.display({"level": "note", "text": note})
        self._displayed_notes = len(devices.notes)
        self._record(devices)

    def _record(self, devices: DeviceSet) -> None:
        """Record each device whose state has changed for the run report."""
        for name, state in sorted(devices.stages().items()):
            outcome = self.result["outcomes"][name]
            if self._recorded.get(name) != (state, outcome["action"]):
                self._recorded[name] = (state, outcome["action"])
                about = {attribute: outcome[attribute] for attribute in ("action", "plan", "metro")}
                error = printable(outcome["error"] or "", LONGEST_LINE)
                record("device", {"name": name, "state": state, **about, "error": error, "check_mode": self.check_mode})
