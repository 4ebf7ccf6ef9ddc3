# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster lock, an object at the Metal API: only the run that holds it writes to the cluster, whatever computer it runs on.

Rules, each implemented once here. ``record`` describes the protocol and why it is safe.

- A run acquires the lock before its first write and no earlier, so a run without changes writes nothing. What a module read without the
  lock may be stale by then: :class:`LockNeededError` makes it start again once the lock is held.
- The lock object is read before a write if the last read is more than CHECK_EVERY seconds old, and after every pause.
- A lock that is not renewed expires. No write is sent if the lock expires before the request's time limit, so all writes of a holder have
  arrived by then. An expired lock is never renewed. Times are the API's (the header Date), which is the same for all runs.
- The lock of a run that has ended on this computer is taken over once the last write of that run must have arrived: a request can outlive
  its process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from ..base.errors import (
    CollectionError,
    LockedError,
    LockNeededError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    PausedError,
    PlayEndedError,
)
from ..base.identifiers import SEGMENT
from ..base.play import Play, boot_time
from ..metal.objects import metro_code
from ..metal.resource import create_once, delete_once
from .record import SCOPE_TAG, Decision, Lock, decide, is_lock, read_lock, time_text
from .run import Run, settled_at

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from ..metal.resource import Found

LIFETIME = 300.0
"""Seconds until a lock that is not renewed expires."""

CHECK_EVERY = 5.0
"""Seconds for which a holder relies on its last read of the lock object."""

MARGIN = 5.0
"""Seconds on top of the time limit of a call, for clocks in steps of a second and a busy computer."""

SETTLE = 10.0
"""Seconds for which a created lock object may be absent from a list before another one is created."""

STAY = 15.0
"""Seconds for which a run waits for others that created their lock object at the same time to delete it."""

SLICE = 1.0
"""Seconds between two checks in a pause whether the play still runs."""


def lifetime_for(asked: float, timeout: float) -> float:
    """Return the requested lifetime, or a longer one if the time limit of a call leaves too little time between renewals."""
    return max(4 * (timeout + MARGIN), asked)


class LockStore:
    """The lock objects of one scope at the Metal API: virtual networks of the project, which cost nothing and affect no device."""

    def __init__(self, client: MetalClient, project: str, scope: str) -> None:
        self._client = client
        self._project = project
        self._scope = scope

    def now(self) -> float:
        """Return the earliest current time by the API's clock, or this computer's if the API returns no time."""
        return self._client.service_time() or time.time()

    def latest_now(self) -> float:
        """Return the latest current time by the API's clock, or this computer's if the API returns no time."""
        return self._client.service_time(latest=True) or time.time()

    def has_clock(self) -> bool:
        return self._client.service_time() is not None

    def locks(self) -> list[Lock]:
        """Return all lock objects of this scope, the oldest first.

        Raises CollectionError if the API returns a network without tags, which may be a lock object.
        """
        return sorted(map(lock_of_network, self.networks()), key=lambda lock: (lock.since or 0.0, lock.id))

    def networks(self) -> list[Found]:
        try:
            networks = self._client.read_list(self._path, "virtual_networks", doing=f"read {self._title}")
        except MetalError as error:
            self._advise(error, "The service may not support virtual networks")
            raise
        return [network for network in networks if self._is_ours(network)]

    def _is_ours(self, network: Mapping[str, Any]) -> bool:
        if "tags" not in network:
            raise self._malformed(f"no tags for the virtual network {network.get('id')}, which may be the lock", network, "tags")
        tags = network["tags"] or []
        is_ours = is_lock(tags) and f"{SCOPE_TAG}{self._scope}" in tags
        # The run keeps the id of its lock object for its next modules.
        if is_ours and not SEGMENT.fullmatch(str(network.get("id") or "")):
            raise self._malformed("a lock object without a valid id", network, "id")
        return is_ours

    def _malformed(self, what: str, network: Mapping[str, Any], field: str) -> CollectionError:
        details = {"id": network.get("id"), "untold": [field]}
        return self._client.add_origin(CollectionError(f"Cannot read {self._title}: the API returned {what}", details))

    @property
    def _path(self) -> str:
        return f"projects/{self._project}/virtual-networks"

    @staticmethod
    def _advise(error: MetalError, hint: str) -> None:
        """Add the next step to the message of an error that a retry does not resolve."""
        if not isinstance(error, LostAnswerError) and error.status in (403, 404, 422, 501):
            error.message += (
                f". The lock is a virtual network, which costs nothing. {hint}. Or disable the lock (openshift_lock=false, for a module"
                " cluster_lock=none) and make sure that no other run writes to this cluster"
            )

    @property
    def _title(self) -> str:
        return f"the cluster lock of {self._scope}"

    def create(self, lock: Lock, ownership: Sequence[str], metro: str) -> Found:
        """Create this lock object, for ``create_once``. Raises CollectionError if the API refuses it."""
        body = {
            "metro": metro or self._metro(ownership),
            "tags": lock.tags(self._scope, ownership),
            "description": f"Lock of {self._scope}, held by {lock.holder}"[:250],
        }
        try:
            return self._client.write_one("POST", self._path, body, doing=f"create {self._title}", again=False)
        except MetalError as error:
            self._advise(error, f"Delete an unused one in metro {body['metro']}, or request a higher quota for the project")
            raise

    def _metro(self, ownership: Sequence[str]) -> str:
        """Return a metro for the lock object if the inventory has none: a device's, preferably of this cluster, or the API's first."""
        doing = f"choose a metro for {self._title}"
        devices = self._client.read_list(f"projects/{self._project}/devices", "devices", doing=doing)
        ours = [device for device in devices if set(ownership) <= set(device.get("tags") or [])]
        first_code = next((code for device in (*ours, *devices) if (code := metro_code(device))), None)
        if first_code is None:
            metros = self._client.read_list("locations/metros", "metros", doing=doing)
            first_code = next((code for metro in metros if isinstance(code := metro.get("code"), str)), None)
        if first_code is None:
            raise CollectionError(f"Cannot create {self._title}: the API lists no metro. Set the option metro")
        return first_code

    def read(self, identity: str) -> Lock | None:
        try:
            return lock_of_network(self._client.read(f"virtual-networks/{identity}", doing=f"read {self._title}"))
        except NotFoundError:
            return None

    def renew(self, lock: Lock, ownership: Sequence[str]) -> bool:
        """Update a lock object with the time of its renewal; return False if it does not exist any more.

        Raises PausedError instead of sending the update again after a pause: the lock may have expired meanwhile.
        """
        tags = lock.tags(self._scope, ownership)
        try:
            self._client.write_one("PUT", f"virtual-networks/{lock.id}", {"tags": tags}, doing=f"renew {self._title}", again=False)
        except NotFoundError:
            return False
        return True

    def delete(self, identity: str) -> None:
        try:
            delete_once(self._client, f"virtual-networks/{identity}", doing=f"delete {self._title}")
        except CollectionError as problem:
            self._client.add_origin(problem)
            raise


def lock_of_network(network: Mapping[str, Any]) -> Lock:
    tags = [tag for tag in network.get("tags") or [] if isinstance(tag, str)]
    return read_lock(str(network["id"]), tags, network.get("created_at"), lifetime=LIFETIME)


class ClusterLock:
    """The lock in one module of a run.

    ``timeout``: the time limit of one call in seconds. ``patient``: wait for other runs that are alive instead of raising LockedError.
    """

    def __init__(self, store: LockStore, run: Run, *, timeout: float, patient: bool = False, now: Callable[[], float] = boot_time) -> None:
        self._store = store
        self._timeout = timeout
        self._patient = patient
        self._now = now
        self._mutex = threading.RLock()
        # Only a lock that was held before the module's first read makes what it reads current enough for a write.
        self._id = run.lock
        self.held: Lock | None = None
        """The lock object as it was last read, while this run holds it."""
        self._lost = ""
        self._checked = 0.0
        self._created: float | None = None
        self._stayed: float | None = None
        self._watched: dict[str, tuple[str, float]] = {}
        self.run = run
        self.cleared: list[Lock] = []
        """Deleted lock objects: those of ended runs, and expired ones."""

    # While the lock is held

    def before_write(self, *, paused: bool) -> None:
        """Check that a write may be sent; ``paused``: time has passed since the caller decided to send it.

        Raises LockNeededError if the lock is not held, or was not held from the beginning.
        """
        with self._mutex:
            if not self._id:
                raise LockNeededError(self._lost)
            if paused:
                self.held = None
            while self.held is None or self._now() - self._checked > CHECK_EVERY:
                self._check()
                self._renew_if_due()
            if self._left() < self._needed:
                self._lose("it expires before the time limit of a request")
            self.run.note_write(self._needed)

    def tick(self) -> None:
        """Renew the lock during a wait, if it is held and due for renewal."""
        with self._mutex:
            if not self._id or self._now() - self.run.renewed < self.run.locked.lifetime / 3:
                return
            try:
                self._check()
                self._renew_if_due()
            except (MetalError, PausedError, LockNeededError):
                # A wait needs no lock. The next write reads the lock again and reports its loss.
                return

    @property
    def _needed(self) -> float:
        """Seconds that the lock must still be valid for a write: by then the write has arrived, or never will."""
        return self._timeout + MARGIN

    def _left(self) -> float:
        """Return for how many seconds at least the lock is still valid."""
        if self.held is None or self.held.expires is None:
            return 0.0
        return self.held.expires - self._store.latest_now()

    def _check(self) -> None:
        self._checked = self._now()
        lock = self._store.read(self._id)
        if lock is None or lock.holder.run != self.run.holder.run:
            self._lose("its lock object is gone")
        self.held = lock
        if self._left() <= 0:
            self._lose(f"it expired at {time_text(lock.expires)}")

    def _renew_if_due(self) -> None:
        held = self.held
        # A lock that is about to expire is not renewed: the request could arrive after another run has taken over.
        if held is None or not self._needed <= self._left() < held.lifetime * 2 / 3:
            return
        renewed, began = replace(held, renewed=self._store.now()), self._now()
        try:
            if not self._store.renew(renewed, self.run.locked.tags):
                self._lose("its lock object is gone")
        except PausedError:
            # The lock is unchanged, and time has passed: the next write reads it again.
            return
        self.held, self._checked = renewed, began
        self.run.note_lock(self._id, unsure=self.run.unsure)

    def _lose(self, reason: str) -> NoReturn:
        self._id, self.held, self._lost = "", None, f"the cluster lock of {self.run.locked.scope} was lost: {reason}"
        # The lock object may still exist; release() deletes it.
        self.run.note_lock("", unsure=True)
        raise LockNeededError(self._lost)

    def release(self) -> bool:
        """Delete this run's lock objects; return whether there was one."""
        with self._mutex:
            identities = {self.run.lock} if self.run.lock else set()
            if self.run.unsure:
                identities |= {lock.id for lock in self._store.locks() if lock.holder.run == self.run.holder.run}
            for identity in identities:
                self._store.delete(identity)
            self._id, self.held = "", None
            self.run.note_lock("", unsure=False)
            return bool(identities)

    # Acquiring the lock

    def attempt(self) -> list[str]:
        """Take one step to acquire the lock; return what it waits for, an empty list if the lock is held.

        Raises LockedError if another run holds or acquires the lock, unless ``patient``.
        """
        with self._mutex:
            waiting, alive, decision = self._list_and_decide()
            # A lock object created a moment ago may still be absent from lists (known behaviour of the API).
            is_coming = self._created is not None and self._now() - self._created < SETTLE
            if decision is Decision.CREATE and not waiting and not is_coming:
                self._create()
                waiting, alive, decision = self._list_and_decide()
            if decision is Decision.BLOCKED:
                if not self._patient:
                    raise locked(self.run.locked.scope, alive[0], self._lost)
                return [*waiting, *(f"the cluster lock of {self.run.locked.scope}: held by {lock}" for lock in alive)]
            if decision is Decision.STAY:
                return [
                    *waiting,
                    *(f"the cluster lock of {self.run.locked.scope}: {lock.holder} tries to acquire it too" for lock in alive),
                ]
            if decision is Decision.CREATE and not waiting:
                return [f"the cluster lock of {self.run.locked.scope}: its lock object was created and is not listed yet"]
            return waiting

    def _list_and_decide(self) -> tuple[list[str], list[Lock], Decision]:
        """List the lock objects and act on the list: hold the lock, delete this run's lock object, or wait.

        Returns what the run waits for that ends by itself, the locks of other live runs, and the decision.
        """
        began, locks = self._now(), self._store.locks()
        mine = [lock for lock in locks if lock.holder.run == self.run.holder.run]
        waiting, alive = self._sort([lock for lock in locks if lock not in mine])
        for lock in [lock for lock in mine if (lock.expires or 0.0) - self._store.latest_now() < self._needed]:
            self._store.delete(lock.id)
            mine.remove(lock)
        if mine:
            self._created = None
        decision = decide(self.run.holder.run, [lock.holder.run for lock in (*mine, *alive)])
        if decision is Decision.RETREAT or (decision is Decision.STAY and self._has_stayed()):
            for lock in mine:
                self._store.delete(lock.id)
            decision = Decision.BLOCKED
        elif decision is Decision.HELD and not waiting:
            self._id, self.held, self._checked, self._lost = mine[0].id, mine[0], began, ""
            self.run.note_lock(self._id, unsure=self.run.unsure)
        return waiting, alive, decision

    def _has_stayed(self) -> bool:
        """Return whether the other runs had enough time to retreat. One that did not holds the lock."""
        if self._stayed is None:
            self._stayed = self._now()
        return self._now() - self._stayed > max(STAY, self._timeout)

    def _create(self) -> None:
        now, locked_scope = self._store.now(), self.run.locked
        lock = Lock("", self.run.holder, since=now, renewed=now, lifetime=locked_scope.lifetime, limit=self._needed)
        tries = 0

        def create() -> Found:
            nonlocal tries
            tries += 1
            return self._store.create(lock, locked_scope.tags, locked_scope.metro)

        def find() -> Found | None:
            return next((network for network in self._store.networks() if lock_of_network(network).holder.run == self.run.holder.run), None)

        # A create whose answer was lost may still take effect later. release() then searches for the lock object, and after a kill the next
        # run does, which must not search before the object can be there.
        self.run.note_write(self._needed)
        self.run.note_lock("", unsure=True)
        create_once(create, find)
        if tries == 1:
            self.run.note_lock("", unsure=False)
        self._stayed, self._created = None, self._now()

    # Locks of other runs

    def clear(self) -> list[str]:
        """Delete locks of ended runs; return what this run waits for until the lock is free.

        Raises LockedError for a run that is alive: on this computer at once, elsewhere as soon as that run renews its lock.
        """
        with self._mutex:
            waiting, alive = self._sort(self.others())
            for lock in alive:
                here = lock.holder.is_of_this_computer()
                if (here and not lock.holder.process.is_gone()) or self._was_renewed(lock):
                    raise locked(self.run.locked.scope, lock)
                state = "it has ended, but one of its modules may still run" if here else "it runs on another computer or has ended"
                waiting.append(f"{lock}: {state}. The lock expires {self._expiry_text(lock)} unless it is renewed")
            return waiting

    def was_taken(self) -> bool:
        """Return whether another run may have held the lock since this run acquired it.

        An expired lock object is deleted by the next run that acquires the lock, so one that exists proves that none has.
        """
        return all(lock.holder.run != self.run.holder.run for lock in self._store.locks())

    def others(self) -> list[Lock]:
        return [lock for lock in self._store.locks() if lock.holder.run != self.run.holder.run]

    def own(self) -> Lock | None:
        """Return this run's lock, if it has one that has not expired."""
        known = self._store.read(self.run.lock) if self.run.lock else None
        if self.run.lock and (known is None or known.holder.run != self.run.holder.run):
            # Deleted by another run, or the API returned another id for it: release() searches for it, too.
            known, self.run.unsure = None, True
        locks = [known] if known else self._store.locks() if self.run.unsure else []
        mine = [lock for lock in locks if lock.holder.run == self.run.holder.run and not self._has_expired(lock)]
        return mine[0] if mine else None

    def is_over(self, lock: Lock) -> bool:
        """Return whether no run holds this lock: its run has ended here and its writes have arrived, or the lock has expired."""
        settled = settled_at(lock.holder)
        return self._has_expired(lock) if settled is None else settled <= self._now()

    def break_lock(self, lock: Lock) -> float:
        """Delete the lock of another run; return the ``boot_time`` after which no write of that run can arrive.

        That run notices at its next read of the lock, which may be after one more request.
        """
        settled = settled_at(lock.holder)
        self._store.delete(lock.id)
        return self._now() + CHECK_EVERY + lock.limit if settled is None else settled

    def _watch(self, lock: Lock) -> tuple[str, float]:
        """Return the lock's time of renewal when it was first read, and the ``boot_time`` of that read."""
        return self._watched.setdefault(lock.id, (time_text(lock.renewed), self._now()))

    def _was_renewed(self, lock: Lock) -> bool:
        return self._watch(lock)[0] != time_text(lock.renewed)

    def _expiry_text(self, lock: Lock) -> str:
        if lock.expires is not None and self._store.has_clock():
            return f"at {time_text(lock.expires)}"
        return f"in {max(0.0, self._watch(lock)[1] + lock.lifetime - self._now()):.0f} s"

    def _sort(self, others: Sequence[Lock]) -> tuple[list[str], list[Lock]]:
        """Delete the locks that no run holds; return what to wait for of ended runs, and the locks that are held."""
        waiting, alive = [], []
        for lock in others:
            if self.is_over(lock):
                self._store.delete(lock.id)
                self.cleared.append(lock)
            elif (settled := settled_at(lock.holder)) is not None:
                waiting.append(f"{lock.holder} has ended: its last request arrives within {settled - self._now():.0f} s")
            else:
                alive.append(lock)
        return waiting, alive

    def _has_expired(self, lock: Lock) -> bool:
        if lock.expires is not None and self._store.has_clock():
            return self._store.now() >= lock.expires
        # Without a time of the API or in the lock, the lifetime counts from its first read, by this computer's clock.
        return not self._was_renewed(lock) and self._now() - self._watch(lock)[1] >= lock.lifetime


def locked(scope: str, lock: Lock, lost: str = "") -> LockedError:
    """Return the error that names the run that holds the lock, and the next step."""
    before = f"{lost[0].upper()}{lost[1:]}. " if lost else ""
    return LockedError(
        f"{before}Another run writes to {scope}: {lock}. Wait until that run has ended. If it has certainly ended, break its lock:"
        f" ansible-playbook playbooks/unlock.yml -e openshift_unlock={lock.id}",
        {"lock": lock.result()},
    )


class PendingLock:
    """Stands for a lock that does not exist before the first write needs it."""

    def __init__(self, make: Callable[[], ClusterLock]) -> None:
        self.make = make

    def before_write(self, *, paused: bool) -> None:
        raise LockNeededError

    def tick(self) -> None:
        """There is nothing to renew."""


class Gate:
    """Checks before each request of a module: the play still runs, and for a write the lock is held.

    ``lock``: None if the module uses none.
    """

    def __init__(self, play: Play, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._play = play
        self._sleep = sleep
        self.lock: ClusterLock | PendingLock | None = None

    def before_request(self) -> None:
        if ended := self._play.ended():
            raise PlayEndedError(f"the playbook has ended ({ended} is gone), so nothing more is sent")

    def before_write(self, *, paused: bool) -> None:
        if self.lock is not None:
            self.lock.before_write(paused=paused)

    def tick(self) -> None:
        """Check the play and renew the lock; called regularly during a wait."""
        self.before_request()
        if self.lock is not None:
            self.lock.tick()

    def sleep(self, seconds: float) -> None:
        """Sleep; raise PlayEndedError as soon as the play has ended."""
        end = boot_time() + seconds
        while (left := end - boot_time()) > 0:
            self.before_request()
            self._sleep(min(SLICE, left))
        self.before_request()
