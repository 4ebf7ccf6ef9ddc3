# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of a cluster's certificate signing requests: list, then watch, repeatedly, as client-go's reflector does.

After any error of a list or watch (RBAC not created yet, rotated certificates, a restarted server), the requests are listed again after a
growing pause. The caller's wait limits how long a refusal may last (`frame.cluster`).
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ..base.errors import ClusterError, ClusterRefusedError, ClusterUnreachableError
from ..base.kubernetes_objects import CERTIFICATE_REQUESTS
from .csr import Policy, Request, assess

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

Change: TypeAlias = "tuple[str, list[Request]] | ClusterError"
"""The kind of change ('all', 'there' or 'gone') and the requests; or the error of the list or watch."""

_SHORTEST_WATCH = 1.0
_GONE = 410
"""The server has forgotten this version (Kubernetes API concepts, "Efficient detection of changes")."""


class Backoff:
    """Pauses between tries in seconds, each twice the one before, with up to half of it added by chance.

    The numbers of client-go's reflector, but for the longest pause (30 s there): one client is no load, and machines wait for it.
    """

    FIRST, LONGEST = 0.8, 8.0

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._next = self.FIRST

    def pause(self) -> float:
        pause, self._next = self._next, min(self.LONGEST, self._next * 2)
        return pause * (1 + self._chance() / 2)

    def reset(self) -> None:
        self._next = self.FIRST


class Follower:
    """A thread that reads the watch and puts changes into the queue `seen`. The queue is bounded: while it is full, nothing is read.

    The thread never ends by itself. Errors are put into the queue as well: the list after an error has everything that was missed.
    """

    def __init__(self, client: ClusterClient, rules: Policy, version: str, *, watch_seconds: float) -> None:
        self._client = client
        self._rules = rules
        self._version = version
        self._watch_seconds = watch_seconds
        self._backoff = Backoff()
        self.seen: queue.Queue[Change] = queue.Queue(maxsize=1000)
        # A daemon: the end of the module's process ends it wherever it is.
        threading.Thread(target=self._run, name="certificate requests", daemon=True).start()

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            try:
                if not self._version:
                    requests, self._version = listed(self._client, self._rules)
                    self.seen.put(("all", list(requests.values())))
                self._watch()
                self._backoff.reset()
            except ClusterError as problem:
                self._version = ""
                if time.monotonic() - began > Backoff.LONGEST:
                    self._backoff.reset()
                # An expired version is normal: the next list returns a new one.
                if not isinstance(problem, ClusterRefusedError) or problem.status != _GONE:
                    self.seen.put(problem)
                time.sleep(self._backoff.pause())

    def _watch(self) -> None:
        began, is_empty = time.monotonic(), True
        for kind, obj in self._client.watch(CERTIFICATE_REQUESTS, self._version, self._watch_seconds):
            is_empty = False
            request = assess(obj, self._rules)
            self._version = request.resource_version or self._version
            if kind in ("ADDED", "MODIFIED"):
                self.seen.put(("there", [request]))
            elif kind == "DELETED":
                self.seen.put(("gone", [request]))
        if is_empty and time.monotonic() - began < _SHORTEST_WATCH:
            # A proxy answers in place of the server. Without an error the watch would be repeated without a pause.
            raise ClusterUnreachableError("Cannot follow the certificate requests: the watch ends as soon as it has begun")


def listed(client: ClusterClient, rules: Policy) -> tuple[dict[str, Request], str]:
    """Return all requests by uid, and the version to watch from."""
    requests: dict[str, Request] = {}
    version = ""
    for items, listed_at in client.certificate_requests():
        version = listed_at
        for item in items:
            request = assess(item, rules)
            requests[request.uid] = request
    return requests, version
