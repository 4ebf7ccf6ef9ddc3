# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster lock as a value: who holds it since when, what of that stands in tags, and the one decision of the protocol.

The protocol needs no compare-and-swap, which the Metal API does not have. A run that wants the lock creates a lock object of its own and
then lists all lock objects of the cluster:

- A run holds the lock from a list on that has its own lock object and no other run's (:func:`decide` returns HELD).
- It holds the lock until it deletes its lock object, or until that expires.

Why two runs never hold it at the same time: let X and Y both hold it, and let X's deciding list be the earlier one. X's lock object existed
at that list, and still exists at Y's deciding list, since X has neither deleted it nor let it expire. So Y's list has two lock objects,
and Y does not hold the lock. This needs lists that show what was created before them, and nothing else: no order of creation, no clock.

A holder therefore never looks for others. Before a write it reads its own lock object: while that exists and has not expired, no other run
holds the lock. tests/unit/plugins/module_utils/test_lock_protocol.py tries all interleavings of two and three runs that may crash anywhere.

Note that this module util is private to the collection: it may change without notice.
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
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import Process, boot_id, pid_namespace
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.tags import CLUSTER_TAG, ROLE_TAG, tag_values

LOCK_TAG = f"{ROLE_TAG}lock"
SCOPE_TAG = "openshift-lock-of="
FIELDS = ("run", "holder", "operation", "job", "process", "since", "renewed", "lifetime", "limit")
"""Each is a tag ``openshift-lock-<field>=<value>``."""

LONGEST = 120
"""Characters of one value. No limit of the API is known; what a person or a host is called must not make one."""


class Decision(enum.Enum):
    """What a run has to do next to get the lock, by one list of lock objects."""

    HELD = "held"
    CREATE = "create"
    BLOCKED = "blocked"
    STAY = "stay"
    RETREAT = "retreat"


def decide(run: str, runs: Collection[str]) -> Decision:
    """Return what ``run`` has to do next, by the runs that have a lock object in a list taken just now.

    Of several runs that have created theirs at the same time, the one with the smallest id waits for the others to delete theirs (STAY),
    and all others do so (RETREAT): so one of them gets the lock without a second round.
    """
    others = {each for each in runs if each != run}
    if run not in runs:
        return Decision.BLOCKED if others else Decision.CREATE
    if not others:
        return Decision.HELD
    return Decision.STAY if run < min(others) else Decision.RETREAT


@dataclass(frozen=True)
class Holder:
    """A run: one ansible-playbook, or one task where it takes the lock for itself.

    ``process`` with the boot and the pid namespace it belongs to: where these are one's own, whether the run has ended can be seen.
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
        """Return this process as a run. The same process is the same run whenever it asks, for each scope."""
        boot, namespace = boot_id(), pid_namespace()
        # Without /proc nothing tells this computer from another.
        name = f"{boot or uuid.getnode()}/{namespace}/{process.pid}/{process.started}/{scope}"
        return cls(str(uuid.uuid5(uuid.NAMESPACE_URL, name)), _user_and_host(), operation, job, boot, namespace, process)

    def is_of_this_computer(self) -> bool:
        """Return whether its process id is one of this process's own computer and pid namespace."""
        return bool(self.boot and self.namespace) and (self.boot, self.namespace) == (boot_id(), pid_namespace())

    def __str__(self) -> str:
        more = "".join(f", {text}" for text in (self.job, f"process {self.process.pid}") if text)
        return f"{self.operation or 'a run'} of {self.user or 'an unknown user'}{more}"


@dataclass(frozen=True)
class Lock:
    """A lock object. Times are the API's, in seconds since 1970; None where the object does not say.

    ``limit``: seconds after which what its run has sent has arrived, or never will.
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
        """Return the tags of the object, those of FIELDS that have a value."""
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

    def renewed_at(self, moment: float) -> Lock:
        return replace(self, renewed=moment)

    def facts(self) -> dict[str, Any]:
        """Return what a module tells of it."""
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
    """Return the lock that an object's tags describe; what they do not say is unknown, and ``lifetime`` stands for theirs."""
    said = {name: text for name in FIELDS for tag in tags if (text := tag.removeprefix(f"openshift-lock-{name}=")) != tag}
    boot, namespace, pid, started = (*said.get("process", "").split("/"), "", "", "", "")[:4]
    # What has no run of its own is one that nobody is.
    holder = Holder(
        run=said.get("run") or f"unknown-{identity}",
        user=said.get("holder", ""),
        operation=said.get("operation", ""),
        job=said.get("job", ""),
        boot=boot if pid.isdecimal() else "",
        namespace=namespace,
        process=Process(int(pid) if pid.isdecimal() else 0, started),
    )
    seconds = _seconds(said.get("lifetime")) or lifetime
    # A lifetime is at least four times that.
    limit = _seconds(said.get("limit")) or seconds / 4
    return Lock(identity, holder, time_of(said.get("since") or created_at), time_of(said.get("renewed")), seconds, limit)


def _seconds(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text) else None


def is_lock(tags: Iterable[Any]) -> bool:
    """Return whether these are the tags of a lock object, of whatever scope."""
    return LOCK_TAG in tags


def scope_of(tags: Sequence[str]) -> str:
    """Return what is locked for devices with these ownership tags: their cluster, or else all these tags together."""
    clusters = tag_values(list(tags), CLUSTER_TAG)
    return clusters[0] if clusters else "tags-" + hashlib.sha256("\n".join(sorted(set(tags))).encode()).hexdigest()[:16]


def scope_tags(tags: Sequence[str]) -> list[str]:
    """Return those of the ownership tags that a lock object of their scope carries."""
    cluster = [tag for tag in tags if tag.startswith(CLUSTER_TAG)]
    return cluster[:1] or sorted(set(tags))


def time_text(moment: float | None) -> str:
    """Return a time as the API writes it; empty for None, and for what no calendar has."""
    try:
        return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def time_of(text: Any) -> float | None:
    """Return a time that the API wrote, in seconds since 1970; None for what is none."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _user_and_host() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        # In a container the user may have a number and no name.
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _one_line(text: str) -> str:
    """Return a text that can be a tag: the API takes a comma in a filter for two tags."""
    return re.sub(r"[^\x21-\x2b\x2d-\x7e]+", " ", text).strip()[:LONGEST]
