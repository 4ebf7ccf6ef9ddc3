# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module of the cluster lock: it takes the lock and releases it, waits until it is free, and breaks that of a run that has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..base.argspec import WAIT_OPTIONS, Options
from ..base.diff import shown
from ..base.errors import CollectionError, together
from ..base.play import boot_time, find_play
from ..base.tags import CLUSTER_TAG
from ..lock.cluster_lock import LIFETIME, ClusterLock, lifetime_for, locked
from ..lock.record import Holder, Lock
from ..lock.run import Locked, Run
from .metal import MetalModule, gate_of, lock_with_client, run_of

CLUSTER_LOCK_OPTIONS = Options(
    {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["held", "free", "kept", "released"], "default": "held"},
        "metro": {"type": "str"},
        "operation": {"type": "str", "default": ""},
        "job": {"type": "str", "default": ""},
        "lifetime": {"type": "float", "default": LIFETIME},
        "unlock": {"type": "str"},
    },
).merge(WAIT_OPTIONS)

LONGEST_LIFETIME = 86400
"""Seconds: a computer that is gone would keep the lock for so long."""


class LockModule(MetalModule):
    """The lifecycle of a lock: used as ``with LockModule() as module: module.keep()``."""

    def __init__(self) -> None:
        super().__init__(CLUSTER_LOCK_OPTIONS, in_project=True)

    def keep(self) -> None:
        """Bring the lock to the desired state, for the run that this module's playbook is."""
        if not self.params["name"].strip():
            raise CollectionError("Cannot lock anything: name is empty, a variable may have been cleared")
        if self.params["unlock"] is not None and self.params["state"] != "released":
            raise CollectionError("Cannot break a lock: unlock is for state=released")
        if not 0 < self.params["lifetime"] <= LONGEST_LIFETIME:
            raise CollectionError(f"lifetime is from 1 to {LONGEST_LIFETIME} seconds, not {self.params['lifetime']:g}")
        lock = self._lock()
        {"held": self._hold, "free": self._free, "kept": self._keep, "released": self._release_it}[self.params["state"]](lock)
        if self.params["state"] != "released":
            self.result["run"] = str(lock.run.path)
        elif not self.check_mode:
            lock.run.remove()

    def _lock(self) -> ClusterLock:
        params = self.params
        _connection = self.client  # reports which options of the connection are missing
        over = params["state"] == "released" and params["cluster_lock"] and not Path(params["cluster_lock"]).exists()
        run = None if over else run_of(params)
        if run is None:
            scope = params["name"]
            holder = Holder.here(find_play().main, scope, operation=params["operation"], job=params["job"])
            lifetime = lifetime_for(params["lifetime"], params["metal_api_timeout"])
            run = Run.begin(holder, Locked(scope, [f"{CLUSTER_TAG}{scope}"], params["project_id"], params["metro"] or "", lifetime))
        elif run.locked.scope != params["name"]:
            raise CollectionError(f"Cannot lock {params['name']}: cluster_lock is a run that locks {run.locked.scope}")
        lock = lock_with_client(self.module, run, gate=gate_of(run), read_only=self.check_mode)
        self._gate.lock = lock
        return lock

    def _report_lock(self, lock: ClusterLock, before: Lock | None, after: bool) -> None:
        """Report what was so and what is so now; the times of a lock are no difference."""
        about = {"name": lock.run.locked.scope, "run": lock.run.holder.run}
        self.result["changed"] = self.result["changed"] or (before is not None) != after
        self.result["diff"] = shown(about if before else {}, about if after else {}, f"cluster lock of {lock.run.locked.scope}")
        self.result["lock"] = lock.held.result() if after and lock.held is not None else None

    # The states.

    def _hold(self, lock: ClusterLock) -> None:
        before = lock.own()
        if self.check_mode:
            others = [other for other in lock.others() if not lock.is_over(other)]
            if others:
                raise locked(lock.run.locked.scope, others[0])
        else:
            self._until(lock.attempt, "Taking the cluster lock")
            lock.tick()
        self._report_lock(lock, before, after=True)

    def _keep(self, lock: ClusterLock) -> None:
        if not self.check_mode and lock.was_taken():
            raise CollectionError(
                f"The cluster lock of {lock.run.locked.scope} expired, and another run has taken or deleted it since. It may have"
                " changed the cluster. Run the playbook again"
            )
        self._hold(lock)

    def _free(self, lock: ClusterLock) -> None:
        self._report_lock(lock, None, after=False)
        if self.check_mode:
            others = lock.others()
            over = [other for other in others if lock.is_over(other)]
            for other in others:
                if other not in over:
                    # A prediction made while another run writes may be wrong by the time it is read.
                    self.warn(f"Another run may be writing to {lock.run.locked.scope}: {other}")
            self.result["changed"] = bool(over)
            return
        try:
            self._until(lock.clear, f"The end of other runs that write to {lock.run.locked.scope}")
        finally:
            self.result["changed"] = bool(lock.cleared)

    def _release_it(self, lock: ClusterLock) -> None:
        if self.params["unlock"] is not None:
            self._break(lock, self.params["unlock"])
            return
        before = lock.own()
        if not self.check_mode:
            self.result["changed"] = lock.release()
        self._report_lock(lock, before, after=False)

    def _break(self, lock: ClusterLock, identity: str) -> None:
        self.result.update(diff=shown({}, {}, f"cluster lock of {lock.run.locked.scope}"), broken_lock=None, lock=None)
        others = lock.others()
        broken = next((other for other in others if other.id == identity), None)
        if broken is None:
            if others:
                wrong = f"Cannot break the lock {identity} of {lock.run.locked.scope}"
                raise CollectionError(f"{wrong}: there is no such lock. There is {'; '.join(map(str, others))}")
            return
        about = {"name": lock.run.locked.scope, "run": broken.holder.run}
        diff = shown(about, {}, f"cluster lock of {lock.run.locked.scope}")
        self.result.update(changed=True, broken_lock=broken.result(), diff=diff)
        if self.check_mode:
            return
        settled_at = lock.break_lock(broken)

        def wait() -> list[str]:
            left = settled_at - boot_time()
            return [f"what the run had sent is over in {left:.0f} s at the latest"] if left > 0 else []

        self.waiter.until_nothing_pending(wait, "The end of what the run had sent", interval=1)

    def _until(self, poll: Callable[[], list[str]], what: str) -> None:
        if self.params["wait"]:
            self.waiter.until_nothing_pending(poll, what, interval=1)
        elif texts := poll():
            raise CollectionError(together(f"{what}: not now, and wait=false", texts))
