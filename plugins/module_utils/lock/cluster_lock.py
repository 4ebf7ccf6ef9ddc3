# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster lock: which run may write to a cluster now, as all runs see it on whatever computer, since it is kept at the Metal API.

Rules, each in one place here; the protocol itself and why it is safe stand in ``record``.

- A run takes the lock before its first write and no earlier, so that a run with nothing to do writes nothing. What a module has read
  without the lock may be old by then: :class:`LockNeededError` makes it begin anew once the lock is held.
- Before a write the lock object is read again when that was more than CHECK_EVERY seconds ago, and after every pause.
- The lock expires when nobody renews it. No write is sent when less is left of it than a request may take, so whatever a holder has sent
  has arrived by then. An expired lock is never renewed. Times are those of the API (the header Date), which all runs see.
- The lock of a run that has ended on this computer is taken over as soon as the last write of that run must have arrived: a request
  outlives its process.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    LockedError,
    LockNeededError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    PausedError,
    PlayEndedError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import Play, boot_time
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.record import (
    SCOPE_TAG,
    Decision,
    Lock,
    decide,
    is_lock,
    read_lock,
    time_text,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run import Run, remains_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import metro_code
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import create_once, delete_once

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

LIFETIME = 300.0
"""Seconds for which a lock is good without being renewed."""

CHECK_EVERY = 5.0
"""Seconds for which nobody asks again whether the lock is still there."""

MARGIN = 5.0
"""Seconds on top of the time limit of a call, for what is not the call itself: clocks in steps of a second, a computer that is busy."""

SETTLE = 10.0
"""Seconds for which a lock object that was created may be missing from a list before another one is created."""

STAY = 15.0
"""Seconds for which a run waits for others that have created their lock object at the same time to delete theirs."""

SLICE = 1.0
"""Seconds of a pause after which it is seen whether the play still runs."""


def lifetime_for(asked: float, timeout: float) -> float:
    """Return a lifetime that leaves time to work between renewals, whatever the time limit of one call is."""
    return max(4 * (timeout + MARGIN), asked)


class LockStore:
    """The lock objects of one scope at the Metal API: virtual networks of the project, which cost nothing and touch no device."""

    def __init__(self, client: MetalClient, project: str, scope: str) -> None:
        self._client = client
        self._project = project
        self._scope = scope

    def now(self) -> float:
        """Return the earliest that it can be by the API's clock, or this computer's if the API returns none."""
        return self._client.service_time() or time.time()

    def latest_now(self) -> float:
        """Return the latest that it can be by the API's clock, or this computer's if the API returns none."""
        return self._client.service_time(latest=True) or time.time()

    def tells_time(self) -> bool:
        return self._client.service_time() is not None

    def locks(self) -> list[Lock]:
        """Return all lock objects of this scope, the oldest first.

        Raises CollectionError when the API does not tell enough of a network to say whether it is one.
        """
        return sorted(map(lock_of_network, self.networks()), key=lambda lock: (lock.since or 0.0, lock.id))

    def networks(self) -> list[Found]:
        """Return the lock objects as the API lists them."""
        try:
            networks = self._client.read_list(self._path, "virtual_networks", doing=f"read {self._title}")
        except MetalError as error:
            self._advise(error, "This service may have none")
            raise
        return [network for network in networks if self._is_ours(network)]

    def _is_ours(self, network: Mapping[str, Any]) -> bool:
        if "tags" not in network:
            # It may be the lock of another run.
            text = f"Cannot read {self._title}: the API returned no tags for the virtual network {network.get('id')}, which may be it"
            problem = CollectionError(text, {"id": network.get("id"), "untold": ["tags"]})
            self._client.add_origin(problem)
            raise problem
        tags = network["tags"] or []
        return bool(network.get("id")) and is_lock(tags) and f"{SCOPE_TAG}{self._scope}" in tags

    @property
    def _path(self) -> str:
        return f"projects/{self._project}/virtual-networks"

    @staticmethod
    def _advise(error: MetalError, hint: str) -> None:
        """Have an error say what to do where the API refuses; one that may pass by itself stays as it is."""
        if not isinstance(error, LostAnswerError) and error.status in (403, 404, 422, 501):
            error.message += (
                f". The lock is a virtual network, which costs nothing. {hint}; or go without the lock (openshift_lock=false, for a module"
                " cluster_lock=none), and see to it that nothing else writes to this cluster"
            )

    @property
    def _title(self) -> str:
        return f"the cluster lock of {self._scope}"

    def create(self, lock: Lock, ownership: Sequence[str], metro: str) -> Found:
        """Create this lock object, see ``create_once``. Raises CollectionError when it is refused."""
        body = {
            "metro": metro or self._metro(ownership),
            "tags": lock.tags(self._scope, ownership),
            "description": f"Lock of {self._scope}, held by {lock.holder}"[:250],
        }
        try:
            return self._client.write_one("POST", self._path, body, doing=f"create {self._title}", again=False)
        except MetalError as error:
            self._advise(error, f"Delete one in metro {body['metro']} that nobody needs, or have the project's quota of them raised")
            raise

    def _metro(self, ownership: Sequence[str]) -> str:
        """Return where a lock object can be when the inventory does not say: where a device is, or in the API's first metro."""
        devices = self._client.read_list(f"projects/{self._project}/devices", "devices", doing=f"see in which metro {self._title} can be")
        ours = [device for device in devices if set(ownership) <= set(device.get("tags") or [])]
        found = next((code for device in (*ours, *devices) if (code := metro_code(device))), None)
        if found is None:
            metros = self._client.read_list("locations/metros", "metros", doing=f"see in which metro {self._title} can be")
            found = next((code for metro in metros if isinstance(code := metro.get("code"), str)), None)
        if found is None:
            raise CollectionError(f"Cannot create {self._title}: the API lists no metro. Give one (metro)")
        return found

    def read(self, identity: str) -> Lock | None:
        try:
            return lock_of_network(self._client.read(f"virtual-networks/{identity}", doing=f"read {self._title}"))
        except NotFoundError:
            return None

    def renew(self, lock: Lock, ownership: Sequence[str]) -> bool:
        """Write the time of its renewal into a lock object; False when it is gone.

        Raises PausedError instead of repeating it after a pause: the lock may have expired meanwhile.
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
    """Return the lock that a virtual network is."""
    tags = [tag for tag in network.get("tags") or [] if isinstance(tag, str)]
    return read_lock(str(network["id"]), tags, network.get("created_at"), lifetime=LIFETIME)


class ClusterLock:
    """The lock as one module of a run has it.

    ``timeout``: the time limit of one call. ``patient``: wait for other runs that are alive instead of raising LockedError.
    """

    def __init__(self, store: LockStore, run: Run, *, timeout: float, patient: bool = False, now: Callable[[], float] = boot_time) -> None:
        self._store = store
        self._timeout = timeout
        self._patient = patient
        self._now = now
        self._mutex = threading.RLock()
        # Before anything is read: only a lock that was held by then makes what is read good enough to write by.
        self._id = run.lock
        self._held: Lock | None = None
        self._lost = ""
        self._checked = 0.0
        self._created: float | None = None
        self._stayed: float | None = None
        self._watched: dict[str, tuple[str, float]] = {}
        self.run = run
        self.cleared: list[Lock] = []
        """Lock objects that were deleted: of runs that have ended, and expired ones."""

    @property
    def held(self) -> Lock | None:
        """The lock object as it was read last while this run has it."""
        return self._held

    # A holder.

    def before_write(self, *, paused: bool) -> None:
        """Let a write pass; ``paused``: time has gone by since the caller knew that it was to be sent.

        Raises LockNeededError when the lock is not held, or was not from the beginning.
        """
        with self._mutex:
            if not self._id:
                raise LockNeededError(self._lost)
            if paused:
                self._held = None
            while self._held is None or self._now() - self._checked > CHECK_EVERY:
                self._check()
                self._renew_if_due()
            if self._left() < self._needed:
                self._lose("it expires before a request would be over")
            self.run.note_write(self._needed)

    def tick(self) -> None:
        """Renew the lock in a wait, when it is held and that is due."""
        with self._mutex:
            if not self._id or self._now() - self.run.renewed < self.run.locked.lifetime / 3:
                return
            try:
                self._check()
                self._renew_if_due()
            except (MetalError, PausedError, LockNeededError):
                # To wait needs no lock: the next write reads it again and says what became of it.
                return

    @property
    def _needed(self) -> float:
        """Seconds that have to be left of the lock for a write: by then it has arrived, or never will."""
        return self._timeout + MARGIN

    def _left(self) -> float:
        """Return for how many seconds the lock is good, at least."""
        if self._held is None or self._held.expires is None:
            return 0.0
        return self._held.expires - self._store.latest_now()

    def _check(self) -> None:
        self._checked = self._now()
        found = self._store.read(self._id)
        if found is None or found.holder.run != self.run.holder.run:
            self._lose("its lock object is gone")
        self._held = found
        if self._left() <= 0:
            self._lose(f"it expired at {time_text(found.expires)}")

    def _renew_if_due(self) -> None:
        held = self._held
        # One that is about to expire is not renewed: the request might arrive when another run has taken over.
        if held is None or not self._needed <= self._left() < held.lifetime * 2 / 3:
            return
        renewed, began = held.renewed_at(self._store.now()), self._now()
        try:
            if not self._store.renew(renewed, self.run.locked.tags):
                self._lose("its lock object is gone")
        except PausedError:
            # It is as it was, and time has gone by: whoever wants to write looks again.
            return
        self._held, self._checked = renewed, began
        self.run.note_lock(self._id, unsure=self.run.unsure)

    def _lose(self, reason: str) -> NoReturn:
        self._id, self._held, self._lost = "", None, f"the cluster lock of {self.run.locked.scope} was lost: {reason}"
        # It may be there all the same, and is deleted in the end.
        self.run.note_lock("", unsure=True)
        raise LockNeededError(self._lost)

    def release(self) -> bool:
        """Delete this run's lock objects; returns whether there was one."""
        with self._mutex:
            found = {self.run.lock} if self.run.lock else set()
            if self.run.unsure:
                found |= {lock.id for lock in self._store.locks() if lock.holder.run == self.run.holder.run}
            for identity in found:
                self._store.delete(identity)
            self._id, self._held = "", None
            self.run.note_lock("", unsure=False)
            return bool(found)

    # A run that wants it.

    def attempt(self) -> list[str]:
        """Take a step towards holding the lock; returns what it waits for, nothing when the lock is held.

        Raises LockedError when another run holds it, or is just taking it, and is not waited for.
        """
        with self._mutex:
            waiting, alive, decision = self._look()
            if decision is Decision.CREATE and not waiting and not self._is_coming():
                self._create()
                waiting, alive, decision = self._look()
            if decision is Decision.BLOCKED:
                if not self._patient:
                    raise locked(self.run.locked.scope, alive[0], self._lost)
                return [*waiting, *(f"the cluster lock of {self.run.locked.scope}: held by {lock}" for lock in alive)]
            if decision is Decision.STAY:
                return [*waiting, *(f"the cluster lock of {self.run.locked.scope}: {lock.holder} is taking it as well" for lock in alive)]
            if decision is Decision.CREATE and not waiting:
                return [f"the cluster lock of {self.run.locked.scope}: what was created is not listed yet"]
            return waiting

    def _look(self) -> tuple[list[str], list[Lock], Decision]:
        """List the lock objects and do what follows from that: hold the lock, retreat, or nothing yet.

        Returns what ends by itself and is waited for, the locks of other runs, and what was decided.
        """
        began, found = self._now(), self._store.locks()
        mine = [lock for lock in found if lock.holder.run == self.run.holder.run]
        waiting, alive = self._sort([lock for lock in found if lock not in mine])
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
            self._id, self._held, self._checked, self._lost = mine[0].id, mine[0], began, ""
            self.run.note_lock(self._id, unsure=self.run.unsure)
        return waiting, alive, decision

    def _is_coming(self) -> bool:
        """Return whether what was created a moment ago may still be missing from lists (the API's known behaviour)."""
        return self._created is not None and self._now() - self._created < SETTLE

    def _has_stayed(self) -> bool:
        """Whether others had time enough to retreat, so that one of them held the lock already."""
        if self._stayed is None:
            self._stayed = self._now()
        return self._now() - self._stayed > max(STAY, self._timeout)

    def _create(self) -> None:
        now, what = self._store.now(), self.run.locked
        lock = Lock("", self.run.holder, since=now, renewed=now, lifetime=what.lifetime, limit=self._needed)
        tries = 0

        def create() -> Found:
            nonlocal tries
            tries += 1
            return self._store.create(lock, what.tags, what.metro)

        def find() -> Found | None:
            return next((each for each in self._store.networks() if lock_of_network(each).holder.run == self.run.holder.run), None)

        # Should one whose answer was lost be created later, it is this run's all the same, and has to be looked for in the end.
        self.run.note_lock("", unsure=True)
        create_once(create, find)
        if tries == 1:
            self.run.note_lock("", unsure=False)
        self._stayed, self._created = None, self._now()

    # Other runs.

    def clear(self) -> list[str]:
        """See that no other run holds the lock; returns what has to be waited for until it is free for this run to take.

        Raises LockedError for a run that is alive: on this computer at once, elsewhere as soon as it renews its lock.
        """
        with self._mutex:
            waiting, alive = self._sort(self.others())
            for lock in alive:
                here = lock.holder.is_of_this_computer()
                if (here and not lock.holder.process.is_gone()) or self._was_renewed(lock):
                    raise locked(self.run.locked.scope, lock)
                state = "it has ended, and a module of it may still run" if here else "whether it runs cannot be seen from here"
                waiting.append(f"{lock}: {state}. The lock expires {self._expiry_text(lock)} unless it is renewed")
            return waiting

    def others(self) -> list[Lock]:
        """Return the locks of other runs."""
        return [lock for lock in self._store.locks() if lock.holder.run != self.run.holder.run]

    def own(self) -> Lock | None:
        """Return this run's lock, if it has one that is good."""
        found = [self._store.read(self.run.lock)] if self.run.lock else self._store.locks() if self.run.unsure else []
        mine = [lock for lock in found if lock and lock.holder.run == self.run.holder.run and not self._has_expired(lock)]
        return mine[0] if mine else None

    def is_over(self, lock: Lock) -> bool:
        """Return whether nobody has this lock any more: its run has ended here and what it sent is over, or it has expired."""
        remains = remains_of(lock.holder)
        return self._has_expired(lock) if remains is None else remains.quiet_from <= self._now()

    def watched(self) -> dict[str, Any]:
        """Return what the next call has to know of the locks that are watched."""
        return {"watched": {name: list(each) for name, each in self._watched.items()}}

    def go_on_watching(self, known: Mapping[str, Any]) -> None:
        self._watched = {name: (str(renewed), float(since)) for name, (renewed, since) in known["watched"].items()}

    def break_lock(self, lock: Lock) -> float:
        """Delete the lock of another run; returns from when, by ``boot_time``, nothing that this run may still send can arrive.

        It finds out when it looks at its lock the next time, which may be after one more request.
        """
        remains = remains_of(lock.holder)
        self._store.delete(lock.id)
        return self._now() + CHECK_EVERY + lock.limit if remains is None else remains.quiet_from

    def _watch(self, lock: Lock) -> tuple[str, float]:
        """Return when the lock had been renewed when it was first seen, and since when it is watched."""
        return self._watched.setdefault(lock.id, (time_text(lock.renewed), self._now()))

    def _was_renewed(self, lock: Lock) -> bool:
        return self._watch(lock)[0] != time_text(lock.renewed)

    def _expiry_text(self, lock: Lock) -> str:
        if lock.expires is not None and self._store.tells_time():
            return f"at {time_text(lock.expires)}"
        return f"in {max(0.0, self._watch(lock)[1] + lock.lifetime - self._now()):.0f} s"

    def _sort(self, others: Sequence[Lock]) -> tuple[list[str], list[Lock]]:
        """Delete the locks nobody has any more; returns what is waited for of those that end by themselves, and those that are held."""
        waiting, alive = [], []
        for lock in others:
            if self.is_over(lock):
                self._store.delete(lock.id)
                self.cleared.append(lock)
            elif (remains := remains_of(lock.holder)) is not None:
                quiet = remains.quiet_from - self._now()
                waiting.append(f"{lock.holder} has ended: what it has sent is over in {quiet:.0f} s at the latest")
            else:
                alive.append(lock)
        return waiting, alive

    def _has_expired(self, lock: Lock) -> bool:
        if lock.expires is not None and self._store.tells_time():
            return self._store.now() >= lock.expires
        # The API or the lock has no time: by this computer's clock, from when it was first seen.
        return not self._was_renewed(lock) and self._now() - self._watch(lock)[1] >= lock.lifetime


def locked(scope: str, lock: Lock, lost: str = "") -> LockedError:
    """Return the error that says who holds the lock, and what to do."""
    before = f"{lost[0].upper()}{lost[1:]}. " if lost else ""
    return LockedError(
        f"{before}Another run writes to {scope}: {lock}. Wait for its end. If it is certain that it has ended, break its lock:"
        f" ansible-playbook playbooks/unlock.yml -e openshift_unlock={lock.id}",
        {"lock": lock.facts()},
    )


class Guard(Protocol):
    """What a gate asks of a lock; :class:`ClusterLock` is one."""

    def before_write(self, *, paused: bool) -> None: ...

    def tick(self) -> None: ...


class Gate:
    """What every request of a module passes: it is sent only while the play runs, and a write only with the lock.

    ``lock``: None where none is taken.
    """

    def __init__(self, play: Play, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._play = play
        self._sleep = sleep
        self.lock: Guard | None = None

    def before_request(self) -> None:
        if ended := self._play.ended():
            raise PlayEndedError(f"the playbook has ended ({ended} is gone), so nothing more is sent")

    def before_write(self, *, paused: bool) -> None:
        if self.lock is not None:
            self.lock.before_write(paused=paused)

    def tick(self) -> None:
        """What has to be done now and then in a wait."""
        self.before_request()
        if self.lock is not None:
            self.lock.tick()

    def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond the end of the play."""
        end = boot_time() + seconds
        while (left := end - boot_time()) > 0:
            self.before_request()
            self._sleep(min(SLICE, left))
        self.before_request()
