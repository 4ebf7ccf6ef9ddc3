# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The etcd members of a cluster, and the replacement of one (OpenShift, "Replacing an unhealthy etcd member").

Members are read and removed by ``etcdctl`` in an etcd pod. The replacement in progress is an annotation of the Etcd resource, so that any
later run from any controller knows which device and which member are the old ones.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options
from ..base.diff import shown
from ..base.errors import ClusterRefusedError, ClusterUnreachableError, CollectionError
from ..base.json_objects import mapping, mappings, text
from ..base.kubernetes_objects import ETCD, ETCD_PODS, ETCD_SECRETS, conditions_of, is_ready, object_path
from ..base.printable import printable
from ..nodes.node import read_node

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

NAMESPACE = "openshift-etcd"
CONTAINER = "etcdctl"
REPLACING = "equinix-metal.openshift/replacing"
"""Annotation of the Etcd resource: the replacement in progress, a JSON object with ``node``, ``device`` and ``member``."""

MEMBER_NOT_FOUND = "etcdserver: member not found"
"""etcd's refusal to remove a member that was removed (api/v3rpc/rpctypes)."""
GUARD_OFF = "useUnsupportedUnsafeNonHANonProductionUnstableEtcd"
SECRETS = ("etcd-peer", "etcd-serving", "etcd-serving-metrics")

ETCD_INFO_OPTIONS = Options({"members": {"type": "list", "elements": "str", "default": []}, "removal_of": {"type": "str"}})
ETCD_MEMBER_OPTIONS = Options(
    {"node": {"type": "str", "required": True}, "id": {"type": "str"}, "state": {"type": "str", "choices": ["absent"], "default": "absent"}}
)
ETCD_REPLACEMENT_OPTIONS = Options(
    {
        "node": {"type": "str", "required": True},
        "device": {"type": "str", "default": ""},
        "state": {"type": "str", "choices": ["started", "suspended", "finished"], "default": "started"},
    }
)


@dataclass(frozen=True)
class Member:
    """An etcd member. ``id`` is hexadecimal, as etcdctl takes it; ``name`` is that of its Node, empty until it has started."""

    id: str
    name: str
    learner: bool
    healthy: bool


@dataclass(frozen=True)
class Replacement:
    """The replacement of a control plane machine that has begun: its Node, the id of its old device ("" for none), its old member."""

    node: str = ""
    device: str = ""
    member: str = ""


@dataclass(frozen=True)
class Operator:
    """The Etcd resource cut down. ``problem``: why it reports that members are not available; empty when they are."""

    version: str
    guarded: bool
    replacing: Replacement
    problem: str


# Reading


def read_members(client: ClusterClient, avoid: str = "") -> list[Member]:
    """Return the etcd members, asked for in a pod on any node but ``avoid``, if there is one."""
    listed = _etcdctl(client, ("member", "list", "-w", "json"), avoid)
    health = _etcdctl(client, ("endpoint", "health", "--cluster", "-w", "json"), avoid, codes=(0, 1))
    entries = mappings(mapping(listed).get("members"))
    if not entries:
        raise ClusterUnreachableError("Cannot read the etcd members: etcdctl lists none")
    healthy = {text(entry.get("endpoint")) for entry in mappings(health) if entry.get("health") is True}
    return sorted((_member(entry, healthy) for entry in entries), key=lambda member: (member.name, member.id))


def _member(entry: Mapping[str, Any], healthy: set[str]) -> Member:
    number = entry.get("ID")
    if not isinstance(number, int):
        raise ClusterUnreachableError("Cannot read the etcd members: etcdctl lists a member without an id")
    urls = entry.get("clientURLs") if isinstance(entry.get("clientURLs"), list) else []
    is_learner = entry.get("isLearner") is True
    return Member(f"{number:x}", text(entry.get("name")), is_learner, not is_learner and bool(healthy & {text(url) for url in urls or []}))


def read_operator(obj: Mapping[str, Any] | None) -> Operator:
    metadata, spec = mapping(mapping(obj).get("metadata")), mapping(mapping(obj).get("spec"))
    try:
        recorded = mapping(json.loads(text(mapping(metadata.get("annotations")).get(REPLACING)) or "{}"))
    except ValueError:
        recorded = {}
    conditions = conditions_of(obj)
    problems = [
        printable(text(condition.get("message"))) or name
        for name, healthy_status in (
            ("EtcdMembersAvailable", "True"),
            ("EtcdMembersDegraded", "False"),
            ("ClusterMemberControllerDegraded", "False"),
        )
        if (condition := conditions.get(name)) is not None and condition.get("status") != healthy_status
    ]
    return Operator(
        version=text(metadata.get("resourceVersion")),
        guarded=mapping(spec.get("unsupportedConfigOverrides")).get(GUARD_OFF) is not True,
        replacing=Replacement(**{name: text(recorded.get(name)) for name in ("node", "device", "member")}),
        problem="; ".join(problems),
    )


def _etcdctl(client: ClusterClient, arguments: Sequence[str], avoid: str, codes: Collection[int] = (0,), *, changes: bool = False) -> Any:
    """Run etcdctl in the first etcd pod that answers; return its JSON, or its output when it changes something."""
    failures = []
    for pod in _pods(client, avoid):
        try:
            done = client.execute(NAMESPACE, pod, CONTAINER, ["etcdctl", *arguments], changes=changes)
        except (ClusterRefusedError, ClusterUnreachableError) as problem:
            if changes and isinstance(problem, ClusterUnreachableError):
                # It may have had its effect: the members are read again before the next try.
                raise
            failures.append(problem.message)
            continue
        if changes and MEMBER_NOT_FOUND in done.stderr:
            # An earlier request arrived late, after the members had been read again.
            return done.stderr
        if done.code not in codes:
            answer = printable(done.stderr or done.stdout, 500)
            raise CollectionError(f"etcdctl {' '.join(arguments)} failed in the pod {pod} with exit code {done.code}: {answer}")
        if changes:
            return done.stdout
        try:
            return json.loads(done.stdout)
        except ValueError:
            failures.append(
                f"etcdctl {' '.join(arguments)} in the pod {pod} returned no JSON: {printable(done.stderr or done.stdout, 200)}"
            )
    attempt = f"Cannot run etcdctl {' '.join(arguments)}"
    if failures:
        raise ClusterUnreachableError(f"{attempt}: {'; '.join(failures)}")
    raise client.add_origin(ClusterUnreachableError(f"{attempt}: no pod with the label app=etcd in {NAMESPACE} is Ready"))


def _pods(client: ClusterClient, avoid: str) -> list[str]:
    """Return the names of the etcd pods that are Ready, those on other nodes than ``avoid`` alone if there are any."""
    pods = []
    for pod in client.objects(ETCD_PODS):
        metadata = mapping(pod.get("metadata"))
        if mapping(metadata.get("labels")).get("app") == "etcd" and is_ready(pod) and not metadata.get("deletionTimestamp"):
            pods.append((text(metadata.get("name")), text(mapping(pod.get("spec")).get("nodeName"))))
    others = [name for name, node in pods if node != avoid]
    return sorted(others or [name for name, _node in pods])


# Decisions


def removal_blockers(members: Sequence[Member], operator: Operator, unready: Iterable[str], node: str) -> list[str]:
    """Return why the control plane machine of ``node`` cannot be replaced now; none when it can.

    ``unready``: control plane Nodes that are not Ready, or do not exist. Its machine is deleted before its member is removed, so the other
    members have to be a majority of all voting members.
    """
    other = operator.replacing.node
    if other and other != node:
        return [f"The replacement of {other} is not complete. Complete it first: ansible-playbook replace.yml -e openshift_replace={other}"]
    voting = [member for member in members if not member.learner]
    # When the replacement is continued, the member of this name may be the new one, which stays.
    rest = [member for member in voting if member.name != node or (other and member.id != operator.replacing.member)]
    healthy = [member for member in rest if member.healthy]
    blockers = []
    if not rest:
        blockers.append(
            f"{node} has the only etcd member: without it the cluster's data is lost. Restore a backup on another machine instead"
            " (OpenShift, 'Restoring to a previous cluster state')."
        )
    elif len(healthy) * 2 <= len(voting):
        blockers.append(
            f"etcd would lose its quorum: {len(healthy)} of {len(voting)} voting members would be healthy without {node}, and"
            f" {len(voting) // 2 + 1} are needed."
        )
    sick = sorted(member.name for member in rest if not member.healthy and member.name != node)
    if sick and rest:
        blockers.append(
            f"The etcd members of {', '.join(sick)} are not healthy, and only one can be replaced at a time. Switch on these machines and"
            " wait until oc get etcd cluster reports EtcdMembersAvailable, or replace the machine that is lost first."
        )
    # A node that is lost with its member, which was removed to restore the quorum, is replaced after this one.
    waiting = sorted({member.name for member in healthy} & set(unready))
    if waiting:
        blockers.append(f"The control plane nodes {', '.join(waiting)} are not Ready. Wait until they are, then run again.")
    if not other and node not in {*unready, *(member.name for member in members)}:
        blockers.append(
            f"{node} is Ready and has no etcd member: the etcd operator may add one while the device is deleted, and etcd would lose its"
            " quorum. Wait until the operator has added it, or switch the device off and wait until the Node is not Ready."
        )
    return blockers


def membership_problems(members: Sequence[Member], operator: Operator, nodes: Collection[str]) -> list[str]:
    """Return what is missing until these nodes have healthy etcd members, no other member is sick, and the operator reports no problem."""
    voting = {member.name: member for member in members if not member.learner}
    sick = {name for name, member in voting.items() if not member.healthy}
    pending = [
        *(f"etcd has no member of {name}" for name in sorted(set(nodes) - voting.keys())),
        *(f"the etcd member of {name} is not healthy" for name in sorted(sick & set(nodes))),
        *(f"etcd has a sick member of {name}, which is to be removed" for name in sorted(sick - set(nodes))),
    ]
    return pending + ([f"the etcd operator reports: {operator.problem}"] if operator.problem else [])


# Modules


def poll_members(client: ClusterClient, params: Mapping[str, Any], result: dict[str, Any]) -> list[str]:
    """Read the members; with ``members`` return why these are not healthy."""
    reading = "Cannot read the etcd members: "
    node = params["removal_of"] or ""
    resource = client.get(ETCD)
    if resource is None:
        # Without it a replacement in progress would not be seen.
        raise client.add_origin(ClusterUnreachableError(f"{reading}the cluster has no resource etcd/cluster of operator.openshift.io"))
    operator = read_operator(resource)
    members = read_members(client, avoid=node)
    control_plane = [peer for peer in map(read_node, client.nodes()) if peer.control_plane] if node else []
    if node and not control_plane:
        raise client.add_origin(ClusterUnreachableError(f"{reading}the cluster lists no control plane node"))
    unready = {node, *(peer.name for peer in control_plane)} - {peer.name for peer in control_plane if peer.ready}
    result.update(
        members=[asdict(member) for member in members],
        quorum_guard=operator.guarded,
        replacing=asdict(operator.replacing) if operator.replacing.node else None,
        problem=operator.problem,
        blockers=removal_blockers(members, operator, unready, node) if node else [],
    )
    return membership_problems(members, operator, params["members"]) if params["members"] else []


class MemberRemoval:
    """Removes the member of a node, and then the secrets of a node that does not exist any more."""

    def __init__(self, client: ClusterClient, params: Mapping[str, Any], result: dict[str, Any]) -> None:
        self._client = client
        self._node: str = params["node"]
        self._id: str | None = params["id"]
        self._result = result
        self._removed = ""
        self._requested = ""
        """Id of the member whose removal was requested: after a lost answer, the members that are read next show its effect."""
        self._deleted: list[str] = []

    def poll(self) -> list[str]:
        try:
            self._remove(read_members(self._client, avoid=self._node))
            self._delete_secrets()
        finally:
            header, before = f"etcd member of {self._node}", {"member": self._removed or None, "secrets": self._deleted}
            self._result.update(
                changed=bool(self._removed or self._deleted),
                removed=self._removed,
                deleted_secrets=self._deleted,
                diff=shown(before, {"member": None, "secrets": []}, header) if self._removed or self._deleted else shown({}, {}, header),
            )
        return []

    def _remove(self, members: Sequence[Member]) -> None:
        member = next(
            (candidate for candidate in members if (candidate.id == self._id if self._id is not None else candidate.name == self._node)),
            None,
        )
        if member is None:
            self._removed = self._requested
            return
        if member.name not in (self._node, ""):
            raise CollectionError(f"Cannot remove the etcd member {member.id}: it is that of {member.name}, not of {self._node}.")
        rest = [other for other in members if not other.learner and other.id != member.id]
        healthy = [other for other in rest if other.healthy]
        if not member.learner and len(healthy) * 2 <= len(rest):
            raise CollectionError(
                f"Cannot remove the etcd member of {self._node}: of the {len(rest)} members that remain {len(healthy)} are healthy,"
                " which is no quorum. Switch on the machines of the other members and wait until they are healthy."
            )
        self._requested = member.id
        if not self._client.read_only:
            _etcdctl(self._client, ("member", "remove", member.id), self._node, changes=True)
        self._removed = member.id

    def _delete_secrets(self) -> None:
        """Delete the secrets of a node that was deleted; those of one that exists are of its member, or would be created again."""
        if self._client.node(self._node) is not None:
            return
        for kind in SECRETS:
            name = f"{kind}-{self._node}"
            if name in self._deleted or self._client.get(object_path(ETCD_SECRETS, name)) is None:
                continue
            if not self._client.read_only:
                self._client.delete(object_path(ETCD_SECRETS, name))
            self._deleted.append(name)


def record_replacement(client: ClusterClient, params: Mapping[str, Any], result: dict[str, Any]) -> list[str]:
    """Record the replacement in progress, and switch the quorum guard off or on; nothing is pending then."""
    obj = client.get(ETCD)
    if obj is None:
        text = (
            "Cannot replace a control plane machine: the cluster has no resource etcd/cluster of operator.openshift.io. Check that the"
            " kubeconfig is of an OpenShift cluster that is installed."
        )
        raise client.add_origin(CollectionError(text))
    operator = read_operator(obj)
    if operator.replacing.node not in ("", params["node"]):
        raise CollectionError(
            f"Cannot change the replacement of {params['node']}: that of {operator.replacing.node} is not complete. Complete it first:"
            f" ansible-playbook replace.yml -e openshift_replace={operator.replacing.node}"
        )
    desired, guarded = _desired(client, params, operator), params["state"] != "started"
    before = {"replacing": asdict(operator.replacing) if operator.replacing.node else None, "quorum_guard": operator.guarded}
    after = {"replacing": asdict(desired) if desired.node else None, "quorum_guard": guarded}
    changed = before != after
    # A write whose answer was lost is found done by the next poll, and still is a change.
    result["changed"] = result["changed"] or changed
    if changed or "diff" not in result:
        result["diff"] = shown(before, after, "etcd/cluster")
    result.update(after)
    if changed and not client.read_only:
        client.change_etcd(operator.version, _patch(desired, guarded=guarded))
    return []


def _desired(client: ClusterClient, params: Mapping[str, Any], operator: Operator) -> Replacement:
    if params["state"] == "finished":
        return Replacement()
    if operator.replacing.node or params["state"] == "suspended":
        return operator.replacing
    node = params["node"]
    member = next((member.id for member in read_members(client, avoid=node) if member.name == node), "")
    return Replacement(node, params["device"], member)


def _patch(replacing: Replacement, *, guarded: bool) -> dict[str, Any]:
    record = json.dumps(asdict(replacing)) if replacing.node else None
    overrides = {GUARD_OFF: None if guarded else True}
    return {"metadata": {"annotations": {REPLACING: record}}, "spec": {"unsupportedConfigOverrides": overrides}}
