# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines on their way into the cluster: follow the certificate requests, decide, approve, say who is still missing.

The decisions are in `_csr`; here is the traffic. Requests are followed by a watch, so an approval comes right after its request, while the
Nodes are listed only once per interval, beside it. Every object is cut down to what is judged as soon as it arrives.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ansible_collections.equinix_metal.openshift.plugins.module_utils._csr import (
    Alarm,
    Decision,
    NodeState,
    Policy,
    Request,
    Verdict,
    alarms,
    assess,
    decide,
    missing,
    node_state,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import (
    ClusterConflictError,
    ClusterRefusedError,
    ClusterUnreachableError,
    CollectionError,
)

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils._cluster_client import ClusterClient

APPROVAL_REASON = "NodeCSRApprove"
APPROVAL_MESSAGE = "This CSR was approved by equinix_metal.openshift.csr_approval: "
DENIAL_REASON = "NodeCSRDeny"
DENIAL_MESSAGE = "This CSR was denied by equinix_metal.openshift.csr_approval: "

# One watch is renewed after this many seconds; a lost API is asked again after the pause.
_WATCH_SECONDS = 240.0
_PAUSE = 1.0
_SHORTEST_WATCH = 1.0
# An approval that meets a changed request is judged again; more rounds than this mean that somebody keeps changing it.
_ROUNDS = 5
_AT_ONCE = 8
# When more Nodes than this are to be looked at, one list is less than a call for each.
_FEW = 8
# Seconds in which further changes are gathered after the first: hundreds of machines change their requests thousands of times.
_GATHER = 0.05

Change = tuple[Literal["all", "there", "gone"], list[Request]]


class _Follower:
    """A thread that reads the watch and hands over what it saw. Bounded: when nobody fetches, it stops reading."""

    def __init__(self, client: ClusterClient, rules: Policy, version: str) -> None:
        self._client = client
        self._rules = rules
        self._version = version
        self.seen: queue.Queue[Change | CollectionError] = queue.Queue(maxsize=1000)
        # A daemon: the end of the module's process ends it wherever it is.
        threading.Thread(target=self._run, name="certificate requests", daemon=True).start()

    def _run(self) -> None:
        try:
            while True:
                try:
                    if not self._version:
                        self._list()
                    self._watch()
                except ClusterUnreachableError:
                    self._version = ""
                    time.sleep(_PAUSE)
                except ClusterRefusedError as refused:
                    # 410 Gone: the server has forgotten this version (Kubernetes API concepts, "Efficient detection of changes").
                    if refused.status != 410:
                        raise
                    self._version = ""
        except CollectionError as problem:
            self.seen.put(problem)

    def _list(self) -> None:
        requests, self._version = listed(self._client, self._rules)
        self.seen.put(("all", list(requests.values())))

    def _watch(self) -> None:
        began, told = time.monotonic(), False
        for kind, obj in self._client.watch_certificate_requests(self._version, _WATCH_SECONDS):
            told = True
            request = assess(obj, self._rules)
            self._version = request.resource_version or self._version
            if kind in ("ADDED", "MODIFIED"):
                self.seen.put(("there", [request]))
            elif kind == "DELETED":
                self.seen.put(("gone", [request]))
        if not told and time.monotonic() - began < _SHORTEST_WATCH:
            # Something on the way answers in the server's place; asked again at once it would do so for ever.
            raise ClusterUnreachableError("Could not follow the certificate requests: the watch ends as soon as it has begun")


def listed(client: ClusterClient, rules: Policy) -> tuple[dict[str, Request], str]:
    """All requests by uid, and the version to watch from."""
    requests: dict[str, Request] = {}
    version = ""
    for items, listed_at in client.certificate_requests():
        version = listed_at
        for item in items:
            request = assess(item, rules)
            requests[request.uid] = request
    return requests, version


class Joining:
    """Machines on their way in. `look` does one round and tells who is missing, `sleep` ends early when a request has changed."""

    def __init__(self, client: ClusterClient, rules: Policy, *, node_interval: float) -> None:
        self._client = client
        self._rules = rules
        self._node_interval = node_interval
        self._requests: dict[str, Request] = {}
        self._version: str | None = None
        self._follower: _Follower | None = None
        self._nodes: dict[str, NodeState] = {}
        self._nodes_at = float("-inf")
        self._listing: Future[dict[str, NodeState]] | None = None
        self._ours: dict[str, Verdict] = {}
        self._not_taken: dict[str, str] = {}
        self._sent: dict[str, Verdict] = {}
        self._alarms: dict[str, Alarm] = {}
        self.verdicts: list[Verdict] = []
        self.missing: dict[str, str] = {}

    @property
    def approved(self) -> list[str]:
        """Names of the requests approved here (in check mode: that would be)."""
        return self._answered("approve")

    @property
    def denied(self) -> list[str]:
        """Names of the requests denied here (in check mode: that would be)."""
        return self._answered("deny")

    def _answered(self, decision: Decision) -> list[str]:
        answered = self.verdicts if self._client.read_only else self._ours.values()
        return [verdict.request.name for verdict in answered if verdict.decision == decision]

    @property
    def joined(self) -> list[str]:
        return [name for name in self._rules.machines if not self.missing.get(name, "?")]

    def result(self) -> dict[str, Any]:
        """What the module returns of the last round (shapes in its documentation)."""
        approved, denied = self.approved, self.denied
        decided = dict.fromkeys(approved, "approved") | dict.fromkeys(denied, "denied")
        ordered = sorted(self.verdicts, key=lambda verdict: verdict.request.order)
        refused = [verdict for verdict in ordered if verdict.decision in ("refuse", "deny")]
        return {
            "changed": bool(decided),
            "verdicts": [verdict.result() for verdict in ordered],
            "approved": approved,
            "denied": denied,
            "refused": [
                {
                    "name": verdict.request.name,
                    "signer": verdict.request.signer,
                    "node": verdict.request.node,
                    "requestor": verdict.request.requestor,
                    "reason": verdict.reason,
                }
                for verdict in refused
            ],
            "alarms": [alarm.result() for alarm in self._alarms.values()],
            "joined": self.joined,
            "diff": {
                "before": dict.fromkeys(decided, "pending"),
                "after": decided,
                "before_header": "certificate requests",
                "after_header": "certificate requests",
            },
        }

    def look(self, *, patient: bool = True) -> list[str]:
        """One round: read, decide, approve. Returns one text for each machine that is not in yet.

        An API that does not answer is something to wait for; only with `patient` off it is an error.
        """
        try:
            self._read()
            self._judge()
        except ClusterUnreachableError as problem:
            if not patient:
                raise
            self._nodes_at = float("-inf")
            return [problem.message]
        now = self._client.now()
        by_node: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            by_node.setdefault(verdict.request.node, []).append(verdict)
        self.missing = {
            name: missing(machine, self._nodes.get(name), by_node.get(name, ()), now) for name, machine in self._rules.machines.items()
        }
        texts = [f"{name}: {text}" for name, text in self.missing.items() if text]
        return [*texts, *self._not_taken.values()] if texts else []

    def sleep(self, seconds: float) -> None:
        """Pause, but no longer than until a request has come, changed or gone."""
        if self._version is None:
            time.sleep(seconds)
            return
        if self._follower is None:
            self._follower = _Follower(self._client, self._rules, self._version)
        try:
            self._apply(self._follower.seen.get(timeout=seconds))
            until = time.monotonic() + min(_GATHER, seconds)
            while True:
                self._apply(self._follower.seen.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            return

    def _apply(self, change: Change | CollectionError) -> None:
        if isinstance(change, CollectionError):
            raise change
        kind, requests = change
        if kind == "all":
            self._requests.clear()
        for request in requests:
            if kind == "gone":
                self._requests.pop(request.uid, None)
            else:
                self._requests[request.uid] = request

    def _read(self) -> None:
        if self._version is None:
            self._requests, self._version = listed(self._client, self._rules)
        self._follow_nodes()
        asking = {
            request.node
            for request in self._requests.values()
            if request.kind == "serving" and request.state == "pending" and not request.fault
        }
        self._read_nodes(asking - self._nodes.keys())

    def _follow_nodes(self) -> None:
        """Have the Nodes as they were an interval ago at most. The list of hundreds takes its time: no approval waits for it."""
        if self._listing is not None and self._listing.done():
            listing, self._listing = self._listing, None
            self._nodes, self._nodes_at = listing.result(), time.monotonic()
        elif self._follower is None or self._nodes_at == float("-inf"):
            if time.monotonic() - self._nodes_at >= self._node_interval:
                self._nodes, self._nodes_at = self._listed_nodes(), time.monotonic()
        elif self._listing is None and time.monotonic() - self._nodes_at >= self._node_interval:
            self._listing = Future()
            # A daemon, as the follower is.
            threading.Thread(target=self._list_nodes, args=(self._listing, self._follower), name="nodes", daemon=True).start()

    def _list_nodes(self, listing: Future[dict[str, NodeState]], follower: _Follower) -> None:
        try:
            listing.set_result(self._listed_nodes())
        except CollectionError as problem:
            listing.set_exception(problem)
        # Whoever sleeps until something changes is to look at it.
        follower.seen.put(("there", []))

    def _listed_nodes(self) -> dict[str, NodeState]:
        states = (node_state(node) for node in self._client.nodes())
        return {state.name: state for state in states if state.name in self._rules.machines}

    def _read_nodes(self, names: Collection[str]) -> None:
        """How these Nodes are now."""
        if len(names) > _FEW:
            self._nodes, self._nodes_at = self._listed_nodes(), time.monotonic()
            return
        if not names:
            return
        with ThreadPoolExecutor(_FEW) as pool:
            found = list(zip(names, pool.map(self._client.node, names), strict=True))
        for name, node in found:
            if node is None:
                self._nodes.pop(name, None)
            else:
                self._nodes[name] = node_state(node)

    def _judge(self) -> None:
        for _round in range(_ROUNDS):
            self._find_sent()
            silent = [name for name, state in self._nodes.items() if state.silent]
            decided = decide(self._requests.values(), self._rules, self._nodes, self._client.now(), silent)
            self.verdicts = [
                replace(self._ours[verdict.request.uid], request=verdict.request) if verdict.request.uid in self._ours else verdict
                for verdict in decided
            ]
            # Kept: the cluster forgets what was approved after an hour, and this may wait for longer.
            self._alarms |= {alarm.node: alarm for alarm in alarms(self.verdicts, self._rules)}
            chosen = [verdict for verdict in decided if verdict.decision in ("approve", "deny")]
            if self._client.read_only or not chosen:
                return
            self._read_nodes(
                {verdict.request.node for verdict in chosen if verdict.decision == "approve" and verdict.request.kind == "client"}
            )
            # Hundreds may come in one second; their calls wait for the server most of their time.
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                taken = list(pool.map(self._answer, chosen))
            if all(taken):
                return

    def _answer(self, verdict: Verdict) -> bool:
        """Approve or deny one; False when the world has changed meanwhile, so that all is to be judged again."""
        request, approves = verdict.request, verdict.decision == "approve"
        if approves and request.kind == "client":
            state = self._nodes.get(request.node)
            if state is not None and not (state.silent and self._rules.recover_nodes):
                return False
        try:
            send = self._client.approve if approves else self._client.deny
            reason, message = (APPROVAL_REASON, APPROVAL_MESSAGE) if approves else (DENIAL_REASON, DENIAL_MESSAGE)
            send(request.name, request.uid, request.resource_version, reason=reason, message=message + verdict.reason)
        except ClusterUnreachableError:
            # It may have been decided all the same.
            self._sent[request.uid] = verdict
            raise
        except ClusterRefusedError as refused:
            if refused.status in (401, 403):
                raise
            if isinstance(refused, ClusterConflictError) or refused.status == 404:
                self._not_taken[request.uid] = refused.message
                self._read_again(request)
            else:
                self._requests[request.uid] = replace(request, not_yet=f"the cluster did not take the verdict: {refused.message}")
            return False
        self._not_taken.pop(request.uid, None)
        answered = replace(request, state="approved" if approves else "denied", decided_at=self._client.now())
        self._requests[request.uid] = answered
        self._ours[request.uid] = replace(verdict, request=answered)
        return True

    def _find_sent(self) -> None:
        """Verdicts whose answer was lost and that had their effect are ours no less."""
        for uid, sent in list(self._sent.items()):
            request = self._requests.get(uid)
            if request is not None and request.state in (("approved", "issued") if sent.decision == "approve" else ("denied",)):
                self._ours[uid] = replace(self._sent.pop(uid), request=request)

    def _read_again(self, request: Request) -> None:
        self._requests.pop(request.uid, None)
        obj = self._client.certificate_request(request.name)
        if obj is not None:
            found = assess(obj, self._rules)
            self._requests[found.uid] = found
