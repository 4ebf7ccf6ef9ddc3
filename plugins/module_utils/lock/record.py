# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster lock as a value: its holder and times, their form as tags, and the decision of the protocol.

The protocol needs no compare-and-swap, which the Metal API does not have. To acquire the lock, a run creates a lock object of its own and
then lists all lock objects of the cluster:

- A run holds the lock as soon as a list has its own lock object and no other run's (:func:`decide` returns HELD).
- It holds the lock until it deletes its lock object, or until that expires.

Why two runs never hold it at the same time: let X and Y both hold it, and let X's deciding list be the earlier one. X's lock object existed
at that list, and still exists at Y's deciding list, since X has neither deleted it nor let it expire. So Y's list has two lock objects,
and Y does not hold the lock. This needs lists that show what was created before them, and nothing else: no order of creation, no clock.

So a holder never lists again. Before a write it reads its own lock object: while that exists and has not expired, no other run
holds the lock. tests/unit/plugins/module_utils/test_lock_protocol.py tries all interleavings of two and three runs that may crash anywhere.
"""

from __future__ import annotations

import enum
import getpass
import hashlib
import os
import re
import socket
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..base.play import Process, boot_id, pid_namespace
from ..base.tags import CLUSTER_TAG, ROLE_TAG, tag_values
from ..base.times import time_of, timestamp

LOCK_TAG = f"{ROLE_TAG}lock"
SCOPE_TAG = "openshift-lock-of="
FIELDS = ("run", "holder", "operation", "job", "process", "since", "renewed", "lifetime", "limit")
"""Each is a tag ``openshift-lock-<field>=<value>``."""

LONGEST = 120
"""Characters of one value: names of users and hosts are cut, since the API's limit for tags is unknown."""


class Decision(enum.Enum):
    """The next step of a run that acquires the lock, by one list of lock objects."""

    HELD = "held"
    CREATE = "create"
    BLOCKED = "blocked"
    STAY = "stay"
    RETREAT = "retreat"


def decide(run: str, runs: Collection[str]) -> Decision:
    """Return the next step of ``run``, given the runs that have a lock object in the newest list.

    Of several runs that created their lock objects at the same time, the one with the smallest id waits (STAY) until the others have
    deleted theirs (RETREAT). So one of them gets the lock without a second round.
    """
    others = {other for other in runs if other != run}
    if run not in runs:
        return Decision.BLOCKED if others else Decision.CREATE
    if not others:
        return Decision.HELD
    return Decision.STAY if run < min(others) else Decision.RETREAT


@dataclass(frozen=True)
class Holder:
    """A run: one ansible-playbook, or one task that acquires the lock for itself.

    ``boot`` and ``namespace``: those of ``process``. Whether it has ended can be checked from the same boot and pid namespace only.
    """

    run: str
    user: str
    operation: str
    job: str
    boot: str
    namespace: str
    process: Process

    @classmethod
    def here(cls, process: Process, scope: str, *, operation: str, job: str = "") -> Holder:
        """Return this process as a run. The run's id is the same in each call of a process, for each scope."""
        boot, namespace = boot_id(), pid_namespace()
        # Without /proc there is no boot id, and the network card identifies the computer.
        name = f"{boot or uuid.getnode()}/{namespace}/{process.pid}/{process.started}/{scope}"
        return cls(str(uuid.uuid5(uuid.NAMESPACE_URL, name)), _user_and_host(), operation, job, boot, namespace, process)

    def is_of_this_computer(self) -> bool:
        """Return whether the holder's process has the boot and pid namespace of this process."""
        return bool(self.boot and self.namespace) and (self.boot, self.namespace) == (boot_id(), pid_namespace())

    def __str__(self) -> str:
        more = "".join(f", {text}" for text in (self.job, f"process {self.process.pid}") if text)
        return f"{self.operation or 'a run'} of {self.user or 'an unknown user'}{more}"


@dataclass(frozen=True)
class Lock:
    """A lock object. Times are the API's, in seconds since 1970; None if the object has none.

    ``limit``: seconds after which a write of its run has arrived, or never will.
    """

    id: str
    holder: Holder
    since: float | None
    renewed: float | None
    lifetime: float
    limit: float

    @property
    def expires(self) -> float | None:
        return None if self.renewed is None else self.renewed + self.lifetime

    def tags(self, scope: str, ownership: Iterable[str]) -> list[str]:
        """Return the tags of the lock object; fields without a value have none."""
        holder = self.holder
        values = {
            "run": holder.run,
            "holder": holder.user,
            "operation": holder.operation,
            "job": holder.job,
            "process": f"{holder.boot}/{holder.namespace}/{holder.process.pid}/{holder.process.started}",
            "since": time_text(self.since),
            "renewed": time_text(self.renewed),
            "lifetime": f"{self.lifetime:g}",
            "limit": f"{self.limit:g}",
        }
        fields = [f"openshift-lock-{name}={_one_line(values[name])}" for name in FIELDS if values[name]]
        return list(dict.fromkeys([*ownership, LOCK_TAG, f"{SCOPE_TAG}{scope}", *fields]))

    def result(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "run": self.holder.run,
            "holder": self.holder.user,
            "operation": self.holder.operation,
            "job": self.holder.job,
            "acquired_at": time_text(self.since) or None,
            "renewed_at": time_text(self.renewed) or None,
            "expires_at": time_text(self.expires) or None,
        }

    def __str__(self) -> str:
        since = f" since {time_text(self.since)}" if self.since else ""
        renewed = f", renewed last at {time_text(self.renewed)}" if self.renewed else ""
        return f"{self.holder}{since}{renewed} (lock {self.id})"


def read_lock(identity: str, tags: Sequence[str], created_at: str | None, *, lifetime: float) -> Lock:
    """Return the lock in an object's tags. Fields without a tag are empty; ``lifetime`` is the default."""
    values = {name: text for name in FIELDS for tag in tags if (text := tag.removeprefix(f"openshift-lock-{name}=")) != tag}
    boot, namespace, pid, started = (*values.get("process", "").split("/"), "", "", "", "")[:4]
    # Without a run it belongs to no known run.
    holder = Holder(
        run=values.get("run") or f"unknown-{identity}",
        user=values.get("holder", ""),
        operation=values.get("operation", ""),
        job=values.get("job", ""),
        boot=boot if pid.isdecimal() else "",
        namespace=namespace,
        process=Process(int(pid) if pid.isdecimal() else 0, started),
    )
    seconds = _seconds(values.get("lifetime")) or lifetime
    # A lifetime is at least four times the limit (lifetime_for).
    limit = _seconds(values.get("limit")) or seconds / 4
    return Lock(identity, holder, epoch_of(values.get("since") or created_at), epoch_of(values.get("renewed")), seconds, limit)


def _seconds(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text) else None


def is_lock(tags: Iterable[Any]) -> bool:
    return LOCK_TAG in tags


def scope_of(tags: Sequence[str]) -> str:
    """Return the scope of the lock for these ownership tags: their cluster, or else a hash of all tags."""
    clusters = tag_values(list(tags), CLUSTER_TAG)
    return clusters[0] if clusters else "tags-" + hashlib.sha256("\n".join(sorted(set(tags))).encode()).hexdigest()[:16]


def scope_tags(tags: Sequence[str]) -> list[str]:
    """Return the ownership tags of a lock object of this scope."""
    cluster = [tag for tag in tags if tag.startswith(CLUSTER_TAG)]
    return cluster[:1] or sorted(set(tags))


def time_text(moment: float | None) -> str:
    """Return a time in the API's format; empty for None and for a time outside the calendar."""
    try:
        return "" if moment is None else timestamp(datetime.fromtimestamp(moment, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def epoch_of(text: Any) -> float | None:
    """Return a time of the API in seconds since 1970; None for a malformed one."""
    moment = time_of(text)
    return None if moment is None else moment.timestamp()


def _user_and_host() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        # In a container the user may have no name.
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _one_line(text: str) -> str:
    """Return a text as one tag of printable ASCII without commas, which separate tags in the API's filters."""
    return re.sub(r"[^\x21-\x2b\x2d-\x7e]+", " ", text).strip()[:LONGEST]
