# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines on their way into the cluster: follow the certificate requests, decide, approve, say who is still missing.

The decisions are in `csr`; here is the traffic. Requests are followed by a watch, so an approval comes right after its request, while the
Nodes are listed only once per interval, beside it. Every object is cut down to what is judged as soon as it arrives.

What goes wrong with one request is that request's problem: it is tried again, and the others go on.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ..base.diff import shown
from ..base.errors import ClusterConflictError, ClusterError, ClusterRefusedError, ClusterUnreachableError, CollectionError, together
from ..base.kubernetes_objects import CERTIFICATE_REQUESTS, object_path
from ..base.printable import printable
from ..nodes.identity import of_another_device
from ..nodes.node import Node, read_node
from .csr import NO_PAST, Alarm, Decision, Past, Policy, Request, Verdict, alarms, assess, decide, missing, remember, too_many
from .history import from_texts, to_texts
from .notices import Notice, Notices
from .watch import Change, Follower, listed

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

ANSWERS: Mapping[str, tuple[Literal["Approved", "Denied"], str, str]] = {
    "approve": ("Approved", "NodeCSRApprove", "This CSR was approved by equinix_metal.openshift.csr_approval: "),
    "deny": ("Denied", "NodeCSRDeny", "This CSR was denied by equinix_metal.openshift.csr_approval: "),
}
"""The condition, its reason and the beginning of its message, by decision."""

# An approval that meets a changed request is judged again; more rounds than this mean that another client keeps changing it.
_ROUNDS = 5
_AT_ONCE = 8
# For more Nodes than this, one list replaces a call for each.
_FEW = 8
# Seconds in which further changes are gathered after the first: hundreds of machines change their requests thousands of times.
_GATHER = 0.05
# Seconds until an answer that the cluster has refused is sent again, twice as long each time; the history as long as that at most.
_AGAIN, _AGAIN_AT_MOST = 5.0, 60.0
_UNAUTHORIZED, _NOT_FOUND, _CONFLICT = 401, 404, 409


@dataclass(frozen=True)
class _Failure:
    """An answer to a request that the cluster did not take, and when it is sent again (``time.monotonic``)."""

    verdict: Verdict
    message: str
    due: float
    pause: float

    def pending_verdict(self) -> Verdict:
        """The verdict as it is reported until then."""
        if self.verdict.decision == "approve":
            return replace(self.verdict, decision="wait", reason=self.message)
        return replace(self.verdict, decision="refuse", reason=f"{self.verdict.reason}; {self.message}")


class Joining:
    """Machines that join. `poll` does one round and returns what is pending, `sleep` ends early if a request has changed."""

    def __init__(
        self,
        client: ClusterClient,
        rules: Policy,
        *,
        node_interval: float,
        watch_seconds: float = 30.0,
        history: str = "",
    ) -> None:
        self._client = client
        self._rules = rules
        self._node_interval = node_interval
        self._watch_seconds = watch_seconds
        self._history = history
        self._notices = Notices(rules.machines, read_only=client.read_only)
        self._past: dict[str, Past] = {}
        self._kept: dict[str, Past] | None = None
        self._keep_at = 0.0
        self._problems: dict[str, str] = {}
        self._requests: dict[str, Request] = {}
        self._version: str | None = None
        self._follower: Follower | None = None
        self._following_failed = False
        self._follow_problem: ClusterRefusedError | None = None
        self._nodes: dict[str, Node] = {}
        self._nodes_at = float("-inf")
        self._listing: Future[dict[str, Node]] | None = None
        self._ours: dict[str, Verdict] = {}
        self._failures: dict[str, _Failure] = {}
        self._sent: dict[str, Verdict] = {}
        self._labelled: dict[str, str] = {}
        self._alarms: dict[str, Alarm] = {}
        self.verdicts: list[Verdict] = []
        self.missing: dict[str, str] = {}

    def _answered(self, decision: Decision) -> list[str]:
        """Return the names of the requests answered here (in check mode: that would be)."""
        answered = self.verdicts if self._client.read_only else self._ours.values()
        return [verdict.request.label for verdict in answered if verdict.decision == decision]

    @property
    def joined(self) -> list[str]:
        return [name for name in self._rules.machines if not self.missing.get(name, "?")]

    @property
    def joined_nodes(self) -> dict[str, Node]:
        return {name: self._nodes[name] for name in self.joined if name in self._nodes}

    @property
    def now(self) -> datetime:
        return self._client.now()

    def pending(self, skipped: Collection[str] = ()) -> list[str]:
        """Return one text for each machine that has not joined, without ``skipped`` ones."""
        return [f"{name}: {text}" for name, text in self.missing.items() if text and name not in skipped]

    def result(self) -> dict[str, Any]:
        """What the module returns of the last round (shapes in its documentation)."""
        approved, denied = self._answered("approve"), self._answered("deny")
        decided = dict.fromkeys(approved, "approved") | dict.fromkeys(denied, "denied")
        # The cluster removes what was answered after an hour, and this may wait for longer.
        there = {verdict.request.uid for verdict in self.verdicts}
        removed = [verdict for uid, verdict in self._ours.items() if uid not in there]
        ordered = sorted([*self.verdicts, *removed], key=lambda verdict: verdict.request.order)
        refused = [verdict for verdict in ordered if verdict.decision in ("refuse", "deny")]
        return {
            "changed": bool(decided or self._labelled),
            "verdicts": [verdict.result() for verdict in ordered],
            "approved": approved,
            "denied": denied,
            "refused": [
                {
                    "name": verdict.request.label,
                    "signer": printable(verdict.request.signer),
                    "node": printable(verdict.request.node),
                    "requestor": printable(verdict.request.requestor),
                    "reason": verdict.reason,
                }
                for verdict in refused
            ],
            "alarms": [alarm.result() for alarm in self._alarms.values()],
            "joined": self.joined,
            "labelled": sorted(self._labelled.values()),
            "diff": shown(dict.fromkeys(decided, "pending"), decided, "certificate requests"),
        }

    def notices(self) -> list[Notice]:
        """What is new to the operator since this was called last."""
        flooded = too_many(self._requests.values(), self._rules, self._client.now())
        return self._notices.fresh(
            self.verdicts,
            [verdict for verdict in self.verdicts if verdict.decision == "approve"] if self._client.read_only else self._ours.values(),
            list(self._alarms.values()),
            {
                **self._problems,
                **({"pending_limit": flooded} if flooded else {}),
                **{uid: failure.message for uid, failure in self._failures.items() if failure.verdict.decision == "approve"},
            },
        )

    def poll(self, *, patient: bool = True) -> list[str]:
        """One round: read, decide, approve. Returns one text for each machine that is not in yet.

        An API that does not answer is something to wait for; only with `patient` off it is an error, and so is an answer to a request that
        the cluster did not take. All that can be done is done before: see `result`.
        """
        try:
            self._read()
            self._judge()
            self._label()
            self._keep_past()
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
            name: missing(machine, self._nodes.get(name), by_node.get(name, ()), now, self._past.get(name, NO_PAST))
            for name, machine in self._rules.machines.items()
        }
        if self._follow_problem is not None:
            raise self._follow_problem
        if self._failures and not patient:
            raise CollectionError(
                together("Cannot answer every certificate request", [failure.message for failure in self._failures.values()])
            )
        return self.pending()

    def sleep(self, seconds: float) -> None:
        """Pause, but no longer than until a request has come, changed or gone."""
        if self._version is None:
            time.sleep(seconds)
            return
        if self._follower is None:
            self._follower = Follower(self._client, self._rules, self._version, watch_seconds=self._watch_seconds)
        try:
            self._apply(self._follower.seen.get(timeout=seconds))
            until = time.monotonic() + min(_GATHER, seconds)
            while True:
                self._apply(self._follower.seen.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            return

    def _apply(self, change: Change) -> None:
        if isinstance(change, ClusterError):
            # A watch that is refused while the list is answered is no loss: then the list is read again and again.
            if self._following_failed and isinstance(change, ClusterRefusedError):
                self._follow_problem = change
            self._following_failed = True
            return
        kind, requests = change
        if kind == "all" or requests:
            self._following_failed, self._follow_problem = False, None
        known = self._requests
        if kind == "all":
            self._requests = {}
        for request in requests:
            if kind == "gone":
                self._requests.pop(request.uid, None)
            else:
                self._requests[request.uid] = request.seen_before(known.get(request.uid))

    def _read(self) -> None:
        if self._kept is None and self._history:
            self._kept = self._read_history()
        if self._version is None:
            self._requests, self._version = listed(self._client, self._rules)
        self._follow_nodes()
        asking = {
            request.node
            for request in self._requests.values()
            if request.kind == "serving" and request.state == "pending" and not request.fault
        }
        for name, problem in self._read_nodes(asking - self._nodes.keys()).items():
            self._problems[f"node {name}"] = f"the Node {printable(name)} cannot be read: {problem.message}"

    def _label(self) -> None:
        """Label Nodes as soon as they exist. By its labels the machine config operator knows a Node's pool: without them it belongs to the
        pool worker, and with a label that comes later the machine is rebooted to the other pool and back.

        Each Node is labelled once; a refusal is reported, and the role cluster sets the labels in the end. One without an answer may be
        the whole API's, so the others follow at the next poll, before it.
        """
        machines = self._rules.machines
        for name in sorted(machines, key=lambda name: f"labels of {name}" in self._problems):
            machine = machines[name]
            node = self._nodes.get(name)
            if node is None or node.uid in self._labelled or machine.is_of_an_earlier_one(node.created_at):
                continue
            if of_another_device(node.device_id, machine.device_id):
                continue
            labels = {label: value for label, value in machine.labels if (label, value) not in node.labels}
            if not labels:
                continue
            if not self._client.read_only:
                try:
                    self._client.change_node(name, node.uid, {"metadata": {"labels": labels}})
                except ClusterError as problem:
                    self._problems[f"labels of {name}"] = f"the Node {name} has not got its labels yet: {problem.message}"
                    if isinstance(problem, ClusterUnreachableError):
                        return
                    continue
            self._problems.pop(f"labels of {name}", None)
            self._labelled[node.uid] = name

    def _read_history(self) -> dict[str, Past]:
        """What earlier runs have written down. Without the right to read it this run knows what it sees itself."""
        try:
            kept = from_texts(self._client.history(self._history))
        except ClusterRefusedError as refused:
            self._problems["history"] = f"machines that have joined are not known from earlier runs: {refused.message}"
            return {}
        for name, past in kept.items():
            self._past[name] = self._past.get(name, NO_PAST).merged(past)
        return kept

    def _keep_past(self) -> None:
        """Write down what has come to be known of machines since."""
        self._past = remember(self._past, self._requests.values(), self._nodes.values(), self._rules)
        if self._kept is None or self._client.read_only or time.monotonic() < self._keep_at:
            return
        news = {name: past for name, past in self._past.items() if name in self._rules.machines and past != self._kept.get(name)}
        if not news:
            return
        try:
            self._client.keep_history(self._history, to_texts(news))
        except ClusterError as problem:
            self._keep_at = time.monotonic() + _AGAIN_AT_MOST
            self._problems["history"] = f"machines that have joined are not known to later runs: {problem.message}"
            return
        self._kept |= news

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

    def _list_nodes(self, listing: Future[dict[str, Node]], follower: Follower) -> None:
        try:
            listing.set_result(self._listed_nodes())
        except CollectionError as problem:
            listing.set_exception(problem)
        # Wakes up `sleep`.
        follower.seen.put(("there", []))

    def _listed_nodes(self) -> dict[str, Node]:
        states = (read_node(node) for node in self._client.nodes())
        return {state.name: state for state in states if state.name in self._rules.machines}

    def _read_nodes(self, names: Collection[str]) -> dict[str, ClusterError]:
        """Read the current state of these Nodes. Return the error of each that could not be read: it is no other Node's problem."""
        if len(names) > _FEW:
            try:
                self._nodes, self._nodes_at = self._listed_nodes(), time.monotonic()
            except ClusterError as problem:
                return dict.fromkeys(names, problem)
            return {}
        if not names:
            return {}
        with ThreadPoolExecutor(_FEW) as pool:
            nodes = dict(zip(names, pool.map(self._try_to_read, names), strict=True))
        for name, node in nodes.items():
            if node is None:
                self._nodes.pop(name, None)
            elif not isinstance(node, ClusterError):
                self._nodes[name] = read_node(node)
        return {name: node for name, node in nodes.items() if isinstance(node, ClusterError)}

    def _try_to_read(self, name: str) -> Mapping[str, Any] | ClusterError | None:
        try:
            node: Mapping[str, Any] | None = self._client.node(name)
        except ClusterError as problem:
            return problem
        return node

    def _judge(self) -> None:
        failed: set[str] = set()
        for left in reversed(range(_ROUNDS)):
            self._find_sent()
            self._past = remember(self._past, self._requests.values(), self._nodes.values(), self._rules)
            silent = [name for name, state in self._nodes.items() if state.unreachable]
            decided = decide(self._requests.values(), self._rules, self._nodes, self._client.now(), silent, self._past)
            self._failures = {uid: failure for uid, failure in self._failures.items() if uid in self._requests}
            chosen = [verdict for verdict in decided if verdict.decision in ("approve", "deny") and self._is_due(verdict, failed)]
            again = False
            try:
                if chosen and not self._client.read_only:
                    again = self._answer_all(chosen, failed, is_last=not left)
            finally:
                self.verdicts = [self._as_it_stands(verdict) for verdict in decided]
                # Kept: the cluster forgets what was approved after an hour, and this may wait for longer.
                self._alarms |= {alarm.node: alarm for alarm in alarms(self.verdicts, self._rules)}
            if not again:
                return

    def _is_due(self, verdict: Verdict, failed: Collection[str]) -> bool:
        """Return whether its answer may be sent: the last try was neither in this poll nor too recent."""
        uid = verdict.request.uid
        return uid not in failed and (uid not in self._failures or self._failures[uid].due <= time.monotonic())

    def _as_it_stands(self, verdict: Verdict) -> Verdict:
        uid = verdict.request.uid
        if uid in self._ours:
            return replace(self._ours[uid], request=self._requests.get(uid, verdict.request))
        if uid in self._failures and verdict.decision == self._failures[uid].verdict.decision:
            return self._failures[uid].pending_verdict()
        return verdict

    def _answer_all(self, chosen: Iterable[Verdict], failed: set[str], *, is_last: bool) -> bool:
        """Send these answers, approvals first: machines wait for them. Return whether there is something to be judged again.

        The uids of those that could not be sent go into `failed`. Raises a refusal that holds for all of them, which is a certificate or
        token that is not accepted (401), once each was tried.
        """
        joining = [verdict for verdict in chosen if verdict.decision == "approve" and verdict.request.kind == "client"]
        unread = self._read_nodes({verdict.request.node for verdict in joining})
        unsafe = {verdict.request.uid: unread[verdict.request.node] for verdict in joining if verdict.request.node in unread}
        again, unauthorized = False, None
        for decision in ("approve", "deny"):
            answers = [verdict for verdict in chosen if verdict.decision == decision]
            # Hundreds may come in one second; their calls wait for the server most of their time.
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                outcomes = list(pool.map(lambda verdict: unsafe.get(verdict.request.uid) or self._try_to_answer(verdict), answers))
            for verdict, problem in zip(answers, outcomes, strict=True):
                uid = verdict.request.uid
                if problem is None:
                    self._failures.pop(uid, None)
                elif isinstance(problem, ClusterConflictError) and not is_last:
                    again = True
                else:
                    failed.add(uid)
                    self._failures[uid] = _failure(verdict, problem, self._failures.get(uid))
                    if isinstance(problem, ClusterRefusedError) and problem.status == _UNAUTHORIZED:
                        unauthorized = problem
        if unauthorized is not None:
            raise unauthorized
        return again

    def _try_to_answer(self, verdict: Verdict) -> ClusterError | None:
        """Approve or deny one. Returns what went wrong: a conflict when the world has changed meanwhile and all is to be judged again."""
        try:
            self._answer(verdict)
        except ClusterError as problem:
            return problem
        return None

    def _answer(self, verdict: Verdict) -> None:
        request, approves = verdict.request, verdict.decision == "approve"
        if approves and request.kind == "client":
            state = self._nodes.get(request.node)
            if state is not None and not (state.unreachable and self._rules.recover_nodes):
                raise ClusterConflictError(f"the node {request.node} has registered meanwhile", _CONFLICT)
        try:
            kind, reason, message = ANSWERS[verdict.decision]
            self._client.answer(
                kind, request.name, uid=request.uid, version=request.resource_version, reason=reason, message=message + verdict.reason
            )
        except ClusterUnreachableError:
            # It may have been decided all the same.
            self._sent[request.uid] = verdict
            raise
        except ClusterRefusedError as refused:
            if not isinstance(refused, ClusterConflictError) and refused.status != _NOT_FOUND:
                raise
            self._read_again(request)
            raise ClusterConflictError(refused.message, refused.status) from refused
        answered = replace(request, state="approved" if approves else "denied", decided_at=self._client.now())
        self._requests[request.uid] = answered
        self._ours[request.uid] = replace(verdict, request=answered)

    def _find_sent(self) -> None:
        """Verdicts whose answer was lost and that had their effect are ours no less."""
        for uid, sent in list(self._sent.items()):
            request = self._requests.get(uid)
            if request is not None and request.state in (("approved", "issued") if sent.decision == "approve" else ("denied",)):
                self._ours[uid] = replace(self._sent.pop(uid), request=request)
                self._failures.pop(uid, None)

    def _read_again(self, request: Request) -> None:
        obj = self._client.get(object_path(CERTIFICATE_REQUESTS, request.name))
        verdict = assess(obj, self._rules) if obj is not None else None
        if verdict is None or verdict.uid != request.uid:
            self._requests.pop(request.uid, None)
        if verdict is not None:
            self._requests[verdict.uid] = verdict.seen_before(request if verdict.uid == request.uid else None)


def _failure(verdict: Verdict, problem: ClusterError, before: _Failure | None) -> _Failure:
    """Return a failed answer with its next try: at the next poll if the API does not answer, after a growing pause if it refuses."""
    pause = min(_AGAIN_AT_MOST, before.pause * 2) if before and before.pause else _AGAIN
    if isinstance(problem, ClusterUnreachableError):
        pause = 0.0
    word = "approve" if verdict.decision == "approve" else "deny"
    message = f"could not {word} {verdict.request.label} of {printable(verdict.request.node)}: {problem.message}"
    return _Failure(verdict, message, time.monotonic() + pause, pause)
