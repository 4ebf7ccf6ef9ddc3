# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draining of Nodes: which pods have to go, their eviction within their disruption budgets, and what keeps the others.

As `kubectl drain` does it (k8s.io/kubectl/pkg/drain), but several Nodes at a time, and decided by the pods that are left on them:
evictions that are refused are repeated, and no Node counts as drained as long as the API server lists a pod that would be lost with its
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from ..base.diff import shown
from ..base.errors import ClusterRefusedError, ClusterUnreachableError, CollectionError
from ..base.json_objects import mapping, mappings, text
from ..base.printable import printable
from ..base.times import time_of, timestamp
from ..base.wait import WaitTimeout
from .node import UNCORDON, Node, cordon, known_as
from .routers import tolerates

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of the API's copy of a static pod, which the kubelet runs from a file of its own."""
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""The taint that the scheduler sees on a cordoned Node."""
FINISHED = frozenset({"Succeeded", "Failed"})
AT_ONCE = 8
"""Calls at a time: of hundreds of pods each waits for the server most of its time."""
NAMED = 10
"""So many pods are named in one message; all are in the result."""
LONGEST = 500
"""Characters of what is said about one pod."""

Kind = Literal["evicted", "daemon set", "static", "finished"]


WaitFor = Callable[[Callable[[], list[str]], str], None]


@dataclass(frozen=True)
class Pod:
    """A pod with the attributes that its eviction needs. ``kind``: whether it is evicted, or why not."""

    namespace: str
    name: str
    uid: str
    node: str
    kind: Kind
    has_controller: bool
    local_data: tuple[str, ...]
    """Names of its emptyDir volumes."""
    tolerates_cordon: bool
    """Whether it may be bound to a cordoned Node."""
    created_at: datetime | None
    due: datetime | None
    """When it is terminating: the end of its grace period."""
    grace_period: float
    """Seconds; of a terminating pod those that its termination was asked for with."""
    finalizers: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return f"pod {self.title} on {self.node}"


def read_pod(obj: Any) -> Pod:
    """Return what is needed of a Pod object. Malformed fields never make it a pod that is left alone."""
    metadata, spec = mapping(mapping(obj).get("metadata")), mapping(mapping(obj).get("spec"))
    controllers = [owner for owner in mappings(metadata.get("ownerReferences")) if owner.get("controller") is True]
    kind: Kind = "evicted"
    if MIRROR in mapping(metadata.get("annotations")):
        kind = "static"
    elif any(owner.get("kind") == "DaemonSet" for owner in controllers):
        kind = "daemon set"
    elif mapping(mapping(obj).get("status")).get("phase") in FINISHED:
        kind = "finished"
    grace = metadata.get("deletionGracePeriodSeconds", spec.get("terminationGracePeriodSeconds"))
    finalizers = metadata.get("finalizers")
    return Pod(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        node=text(spec.get("nodeName")),
        kind=kind,
        has_controller=bool(controllers),
        local_data=tuple(text(volume.get("name")) for volume in mappings(spec.get("volumes")) if "emptyDir" in volume),
        tolerates_cordon=any(tolerates(toleration, CORDON) for toleration in mappings(spec.get("tolerations"))),
        created_at=time_of(metadata.get("creationTimestamp")),
        due=time_of(metadata.get("deletionTimestamp")),
        grace_period=float(grace) if isinstance(grace, (int, float)) else 30.0,
        finalizers=tuple(printable(finalizer) for finalizer in finalizers) if isinstance(finalizers, list) else (),
    )


@dataclass(frozen=True)
class Rules:
    """How pods are evicted. Times in seconds; ``grace_period`` None is each pod's own, of at most ``longest_grace_period``."""

    grace_period: int | None
    delete_emptydir_data: bool
    evict_unmanaged: bool
    unreachable_grace: float
    longest_grace_period: int | None = None

    def grace_of(self, pod: Pod, node: Node | None = None) -> int | None:
        """Return the grace period to evict a pod with, None for its own.

        The kubelet of an unreachable Node gives a pod none, and an hour as of the routers would only delay the end of the machine. Like the
        Machine API of OpenShift: a second.
        """
        if self.grace_period is not None:
            return self.grace_period
        if node is not None and node.unreachable:
            return min(1, int(pod.grace_period))
        return self.longest_grace_period if self.longest_grace_period is not None and pod.grace_period > self.longest_grace_period else None


def objections(pods: Iterable[Pod], rules: Rules) -> list[str]:
    """Return why pods must not be evicted by these rules, one text each."""
    texts = []
    for pod in pods:
        if not rules.evict_unmanaged and not pod.has_controller:
            texts.append(f"{pod} has no controller that would create another (evict_unmanaged)")
        if not rules.delete_emptydir_data and pod.local_data:
            volumes = ", ".join(pod.local_data)
            texts.append(f"{pod} has data in emptyDir volumes: {volumes} (delete_emptydir_data)")
    return texts


def is_due(pod: Pod, rules: Rules, started: datetime, node: Node | None = None) -> bool:
    """Return whether a pod is to be evicted now: not one that is terminating, unless it was given a longer grace period than it is to have.

    A pod that tolerates the cordon and was created since is another one in place of an evicted pod, and would be so again.
    """
    if pod.due is not None:
        grace = rules.grace_of(pod, node)
        return grace is not None and grace < pod.grace_period
    return not is_back(pod, started)


def is_back(pod: Pod, started: datetime) -> bool:
    """Return whether a pod has come to a cordoned Node since the drain started."""
    return pod.tolerates_cordon and pod.created_at is not None and pod.created_at > started


def excuse(pod: Pod, node: Node | None, rules: Rules, *, started: datetime, now: datetime) -> str:
    """Return why the wait skips a remaining pod, empty if it does not.

    The kubelet of an unreachable Node cannot report that a pod has ended; nobody but the machine's end can make sure of it. So such a pod
    is waited for only ``unreachable_grace`` seconds beyond its grace period (cluster-api does the same).
    """
    if is_back(pod, started):
        return "tolerates the cordon and was created again after its eviction"
    if node is None or not node.unreachable or pod.due is None:
        return ""
    if now - pod.due < timedelta(seconds=rules.unreachable_grace):
        return ""
    return f"is terminating, and the kubelet that could confirm its end is unreachable since {_moment(node.since)}"


def obstacle(pod: Pod, refusal: str, now: datetime) -> str:
    """Return what keeps a pod on its Node, for a human, as what follows its name. It stays the same as long as nothing changes."""
    if pod.due is None:
        return f"cannot be evicted: {refusal}" if refusal else "is not evicted yet"
    if pod.due > now:
        return f"is terminating, its grace period of {pod.grace_period:.0f} s ends at {_moment(pod.due)}"
    held = f", finalizers: {', '.join(pod.finalizers)}" if pod.finalizers else ""
    return f"is still terminating, its grace period of {pod.grace_period:.0f} s ended at {_moment(pod.due)}{held}"


def _moment(moment: datetime | None) -> str:
    return timestamp(moment)[11:] if moment else "an unknown time"


def refusal_of(refused: ClusterRefusedError) -> str:
    """Return why an eviction was refused, as one text for a human.

    Raises the refusal itself when another try cannot help: a login that is not accepted, and rights that are missing.
    """
    if refused.status == 404:
        return "it is gone meanwhile"
    if refused.status == 409:
        return "it has changed meanwhile"
    budgets = [message for reason, message in refused.causes if reason == "DisruptionBudget"]
    if budgets:
        return printable("; ".join(dict.fromkeys(budgets)))
    if any(reason == "NamespaceTerminating" for reason, _message in refused.causes):
        return "its namespace is being terminated, which deletes it"
    if refused.status == 401 or (refused.status == 403 and "cannot create resource" in refused.answer):
        raise refused
    return printable(f"{refused.status} {refused.answer}")


def listed(texts: Sequence[str]) -> str:
    """Return texts as one, the first of many and how many there are more."""
    more = len(texts) - NAMED
    return "; ".join([*texts[:NAMED], *([f"and {more} more"] if more > 0 else [])])


class Drain:
    """Cordons, drains or uncordons ``params["nodes"]``. Each ``poll`` does what can be done now and returns what is pending."""

    def __init__(self, client: ClusterClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._names: list[str] = list(dict.fromkeys(params["nodes"]))
        self._state: str = params["state"]
        self._own_only = bool(params["own_cordon_only"])
        self._accept_loss = bool(params["accept_loss"])
        self._release_on_failure = bool(params["uncordon_on_failure"])
        self._rules = Rules(**{option.name: params[option.name] for option in fields(Rules)})
        self._started: datetime | None = None
        self._before: dict[str, Any] | None = None
        self._after: dict[str, Any] = {}
        self._evicted: list[str] = []
        # Writes whose answer was lost. What is read next says whether they had their effect.
        self._unsure_nodes: set[str] = set()
        self._unsure_pods: dict[str, str] = {}
        self._waits = bool(params["wait"])
        self._changed = False
        self._nodes: dict[str, Node] = {}
        self._remaining: list[dict[str, str]] = []
        self._is_known = False
        """Whether the last poll has read the Nodes and their pods."""

    # --- one poll ------------------------------------------------------------------------------------------------------------------

    def poll(self) -> list[str]:
        """Do what can be done now; return one text for each pod that is waited for."""
        self._is_known = False
        self._nodes = self._read_nodes()
        self._settle_nodes()
        pods = self._read_pods()
        if self._before is None:
            if problems := objections(pods, self._rules):
                raise CollectionError(f"Cannot drain {', '.join(self._names)}: {listed(problems)}.")
            self._before = self._view(pods)
        self._set_schedulable()
        self._started = self._started or self._client.now()
        refusals: dict[str, str] = {}
        due = [pod for pod in pods if is_due(pod, self._rules, self._started, self._nodes.get(pod.node))]
        if self._client.read_only:
            # Check mode predicts that every eviction is accepted and every pod ends.
            self._evicted, self._changed = [pod.title for pod in due], self._changed or bool(due)
            pods = []
        elif due:
            refusals = self._evict(due)
            pods = self._read_pods()
        now = self._client.now()
        excuses = {pod.uid: excuse(pod, self._nodes.get(pod.node), self._rules, started=self._started, now=now) for pod in pods}
        # Of many lines the first ones are read: those that need an action, then those that end by themselves.
        pods.sort(key=lambda pod: (pod.due is not None, pod.node, pod.title))
        reasons = {pod.uid: excuses[pod.uid] or obstacle(pod, refusals.get(pod.uid, ""), now) for pod in pods}
        self._remaining = [{"namespace": pod.namespace, "name": pod.name, "node": pod.node, "reason": reasons[pod.uid]} for pod in pods]
        self._after = self._view(pods)
        self._is_known = True
        return [f"{pod} {reasons[pod.uid]}" for pod in pods if not excuses[pod.uid]]

    def _read_nodes(self) -> dict[str, Node]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            nodes = pool.map(self._client.node, self._names)
            return {name: known_as(name, obj) for name, obj in zip(self._names, nodes, strict=True) if obj is not None}

    def _read_pods(self) -> list[Pod]:
        """Return the pods that have to go, also those of a Node that is deleted: the cluster removes these a moment later."""
        if self._state != "drained":
            return []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            lists = pool.map(lambda name: [read_pod(obj) for obj in self._client.pods_on(name)], self._names)
            pods = [pod for pods in lists for pod in pods if pod.kind == "evicted"]
        self._settle_pods(pods)
        return pods

    def _settle_nodes(self) -> None:
        """Count changes of Nodes whose answers were lost, and that were made."""
        schedulable = self._state == "uncordoned"
        if any(node.schedulable is schedulable for name, node in self._nodes.items() if name in self._unsure_nodes):
            self._changed = True
        self._unsure_nodes.clear()

    def _settle_pods(self, pods: Iterable[Pod]) -> None:
        """Count evictions whose answers were lost, and that were accepted: the pod is terminating, or gone."""
        untouched = {pod.uid for pod in pods if pod.due is None}
        for uid in [uid for uid in self._unsure_pods if uid not in untouched]:
            self._count(self._unsure_pods.pop(uid))

    def _count(self, title: str) -> None:
        self._changed = True
        if title not in self._evicted:
            self._evicted.append(title)

    def _view(self, pods: Sequence[Pod]) -> dict[str, Any]:
        """Return the Nodes and their pods as a diff shows them."""
        view: dict[str, Any] = {name: {"schedulable": node.schedulable} for name, node in sorted(self._nodes.items())}
        if self._state == "drained":
            for name, shown_node in view.items():
                shown_node["pods"] = sorted(pod.title for pod in pods if pod.node == name)
        return view

    # --- cordon --------------------------------------------------------------------------------------------------------------------

    def _set_schedulable(self) -> None:
        for node in list(self._nodes.values()):
            if self._state == "uncordoned":
                if not node.schedulable and (node.cordoned_here or not self._own_only):
                    self._change(node, UNCORDON, schedulable=True)
            elif node.schedulable:
                self._change(node, cordon(self._client.now()), schedulable=False)

    def _change(self, node: Node, patch: Mapping[str, Any], *, schedulable: bool) -> None:
        if not self._client.read_only:
            try:
                self._client.change_node(node.name, node.uid, patch)
            except ClusterUnreachableError:
                self._unsure_nodes.add(node.name)
                raise
        self._changed = True
        self._nodes[node.name] = replace(node, schedulable=schedulable, cordoned_here=not schedulable)

    def _release(self) -> str:
        """Uncordon the Nodes that were cordoned here, after a drain that failed; return a sentence on what became of each. Never raises."""
        released: list[str] = []
        kept: list[str] = []
        failed: list[str] = []
        for name in self._names:
            try:
                obj = self._client.node(name)
                node = None if obj is None else known_as(name, obj)
                if node is None or node.schedulable:
                    continue
                if node.cordoned_here:
                    self._client.change_node(name, node.uid, UNCORDON)
                    released.append(name)
                    self._after[name] = {**self._after.get(name, {}), "schedulable": True}
                else:
                    kept.append(name)
            except CollectionError as problem:
                failed.append(f"{name} ({problem.message})")
        outcomes = {"Schedulable again": released, "Still cordoned, as before": kept, "Cannot be uncordoned": failed}
        return " ".join(f"{outcome}: {', '.join(names)}." for outcome, names in outcomes.items() if names)

    # --- eviction ------------------------------------------------------------------------------------------------------------------

    def _evict(self, pods: Collection[Pod]) -> dict[str, str]:
        """Evict pods; return why others are still there, by uid. Raises a refusal that no other try changes, once all were tried."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = dict(zip((pod.uid for pod in pods), pool.map(self._evict_one, pods), strict=True))
        for pod in pods:
            if answers[pod.uid] == "":
                self._unsure_pods.pop(pod.uid, None)
                self._count(pod.title)
        for answer in answers.values():
            if isinstance(answer, ClusterRefusedError):
                raise answer
        return {uid: answer for uid, answer in answers.items() if isinstance(answer, str) and answer}

    def _evict_one(self, pod: Pod) -> str | ClusterRefusedError:
        """Evict a pod; return nothing when the eviction was accepted, why it was refused, or the refusal that no other try changes."""
        try:
            self._client.evict(pod.namespace, pod.name, pod.uid, self._rules.grace_of(pod, self._nodes.get(pod.node)))
        except ClusterUnreachableError as problem:
            # It may have had its effect; the list of pods that is read next says so.
            self._unsure_pods[pod.uid] = pod.title
            return printable(problem.message, LONGEST)
        except ClusterRefusedError as refused:
            try:
                return refusal_of(refused)
            except ClusterRefusedError:
                return refused
        return ""

    # --- the whole wait -----------------------------------------------------------------------------------------------------------

    def carry_out(self, wait_for: WaitFor, result: dict[str, Any], *, warn: Callable[[str], None]) -> None:
        """Wait until the desired state is reached; raise what made that impossible. ``result`` gets the module's result."""
        try:
            wait_for(self.poll, f"{self._state.capitalize()} state of {', '.join(self._names)}")
        except WaitTimeout as problem:
            if not (self._accept_loss and self._is_known):
                raise self._failure(problem) from problem
        except CollectionError as problem:
            raise self._failure(problem) from problem
        finally:
            result.update(self._result())
        if self._remaining and self._waits:
            texts = [f"{pod['namespace']}/{pod['name']} on {pod['node']} {pod['reason']}" for pod in self._remaining]
            warn(f"Pods are left that end with their machines: {listed(texts)}")

    def _result(self) -> dict[str, Any]:
        return {
            "changed": self._changed,
            "diff": shown(self._before or {}, self._after or self._before or {}, "nodes"),
            "drained": self._state == "drained" and self._is_known and not self._remaining,
            "evicted": self._evicted,
            "remaining_pods": self._remaining,
            "absent": [name for name in self._names if self._is_known and name not in self._nodes],
        }

    def _failure(self, problem: CollectionError) -> CollectionError:
        """Return the error of what failed, with what became of the Nodes that were cordoned."""
        if isinstance(problem, WaitTimeout) and self._is_known:
            problem.details["waiting"] = problem.waiting[:NAMED]
            count = "1 pod is left" if len(problem.waiting) == 1 else f"{len(problem.waiting)} pods are left"
            problem.message = (
                f"Cannot drain {', '.join(sorted({pod['node'] for pod in self._remaining}))} in the time given (wait_timeout, which is "
                f"openshift_drain_timeout in the playbooks), {count}: {listed(problem.waiting)}. Give them more time, or accept their loss "
                "(accept_loss, in the playbooks openshift_leave_undrained)."
            )
        if self._state == "drained" and self._release_on_failure and not self._client.read_only:
            problem.message = f"{problem.message} {self._release()}".rstrip()
        return problem
