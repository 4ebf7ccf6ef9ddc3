# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that speak the Metal API: their options and client, the cluster lock they write with, and what they do: bring one resource, or a
set of devices, to the desired state. What is done, and when, decides ``metal.lifecycle``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import missing_required_lib
from ansible.module_utils.common.parameters import AnsibleFallbackNotFound

from ..base.argspec import ENVIRONMENT, Options, from_environment, identifier
from ..base.diff import shown
from ..base.errors import CollectionError, LockedError, LockNeededError, PlayEndedError, together
from ..base.outage import Outage
from ..base.play import boot_time, find_play
from ..base.printable import printable
from ..base.wait import Waiter, WaitTimeout
from ..clients.metal import LIBRARY_ERROR, MetalClient
from ..lock.cluster_lock import LIFETIME, ClusterLock, Gate, LockStore, PendingLock, lifetime_for
from ..lock.record import Holder, scope_of, scope_tags
from ..lock.run import Locked, Run, ended_runs, settled_at
from ..lock.run_record import record
from ..machines.set import DeviceSet
from ..metal.lifecycle import Lifecycle
from ..metal.resource import Resource
from .base import LONGEST_LINE, BaseModule, ModuleFrame


def _environment(*names: str) -> str:
    """What the environment has for an option that is not given, as ``AnsibleModule`` asks for it."""
    value = from_environment(names)
    if value is None:
        raise AnsibleFallbackNotFound
    return value


METAL_OPTIONS = Options(
    {
        "metal_api_url": {"type": "str", "fallback": (_environment, ENVIRONMENT["metal_api_url"])},
        "metal_api_token": {
            "type": "str",
            "no_log": True,
            "aliases": ["api_token", "auth_token"],
            "fallback": (_environment, ENVIRONMENT["metal_api_token"]),
        },
        "metal_api_timeout": {"type": "float", "default": 30},
        "metal_api_retries": {"type": "int", "default": 8},
        "metal_api_ca_path": {"type": "path", "fallback": (_environment, ENVIRONMENT["metal_api_ca_path"])},
        "metal_api_proxy": {"type": "str", "no_log": True, "fallback": (_environment, ENVIRONMENT["metal_api_proxy"])},
        "metal_ua_prefix": {"type": "str", "fallback": (_environment, ENVIRONMENT["metal_ua_prefix"])},
        "project_id": identifier("", fallback=(_environment, ENVIRONMENT["project_id"])),
        "cluster_lock": {"type": "str"},
    }
)
"""Documented in the fragment ``_metal``."""

NO_LOCK = "none"
"""As ``cluster_lock``: write without a lock."""
LOCK_TIMEOUT = 300.0
"""Seconds for which a module without the options of the fragment ``_wait`` tries to take the lock: others may have just ended."""


def gate_of(run: Run | None = None) -> Gate:
    """Return what the requests of this module pass: they end with its playbook, that of its parents and that of its run."""
    play = find_play()
    return Gate(play if run is None else replace(play, processes=(*play.processes, run.holder.process)))


def gate_with_lock(module: BaseModule) -> Gate:
    """Return the gate of a module that may write, with the lock of the run that ``cluster_lock`` names, if there is one."""
    run = run_of(module.params)
    gate = gate_of(run)
    if run is not None and not module.check_mode:
        gate.lock = lock_with_client(module, run, gate=gate_of(run))
    return gate


def run_of(params: Mapping[str, Any]) -> Run | None:
    """Return the run that ``cluster_lock`` names, with this module as one of its modules; None without one."""
    cluster_lock = params.get("cluster_lock")
    if cluster_lock in (None, "", NO_LOCK):
        return None
    run = Run.load(cluster_lock)
    run.attach()
    return run


def lock_with_client(module: BaseModule, run: Run, *, gate: Gate, patient: bool = False, read_only: bool = False) -> ClusterLock:
    """Return the lock, with a client of its own: what keeps the lock does not pass the gate of what it guards."""
    client = metal_client(module, read_only=read_only, needs_project=False, gate=gate)
    store = LockStore(client, run.locked.project, run.locked.scope)
    return ClusterLock(store, run, timeout=module.params["metal_api_timeout"], patient=patient)


def known_state_first(read: Callable[[], Any]) -> Iterator[Any]:
    """Yield a listing for each step: None for the state just read, so that an idempotent run reads nothing again, then new ones."""
    yield None
    while True:
        yield read()


def metal_client(module: BaseModule, *, read_only: bool, needs_project: bool = True, gate: Gate | None = None) -> MetalClient:
    """The API by the options of METAL_OPTIONS. Raises CollectionError with all missing options."""
    if LIBRARY_ERROR is not None:
        module.fail_json(msg=missing_required_lib("packet-python"), exception=LIBRARY_ERROR)
    params = module.params
    problems = []
    if not params["metal_api_url"]:
        problems.append("no API address is set: set metal_api_url or the environment variable METAL_API_URL")
    if not params["metal_api_token"]:
        problems.append("no token is set: set metal_api_token or the environment variable METAL_AUTH_TOKEN")
    if needs_project and not params["project_id"]:
        empty = " (project_id is there, but empty)" if params["project_id"] == "" else ""
        problems.append(f"no project is set{empty}: set project_id or the environment variable METAL_PROJECT_ID")
    if problems:
        raise CollectionError(together("Cannot use the Metal API", problems))
    gate = gate or gate_of()
    return MetalClient(
        url=params["metal_api_url"],
        token=params["metal_api_token"],
        timeout=params["metal_api_timeout"],
        retries=params["metal_api_retries"],
        read_only=read_only,
        ca_path=params["metal_api_ca_path"],
        proxy=params["metal_api_proxy"],
        user_agent_prefix=params["metal_ua_prefix"],
        sleep=gate.sleep,
        gate=gate,
        outage=_outage_of(module),
    )


def _outage_of(module: BaseModule) -> Outage:
    """Return what says that the API does not answer: at once where an action plugin shows it, else as a warning when the module ends."""

    def notify(text: str) -> None:
        if not module.display({"level": "warning", "text": text}):
            module.warn(text)

    return Outage("The Metal API", notify)


class MetalModule(ModuleFrame):
    """A module that speaks the Metal API; used as ``with MetalModule(OPTIONS) as module``.

    ``reading``: the module never writes. ``in_project``: it needs a project, unless one of the options ``unless`` is given, which name
    something that is found by its own id.
    """

    def __init__(
        self,
        options: Options,
        *,
        reading: bool = False,
        in_project: bool = False,
        unless: Sequence[str] = ("id",),
        shorten: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    ) -> None:
        super().__init__(METAL_OPTIONS.merge(options), shorten=shorten)
        self._options = options
        self._reading = reading
        self._in_project = in_project
        self._unless = unless
        self._client: MetalClient | None = None
        self._waiter: Waiter | None = None
        self._own_gate: Gate | None = None
        self._lock_of_this_call: ClusterLock | None = None
        self._wrote = False
        self._warned: set[str] = set()

    def end(self, error: BaseException | None) -> None:
        if self._lock_of_this_call is not None and not isinstance(error, PlayEndedError):
            self._release(self._lock_of_this_call)
        self.result["changed"] = bool(self.result["changed"]) or self._wrote
        if isinstance(error, CollectionError) and self._client is not None and not isinstance(error, LockedError):
            self._client.add_origin(error)

    @property
    def client(self) -> MetalClient:
        """The API by this module's options, read-only in check mode.

        Raises CollectionError with all options that are missing, or empty although they identify an object.
        """
        if self._client is None:
            if cleared := self._options.cleared(self.params, self._unless):
                raise CollectionError(together("Cannot use the options", cleared))
            needs_project = self._in_project and not any(self.params.get(name) for name in self._unless)
            read_only = self.check_mode or self._reading
            self._client = metal_client(self.module, read_only=read_only, needs_project=needs_project, gate=self._gate)
        return self._client

    @property
    def _gate(self) -> Gate:
        """What all requests of this module pass. Made before the first of them: what was read before the lock was taken may be old."""
        if self._own_gate is None:
            self._own_gate = gate_of() if self._reading else gate_with_lock(self.module)
        return self._own_gate

    @property
    def waiter(self) -> Waiter:
        if self._waiter is None:
            self._waiter = Waiter.by_options(self.params, sleep=self._gate.sleep, tick=self._gate.tick, report=self.report_progress)
        return self._waiter

    def is_given(self, option: str) -> bool:
        """Whether the task says it, by this name, and it is not just of the environment or a default."""
        return option in self.module.given

    def warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self.module.warn(text)

    def report(self, facts: Mapping[str, Any]) -> None:
        self.result.update(facts)

    def converge(self, make: Callable[[], Resource]) -> None:
        """Bring the resource to its desired state; ``make`` is called again when the cluster lock had to be taken first."""
        self._with_lock(lambda: self._bring(make()))

    # One object.

    def _bring(self, resource: Resource) -> None:
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
        listings = known_state_first(lifecycle.rivals)

        def step() -> list[str]:
            texts = lifecycle.step(next(listings))
            return lifecycle.step(next(listings)) if lifecycle.unlisted else texts

        title = lifecycle.resource.title
        if self._waits:
            self.waiter.until_nothing_pending(step, f"Creation or change of {title}")
            return
        texts = step()
        if lifecycle.current is None or lifecycle.changes:
            attempted = "replace" if lifecycle.current is None else f"change {', '.join(sorted(lifecycle.changes))} of"
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
        current = lifecycle.current or lifecycle.old
        if current is None and not lifecycle.acted and not absent:
            return
        self.result.update(changed=lifecycle.acted, diff=shown(*lifecycle.diff(), lifecycle.resource.title))
        if current is not None and not absent:
            self.result[lifecycle.resource.result_key] = lifecycle.resource.result(current)
        if lifecycle.duplicates:
            self.result["duplicates"] = lifecycle.duplicates

    # The cluster lock.

    def _with_lock(self, act: Callable[[], None]) -> None:
        """Do it, and once more from its beginning when a write needs the cluster lock: what was read without the lock may be old."""
        while True:
            try:
                act()
            except LockNeededError as needed:
                # Lost in the middle: what was done until then stays done.
                self._wrote = self._wrote or bool(self.result["changed"])
                self.result = {"changed": False}
                self._take_lock(needed)
            else:
                return

    def _lock_for_this_call(self, tags: Sequence[str], metro: str) -> None:
        """Where no run is given, let the first write take the lock of these ownership tags for the time of this call."""
        if self.params["cluster_lock"] or self.check_mode or self._gate.lock is not None:
            return
        scope, lifetime = scope_of(tags), lifetime_for(LIFETIME, self.params["metal_api_timeout"])
        locked = Locked(scope, scope_tags(tags), self.params["project_id"], metro, lifetime)
        holder = Holder.here(find_play().task, scope, operation="metal_device_set")

        def make() -> ClusterLock:
            run = Run.begin(holder, locked)
            self._lock_of_this_call = lock_with_client(self.module, run, gate=gate_of(), patient=self.params["wait"])
            return self._lock_of_this_call

        self._clear_ended(locked)
        self._gate.lock = PendingLock(make)

    def _clear_ended(self, locked: Locked) -> None:
        """Delete the lock objects of runs that were killed here. Without a write of this call, no other code deletes them."""
        for run in ended_runs(locked):
            settled = settled_at(run.holder)
            if settled is None:
                continue
            # What that run has sent may still arrive.
            if self.params["wait"]:
                self._gate.sleep(max(0.0, settled - boot_time()))
            if settled <= boot_time():
                self._release(lock_with_client(self.module, run, gate=gate_of()))

    def _take_lock(self, needed: LockNeededError) -> None:
        if isinstance(self._gate.lock, PendingLock):
            self._gate.lock = self._gate.lock.make()
        lock = self._gate.lock
        if not isinstance(lock, ClusterLock):
            raise CollectionError(f"Cannot send the request: {needed}")
        waiter = self.waiter if "wait_timeout" in self.params else Waiter(LOCK_TIMEOUT, 1, sleep=self._gate.sleep, tick=self._gate.tick)
        waiter.until_nothing_pending(lock.attempt, "Taking the cluster lock", interval=1)

    def _release(self, lock: ClusterLock) -> None:
        """Give up the lock that was taken for this call alone."""
        try:
            lock.release()
            lock.run.remove()
        except (CollectionError, PlayEndedError) as problem:
            self.warn(f"The cluster lock of {lock.run.locked.scope} was not deleted and expires by itself: {problem}")

    # A set of devices.

    def converge_set(self, make: Callable[[], DeviceSet]) -> None:
        """Bring all devices of the set to their desired state, each as far as possible.

        ``make`` is called again when the cluster lock had to be taken first.
        """

        def act() -> None:
            devices = make()
            devices.check()
            self._lock_for_this_call(devices.ownership_tags, devices.first_metro)
            self._bring_set(devices)

        self._with_lock(act)

    def _bring_set(self, devices: DeviceSet) -> None:
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
        listings = known_state_first(devices.list_owned)

        def poll() -> list[str]:
            texts = devices.step(next(listings))
            self._report_set(devices)
            return texts

        if self.params["wait"]:
            try:
                self.waiter.until_nothing_pending(poll, "Waiting for these devices")
            except WaitTimeout:
                devices.fail_pending("it was not completed within wait_timeout")
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
