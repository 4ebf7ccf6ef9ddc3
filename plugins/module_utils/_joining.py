# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines on their way into the cluster: follow the certificate requests, decide, approve, say who is still missing.

The decisions are in `_csr`; here is the traffic. Requests are followed by a watch, so an approval comes right after its request, while the
Nodes are listed only once per interval. Every object is cut down to what is judged as soon as it arrives.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ansible_collections.equinix_metal.openshift.plugins.module_utils._csr import (
    NodeState,
    Policy,
    Request,
    Verdict,
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

# One watch is renewed after this many seconds; a lost API is asked again after the pause.
_WATCH_SECONDS = 240.0
_PAUSE = 1.0
# An approval that meets a changed request is judged again; more rounds than this mean that somebody keeps changing it.
_ROUNDS = 5
_AT_ONCE = 8

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
        for kind, obj in self._client.watch_certificate_requests(self._version, _WATCH_SECONDS):
            request = assess(obj, self._rules)
            self._version = request.resource_version or self._version
            if kind in ("ADDED", "MODIFIED"):
                self.seen.put(("there", [request]))
            elif kind == "DELETED":
                self.seen.put(("gone", [request]))


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
        self._ours: dict[str, Verdict] = {}
        self.verdicts: list[Verdict] = []
        self.missing: dict[str, str] = {}

    @property
    def approved(self) -> list[str]:
        """Names of the requests approved here (in check mode: that would be)."""
        if self._client.read_only:
            return [verdict.request.name for verdict in self.verdicts if verdict.decision == "approve"]
        return [verdict.request.name for verdict in self._ours.values()]

    @property
    def joined(self) -> list[str]:
        return [name for name in self._rules.machines if not self.missing.get(name, "?")]

    def result(self) -> dict[str, Any]:
        """What the module returns of the last round (shapes in its documentation)."""
        approved = self.approved
        ordered = sorted(self.verdicts, key=lambda verdict: verdict.request.order)
        refused = [verdict for verdict in ordered if verdict.decision == "refuse"]
        return {
            "changed": bool(approved),
            "verdicts": [verdict.result() for verdict in ordered],
            "approved": approved,
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
            "joined": self.joined,
            "diff": {
                "before": dict.fromkeys(approved, "pending"),
                "after": dict.fromkeys(approved, "approved"),
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
        self.missing = {name: missing(machine, self._nodes.get(name), self.verdicts, now) for name, machine in self._rules.machines.items()}
        return [f"{name}: {text}" for name, text in self.missing.items() if text]

    def sleep(self, seconds: float) -> None:
        """Pause, but no longer than until a request has come, changed or gone."""
        if self._version is None:
            time.sleep(seconds)
            return
        if self._follower is None:
            self._follower = _Follower(self._client, self._rules, self._version)
        try:
            self._apply(self._follower.seen.get(timeout=seconds))
            while True:
                self._apply(self._follower.seen.get_nowait())
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
        if time.monotonic() - self._nodes_at >= self._node_interval:
            states = [node_state(node) for node in self._client.nodes()]
            self._nodes = {state.name: state for state in states if state.name in self._rules.machines}
            self._nodes_at = time.monotonic()
        for request in list(self._requests.values()):
            if request.kind == "serving" and request.state == "pending" and not request.fault and request.node not in self._nodes:
                self._read_node(request.node)

    def _read_node(self, name: str) -> None:
        node = self._client.node(name)
        if node is None:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = node_state(node)

    def _judge(self) -> None:
        for _round in range(_ROUNDS):
            decided = decide(self._requests.values(), self._rules, self._nodes, self._client.now())
            self.verdicts = [
                replace(self._ours[verdict.request.uid], request=verdict.request) if verdict.request.uid in self._ours else verdict
                for verdict in decided
            ]
            chosen = [verdict for verdict in decided if verdict.decision == "approve"]
            if self._client.read_only or not chosen:
                return
            # Hundreds may come in one second; the calls of one approval wait for the server most of their time.
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                taken = list(pool.map(self._approve, chosen))
            if all(taken):
                return

    def _approve(self, verdict: Verdict) -> bool:
        """Approve one; False when the world has changed meanwhile, so that all is to be judged again."""
        request = verdict.request
        if request.kind == "client":
            self._read_node(request.node)
            if request.node in self._nodes:
                return False
        try:
            self._client.approve(
                request.name, request.uid, request.resource_version, reason=APPROVAL_REASON, message=APPROVAL_MESSAGE + verdict.reason
            )
        except ClusterRefusedError as refused:
            if refused.status in (401, 403):
                raise
            if isinstance(refused, ClusterConflictError) or refused.status == 404:
                self._read_again(request)
            else:
                self._requests[request.uid] = replace(request, not_yet=f"the cluster did not take its approval: {refused.message}")
            return False
        answered = replace(request, state="approved", decided_at=self._client.now())
        self._requests[request.uid] = answered
        self._ours[request.uid] = replace(verdict, request=answered)
        return True

    def _read_again(self, request: Request) -> None:
        self._requests.pop(request.uid, None)
        obj = self._client.certificate_request(request.name)
        if obj is not None:
            found = assess(obj, self._rules)
            self._requests[found.uid] = found
