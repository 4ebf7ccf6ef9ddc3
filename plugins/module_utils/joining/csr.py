# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The approval of certificate signing requests (CSRs): a decision on every CSR of a cluster, without input or output.

A client with the node bootstrap token can file a CSR for any node name (KEP-4872, machine-config-operator issue 731), so a CSR is approved
only for a machine of this inventory. The rules are those of OpenShift's cluster-machine-approver, with the inventory's machines in place of
Machine objects, and a stricter parser (see `pkcs10`). A machine joins once. In place of a Machine's nodeRef, a registered Node or a CSR
filed by the machine's own node identity proves that it has joined. It has then joined even if its Node is deleted, and only another
machine of the same name (created later) can join again. A refused CSR stays pending: a denied kubelet files another one within seconds,
and a refused CSR may become valid (its Node is removed, its address becomes known).

A decision is one of
- `approve`: all rules hold;
- `wait`: no rule is broken, but a condition is not met yet, so the CSR may be approved later;
- `refuse`: a rule is broken, and an administrator should check the CSR;
- `deny`: the same, with `deny_refused`;
- `ignore`: not decided here (another signer, a renewal, a CSR that has a decision).

Alarms are separate from decisions: if CSRs of one machine have different keys, nothing shows which key is the machine's.

Note that this module util is PRIVATE to the collection.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

from ..base.errors import CollectionError
from ..base.json_objects import mapping as _mapping
from ..base.json_objects import mappings as _objects
from ..base.json_objects import text as _text
from ..base.printable import printable
from ..base.times import time_of, timestamp
from ..nodes.identity import of_another_device
from ..nodes.node import Node
from .pkcs10 import Address, Content, MalformedRequest, read, shown

Decision = Literal["approve", "wait", "refuse", "deny", "ignore"]
State = Literal["pending", "approved", "issued", "denied", "failed"]
Kind = Literal["client", "serving", "other"]
Age = tuple[float, int]
"""Sorts requests by age: seconds of the Unix epoch, resourceVersion."""

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"
NODE_BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
NODE_BOOTSTRAPPER_GROUPS = frozenset(
    {"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts", "system:authenticated"}
)
NODE_PREFIX = "system:node:"
NODES_GROUP = "system:nodes"
USAGES: dict[Kind, tuple[frozenset[str], ...]] = {
    "client": (frozenset({"digital signature", "client auth"}), frozenset({"digital signature", "key encipherment", "client auth"})),
    "serving": (frozenset({"digital signature", "server auth"}), frozenset({"digital signature", "key encipherment", "server auth"})),
    "other": (),
}

# The controller's clock and the cluster's need not agree to the second; cluster-machine-approver allows the same.
CLOCK_TOLERANCE = timedelta(seconds=10)
# kube-controller-manager removes approved requests after an hour, pending ones after a day (csrcleaner).
CLEANED_AFTER = timedelta(hours=1)
RECENT = timedelta(hours=1)
# A kubelet that has a new client certificate files a CSR for an expired serving certificate as soon as it has reported its addresses.
SERVING_FOLLOWS = timedelta(minutes=2)
# A kubelet without an answer files another CSR with another key after this time, and sooner only after a restart.
RETRIED_AFTER = timedelta(minutes=15)
# Prints the SHA-256 of the machine's own key after it has joined. Before that the key is in the kubelet's memory only.
OWN_KEY = (
    "openssl x509 -in /var/lib/kubelet/pki/kubelet-client-current.pem -noout -pubkey | openssl pkey -pubin -outform DER | openssl sha256"
)
# CSRs that the text of an alarm names: a client with the token may file thousands for one machine.
_NAMED = 4
# Names of requests are free text of up to megabytes.
_NAME_LIMIT = 80
# Of an etcd revision, a 64 bit integer.
_VERSION_DIGITS = 19

_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True)
class Machine:
    """A machine of the inventory. `created_at` None: no window of time applies. `device_id`: empty if it is not known.

    `ambiguous`: several different machines have this name, so which of them may join is unknown.
    """

    name: str
    addresses: frozenset[Address]
    created_at: datetime | None
    ambiguous: bool = False
    device_id: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels that its Node gets as soon as it exists."""

    def is_of_an_earlier_one(self, moment: datetime | None) -> bool:
        """Return whether a CSR or Node of this time belongs to an earlier machine of the same name."""
        return bool(self.created_at and moment and moment < self.created_at - CLOCK_TOLERANCE)


@dataclass(frozen=True)
class Policy:
    """The settings of the rules. Times are in seconds; `window` 0 means no limit.

    `recover_nodes`: machines with a Node that is unreachable may get another client certificate.
    `deny_refused`: refused CSRs are denied instead of left pending.
    """

    machines: Mapping[str, Machine]
    additional_addresses: frozenset[Address]
    window: float
    short_names: bool
    pending_limit: int
    second_key_after: float
    recover_nodes: bool
    deny_refused: bool


@dataclass(frozen=True)
class Request:
    """One CSR with the results of the rules that need no other object. `fault`: the rule it breaks. `foreign`: why it is not decided here.
    `not_yet`: why it waits. `late`: the reason to refuse it unless its Node is recovered. `first_version`: the resourceVersion when it was
    first read, since a decision increases it.

    Neither the request's bytes nor the object are kept, so ten thousand take a few megabytes.
    """

    name: str
    uid: str
    resource_version: str
    first_version: int
    signer: str
    kind: Kind
    requestor: str
    node: str
    state: State
    filed_at: datetime | None
    decided_at: datetime | None
    key: str
    fault: str
    foreign: str
    not_yet: str
    late: str

    @property
    def label(self) -> str:
        """Its name, printable: the API server accepts any characters, and any number of them."""
        return printable(self.name, _NAME_LIMIT)

    @property
    def identity(self) -> str:
        """The node whose certificate filed it (authenticated by the API server), empty for any other requestor."""
        return self.requestor.removeprefix(NODE_PREFIX) if self.requestor.startswith(NODE_PREFIX) else ""

    @property
    def is_answered(self) -> bool:
        """Return whether it was approved, or denied by an administrator without breaking a rule. A denied CSR that breaks a rule does not
        count: with it, a client with the token could outdate the machine's own CSR.
        """
        return self.state in ("approved", "issued") or (self.state in ("denied", "failed") and not self.fault)

    @property
    def age(self) -> Age:
        """The sort key of a machine's CSRs, oldest first. Times have whole seconds, so the version breaks ties."""
        return (self.filed_at.timestamp() if self.filed_at else 0.0, self.first_version)

    @property
    def order(self) -> tuple[Age, str]:
        """As `age`, but unique."""
        return (self.age, self.name)

    def seen_before(self, earlier: Request | None) -> Request:
        """Return this request with the `first_version` of an earlier read."""
        return self if earlier is None else replace(self, first_version=min(self.first_version, earlier.first_version))


@dataclass(frozen=True)
class Verdict:
    request: Request
    decision: Decision
    reason: str

    @property
    def is_admitted(self) -> bool:
        """Return whether a certificate was or will be issued for it."""
        return self.decision == "approve" or self.request.state in ("approved", "issued")

    def result(self) -> dict[str, str]:
        words = {"approve": "approved", "wait": "pending", "refuse": "pending", "deny": "denied", "ignore": "ignored"}
        return {
            "name": self.request.label,
            "signer": printable(self.request.signer),
            "node": printable(self.request.node),
            "verdict": words[self.decision],
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Alarm:
    """CSRs with different keys for one machine, oldest first. Either its kubelet was restarted while it waited, or another client has the
    bootstrap token: the CSRs do not show which.
    """

    node: str
    verdicts: tuple[Verdict, ...]

    @property
    def subject(self) -> str:
        """The machine and its approved CSRs. An alarm with the same subject is not shown again, even if more CSRs are filed."""
        return " ".join([self.node, *(verdict.request.uid for verdict in self.verdicts if verdict.is_admitted)])

    @property
    def message(self) -> str:
        named = sorted(self.verdicts, key=lambda verdict: not verdict.is_admitted)[:_NAMED]
        more = f" and {len(self.verdicts) - len(named)} more" if len(self.verdicts) > len(named) else ""
        requests = ", ".join(f"{verdict.request.label} ({'approved' if verdict.is_admitted else 'pending'})" for verdict in named)
        return (
            f"CSRs with different keys were filed for node {self.node}: {requests}{more}."
            " Usual after a restart; otherwise compare the node's key (docs/joining.md)"
        )

    def result(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "requests": [
                {
                    "name": verdict.request.label,
                    "filed_at": timestamp(verdict.request.filed_at) if verdict.request.filed_at else "",
                    "key": verdict.request.key,
                    "approved": verdict.is_admitted,
                }
                for verdict in self.verdicts
            ],
            "message": self.message,
            "key_command": OWN_KEY,
        }


POLICY_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "additional_addresses": {"type": "list", "elements": "str", "default": []},
    "window": {"type": "float", "default": 7200},
    "short_names": {"type": "bool", "default": False},
    "pending_limit": {"type": "int"},
    "second_key_after": {"type": "float", "default": 60, "no_log": False},
    "recover_nodes": {"type": "bool", "default": False},
}
"""Options of ``csr_approval`` by which requests are judged, also in a status, which decides nothing."""


def policy(options: Mapping[str, Any]) -> Policy:
    """Return the policy of a module's options. Raises CollectionError with all problems of the options."""
    problems: list[str] = []
    machines: dict[str, Machine] = {}
    for number, machine_options in enumerate(options["machines"]):
        name = str(machine_options.get("name") or "")
        if not _NODE_NAME.fullmatch(name) or len(name) > 253:
            problems.append(f"machines[{number}].name: {shown(name)} is not a node name (lower case letters, digits, hyphens, dots)")
            continue
        created_at = time_of(machine_options.get("created_at"))
        if machine_options.get("created_at") and created_at is None:
            problems.append(
                f"machines[{number}].created_at: {shown(machine_options['created_at'])} is not a time like 2026-03-01T12:00:00Z"
            )
        addresses = _addresses(machine_options.get("addresses") or [], f"machines[{number}].addresses", problems)
        labels = tuple(sorted((str(label), str(value)) for label, value in (machine_options.get("labels") or {}).items()))
        machine = Machine(name, addresses, created_at, device_id=str(machine_options.get("id") or ""), labels=labels)
        # If two devices have one host name, neither may join, but all other machines may.
        machines[name] = machine if machines.get(name, machine) == machine else replace(machine, ambiguous=True)
    additional = _addresses(options.get("additional_addresses") or [], "additional_addresses", problems)
    problems += [
        f"{name}: {options[name]!r} is not a number of seconds from {least} on"
        for name, least in (("window", 0), ("second_key_after", 0), ("watch_timeout", 1))
        if name in options and not least <= options[name] < math.inf
    ]
    if problems:
        raise CollectionError("Cannot judge certificate requests with these options: " + "; ".join(problems))
    limit = options.get("pending_limit")
    return Policy(
        machines=machines,
        additional_addresses=additional,
        window=float(options["window"]),
        short_names=bool(options.get("short_names")),
        # A kubelet files another CSR every 15 minutes, so four or five an hour are normal; cluster-machine-approver uses 100, too.
        pending_limit=int(limit) if limit is not None else 10 * len(machines) + 100,
        second_key_after=float(options["second_key_after"]),
        recover_nodes=bool(options.get("recover_nodes")),
        deny_refused=bool(options.get("deny_refused")),
    )


def _addresses(texts: Iterable[Any], where: str, problems: list[str]) -> frozenset[Address]:
    addresses: set[Address] = set()
    for text in texts:
        try:
            addresses.add(ipaddress.ip_address(str(text)))
        except ValueError:
            problems.append(f"{where}: {shown(text)} is not an IP address")
    return frozenset(addresses)


def pending_client_requests(objects: Iterable[Any]) -> dict[str, Request]:
    """Return the newest pending client CSR for each node name, of any client: no rule is applied."""
    no_machines = policy({"machines": [], "window": 0, "second_key_after": 0})
    requests = (assess(obj, no_machines) for obj in objects)
    pending = [request for request in requests if request.kind == "client" and request.state == "pending" and request.node]
    return {request.node: request for request in sorted(pending, key=lambda request: request.order)}


def _texts(value: Any) -> list[str]:
    """Return a list of strings; other items become texts that no rule accepts."""
    return [item if isinstance(item, str) else f"(not a string: {item!r})" for item in value] if isinstance(value, list) else []


def assess(obj: Any, rules: Policy) -> Request:
    """Return a CertificateSigningRequest with the results of all rules that need no other object. Never raises."""
    metadata, spec, status = (_mapping(_mapping(obj).get(key)) for key in ("metadata", "spec", "status"))
    signer, requestor = _text(spec.get("signerName")), _text(spec.get("username"))
    kind: Kind = "client" if signer == CLIENT_SIGNER else "serving" if signer == SERVING_SIGNER else "other"
    filed_at = time_of(metadata.get("creationTimestamp"))
    state, decided_at = _state(status)
    version = _text(metadata.get("resourceVersion"))

    fault = foreign = not_yet = late = node = key = ""
    if kind == "other":
        foreign = f"signer {shown(signer)} is not one of the two that a joining kubelet uses"
    elif kind == "client" and requestor.startswith(NODE_PREFIX):
        node = requestor.removeprefix(NODE_PREFIX)
        foreign = "a joined node renews its client certificate; the cluster itself approves that"
    else:
        try:
            content = read(_pem(spec.get("request")))
            node, key = _node_name(content), content.key
            fault = next(_faults(kind, spec, content), "")
            machine = rules.machines.get(node)
            if not fault and machine is None:
                fault = _unexpected_name(node, rules)
            elif not fault and machine and kind == "client":
                fault, late = next(_client_faults(content, machine, filed_at), ""), _late(machine, filed_at, rules)
                if not rules.recover_nodes:
                    fault, late = fault or late, ""
            elif not fault and machine:
                fault = next(_serving_faults(content, machine, rules), "")
                unknown = _unknown(content, machine, rules)
                if unknown and not fault:
                    not_yet = f"the addresses of {machine.name} are not known yet, it asks for {', '.join(unknown)}"
            if machine and machine.ambiguous and not fault:
                not_yet = f"{_several(machine)}: which of them may join is not known"
        except MalformedRequest as problem:
            fault = str(problem)
            node = node or (requestor.removeprefix(NODE_PREFIX) if kind == "serving" and requestor.startswith(NODE_PREFIX) else "")
    return Request(
        name=_text(metadata.get("name")),
        uid=_text(metadata.get("uid")),
        resource_version=version,
        first_version=int(version) if version.isdecimal() and len(version) <= _VERSION_DIGITS else 0,
        signer=signer,
        kind=kind,
        requestor=requestor,
        node=node,
        state=state,
        filed_at=filed_at,
        decided_at=decided_at,
        key=key,
        fault=fault,
        foreign=foreign,
        not_yet=not_yet,
        late=late,
    )


def _state(status: Mapping[str, Any]) -> tuple[State, datetime | None]:
    """Return the state and the time of the decision. A CSR without conditions is pending; a certificate counts only together with Approved
    (Kubernetes certificates API).
    """
    conditions = {str(condition.get("type")): condition for condition in _objects(status.get("conditions"))}
    if not status.get("conditions") and not status.get("certificate"):
        return "pending", None
    for denied in ("Denied", "Failed"):
        if denied in conditions:
            return ("denied" if denied == "Denied" else "failed"), time_of(conditions[denied].get("lastUpdateTime"))
    if "Approved" in conditions:
        return ("issued" if status.get("certificate") else "approved"), time_of(conditions["Approved"].get("lastUpdateTime"))
    return "failed", None


def _pem(value: Any) -> bytes:
    if not isinstance(value, str) or not value:
        raise MalformedRequest("it holds no request")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise MalformedRequest("its request is not base64") from problem


def _node_name(content: Content) -> str:
    """Return the node name in a CSR's subject, also of a subject that breaks a rule, for messages."""
    for common_name in content.common_names:
        if common_name.startswith(NODE_PREFIX):
            return common_name.removeprefix(NODE_PREFIX)
    return ""


def _faults(kind: Kind, spec: Mapping[str, Any], content: Content) -> Iterator[str]:
    """Yield the rules that a CSR breaks for any machine. The first one is reported."""
    usages, groups, requestor = _texts(spec.get("usages")), _texts(spec.get("groups")), _text(spec.get("username"))
    if frozenset(usages) not in USAGES[kind] or len(set(usages)) != len(usages):
        expected = " or ".join(str(sorted(choice)) for choice in USAGES[kind])
        yield f"its usages are {shown(sorted(usages))}, a kubelet asks for {expected}"
    if kind == "client":
        if requestor != NODE_BOOTSTRAPPER:
            yield f"it was filed by {shown(requestor)}, first certificates are asked for by the node-bootstrapper"
        if frozenset(groups) != NODE_BOOTSTRAPPER_GROUPS or len(groups) != len(NODE_BOOTSTRAPPER_GROUPS):
            yield f"the requestor's groups are {shown(sorted(groups), 300)}, not exactly those of the node-bootstrapper"
    else:
        if not requestor.startswith(NODE_PREFIX):
            yield f"it was filed by {shown(requestor)}, serving certificates are asked for by the node itself"
        if not {NODES_GROUP, "system:authenticated"} <= set(groups):
            yield f"the requestor's groups are {shown(sorted(groups), 300)}, a node's have system:nodes and system:authenticated"
        if content.common_names != (requestor,):
            yield f"it names {shown(', '.join(content.common_names))} but was filed by {shown(requestor)}"
    if content.organizations != (NODES_GROUP,):
        yield f"its organization is {shown(list(content.organizations))}, exactly system:nodes is required"
    if len(content.common_names) != 1 or not content.common_names[0].startswith(NODE_PREFIX):
        yield f"its common name is {shown(list(content.common_names))}, exactly one system:node:<name> is required"


def _unexpected_name(node: str, rules: Policy) -> str:
    """Return why a name is not that of an expected machine."""
    for name in rules.machines:
        if name.lower() == node.strip().rstrip(".").lower():
            return f"{shown(node)} is not written as the machine's name {name} is"
        if name.split(".")[0] == node:
            return f"{shown(node)} is only the short name of {name}; the full name is expected"
    return f"no expected machine has the name {shown(node)}"


def _client_faults(content: Content, machine: Machine, filed_at: datetime | None) -> Iterator[str]:
    """Yield the rules for this machine that a client CSR breaks."""
    if content.dns_names or content.addresses:
        yield f"a client certificate has no alternative names, this asks for {_names(content)}"
    if machine.created_at is None:
        return
    if filed_at is None:
        yield "it does not say when it was filed"
        return
    if filed_at < machine.created_at - CLOCK_TOLERANCE:
        yield f"it was filed at {timestamp(filed_at)}, before the machine was created at {timestamp(machine.created_at)}"


def _late(machine: Machine, filed_at: datetime | None, rules: Policy) -> str:
    """Return why a machine's first CSR was filed too late; empty if it was not."""
    if machine.created_at is None or filed_at is None or not rules.window:
        return ""
    late = (filed_at - machine.created_at).total_seconds()
    if late <= rules.window:
        return ""
    return (
        f"it was filed {late:.0f} s after the machine was created, the window is {rules.window:.0f} s"
        " (name the machine without created_at, or widen window, when it is known to be late)"
    )


def _serving_faults(content: Content, machine: Machine, rules: Policy) -> Iterator[str]:
    """Yield the rules for this machine that a serving CSR breaks."""
    if not content.dns_names and not content.addresses:
        yield "a serving certificate needs at least one name or address"
    accepted = {machine.name, machine.name.split(".")[0]} if rules.short_names else {machine.name}
    foreign = [shown(name) for name in content.dns_names if name not in accepted]
    if foreign:
        yield f"the name {', '.join(foreign)} is not {machine.name}"
    unknown = _unknown(content, machine, rules)
    if unknown and machine.addresses:
        known = ", ".join(sorted(str(address) for address in machine.addresses))
        yield f"the address {', '.join(unknown)} is none of {machine.name} ({known}) nor an additional one"


def _unknown(content: Content, machine: Machine, rules: Policy) -> list[str]:
    return [str(address) for address in content.addresses if address not in machine.addresses | rules.additional_addresses]


def _several(machine: Machine) -> str:
    return f"several machines with different data have the name {machine.name} (delete all but one of these devices)"


def _names(content: Content) -> str:
    return shown(", ".join([*content.dns_names, *(str(address) for address in content.addresses)]))


@dataclass(frozen=True)
class Past:
    """What is remembered of a machine's name, since CSRs and Nodes are deleted sooner or later.

    `joined_at`: when the newest of its Nodes was registered, or its own node identity last filed a request. `answered`: when its newest
    client request was filed that was approved, or denied by an administrator.
    """

    joined_at: datetime | None = None
    answered: datetime | None = None

    def merged(self, other: Past) -> Past:
        """Return the newer time of each field."""
        return Past(
            max((moment for moment in (self.joined_at, other.joined_at) if moment), default=None),
            max((moment for moment in (self.answered, other.answered) if moment), default=None),
        )


NO_PAST = Past()


def remember(past: Mapping[str, Past], requests: Iterable[Request], nodes: Iterable[Node], rules: Policy) -> dict[str, Past]:
    """Return the past of the policy's machines, with what these requests and Nodes add.

    Any CSR filed by system:node:<name> proves that the name has joined: the API server has verified its certificate.
    """
    known = dict(past)

    def add(name: str, **news: Any) -> None:
        if name in rules.machines:
            known[name] = known.get(name, NO_PAST).merged(Past(**news))

    for request in requests:
        if request.identity:
            add(request.identity, joined_at=request.filed_at)
        if request.kind == "client" and not request.foreign and request.is_answered:
            add(request.node, answered=request.filed_at)
    for node in nodes:
        add(node.name, joined_at=node.created_at)
    return known


@dataclass(frozen=True)
class _Context:
    """What the rules need besides the CSR: other CSRs, Nodes, the past and the time."""

    rules: Policy
    nodes: frozenset[str]
    silent: frozenset[str]
    newest: Mapping[tuple[Kind, str], Request]
    answered: Mapping[str, Sequence[Request]]
    last_answered: Mapping[tuple[Kind, str], Request]
    past: Mapping[str, Past]
    now: datetime


def decide(  # noqa: PLR0913, PLR0917 - all that a decision depends on
    requests: Iterable[Request],
    rules: Policy,
    nodes: Iterable[str],
    now: datetime,
    silent: Iterable[str] = (),
    past: Mapping[str, Past] | None = None,
) -> list[Verdict]:
    """Return the decision on every CSR of the cluster. `nodes`: names of all Nodes; `silent`: of those that are unreachable; `past`: what
    is remembered of machines, without what `requests` prove.
    """
    requests = list(requests)
    newest: dict[tuple[Kind, str], Request] = {}
    answered: dict[str, list[Request]] = {}
    last_answered: dict[tuple[Kind, str], Request] = {}
    for request in requests:
        if request.foreign:
            continue
        if request.state == "pending" and not request.fault:
            best = newest.get((request.kind, request.node))
            if best is None or request.order > best.order:
                newest[(request.kind, request.node)] = request
        elif request.is_answered and not _before(request, rules):
            last = last_answered.get((request.kind, request.node))
            if last is None or request.order > last.order:
                last_answered[(request.kind, request.node)] = request
            if request.kind == "client" and request.state in ("approved", "issued"):
                answered.setdefault(request.node, []).append(request)
    known = remember(past or {}, requests, (), rules)
    context = _Context(rules, frozenset(nodes), frozenset(silent), newest, answered, last_answered, known, now)
    flooded = too_many(requests, rules, now)
    verdicts = []
    for request in requests:
        decision, reason = _alone(request) or _together(request, context)
        if decision == "approve" and flooded:
            decision, reason = "wait", flooded
        elif decision == "refuse" and rules.deny_refused and not request.not_yet:
            decision = "deny"
        verdicts.append(Verdict(request, decision, reason))
    return verdicts


def too_many(requests: Iterable[Request], rules: Policy, now: datetime) -> str:
    """Return why nothing is approved now, since more CSRs are pending than the limit; empty if not."""
    recent = sum(1 for request in requests if _counts(request, now))
    if recent <= rules.pending_limit:
        return ""
    return (
        f"{recent} requests of kubelets of the last hour are pending, more than the limit of {rules.pending_limit}:"
        " nothing is approved until an administrator has checked them (pending_limit)"
    )


def _counts(request: Request, now: datetime) -> bool:
    return request.state == "pending" and not request.foreign and (request.filed_at is None or now - request.filed_at < RECENT)


def _before(request: Request, rules: Policy) -> bool:
    """Return whether a CSR belongs to an earlier machine of the same name."""
    machine = rules.machines.get(request.node)
    return machine is not None and machine.is_of_an_earlier_one(request.filed_at)


_DECIDED: dict[State, str] = {
    "approved": "approved already, not issued yet",
    "issued": "approved and issued already",
    "denied": "denied already",
    "failed": "failed at the signer",
}


def _alone(request: Request) -> tuple[Decision, str] | None:
    if request.foreign:
        return "ignore", request.foreign
    if request.state != "pending":
        return "ignore", _DECIDED[request.state]
    if request.fault:
        return "refuse", request.fault
    if request.not_yet:
        return "wait", request.not_yet
    return None


def _older_than_an_answered_one(request: Request, context: _Context) -> str:
    """Return why a CSR is outdated, since a later one of the same machine was answered; empty if none was. The machine's kubelet does not
    have the key of an outdated CSR any more.
    """
    last = context.last_answered.get((request.kind, request.node))
    if last is not None and last.age > request.age:
        return (
            f"{last.label} of the same machine was filed later and {'approved' if last.state == 'issued' else last.state};"
            " a kubelet that files another request has forgotten its older key"
        )
    answered = context.past.get(request.node, NO_PAST).answered if request.kind == "client" else None
    known = last is not None and last.filed_at == answered
    if answered is not None and not known and (request.filed_at is None or request.filed_at <= answered):
        return (
            f"a request of the same machine that was filed later, at {timestamp(answered)}, was answered;"
            " a kubelet that files another request has forgotten its older key"
        )
    return ""


def _key_of_a_joined_machine(request: Request, context: _Context) -> tuple[Decision, str]:
    """Decide on a client CSR of a joined machine. One older than the approved CSR is outdated, or of another client (see `alarms`)."""
    if older := _older_than_an_answered_one(request, context):
        return "wait", older
    return "refuse", (
        f"the node {request.node} has joined already, a second key for it is not approved"
        " (if its certificate ended while the cluster was off, set recover_nodes; if the machine was replaced, remove its old Node)"
    )


def _of_a_known_node(request: Request, context: _Context) -> tuple[Decision, str]:
    """Decide on a client CSR for an existing Node: its certificate expired while it was off, or the client is unauthorized."""
    name, newest = request.node, context.newest[(request.kind, request.node)]
    if not context.rules.recover_nodes or (name not in context.silent and context.answered.get(name)):
        return _key_of_a_joined_machine(request, context)
    if name not in context.silent:
        return (
            "wait",
            f"the kubelet of node {name} reports, so it needs no other certificate; if it is off, the cluster notices within a minute",
        )
    if request.key != newest.key:
        return "wait", _superseded(newest)
    decision, reason = _first_or_second_key(request, context)
    if decision == "approve":
        reason = f"another certificate of the expected machine {name}, whose node exists and is unreachable (recover_nodes)"
    return decision, reason


def _superseded(newest: Request) -> str:
    return f"{newest.label} of the same machine is newer; a kubelet that asks again has forgotten its older key"


def _together(request: Request, context: _Context) -> tuple[Decision, str]:
    """Decide on a CSR that breaks no rule, by the other CSRs and the Nodes."""
    name = request.node
    newest = context.newest[(request.kind, name)]
    if request.kind == "client":
        return _of_a_known_node(request, context) if name in context.nodes else _of_a_new_node(request, context)
    if request is not newest:
        return "wait", _superseded(newest)
    if older := _older_than_an_answered_one(request, context):
        return "wait", older
    if name not in context.nodes:
        return "wait", f"the node {name} is not registered yet"
    return "approve", f"serving certificate of the expected machine {name} for names and addresses that are its own"


def _deleted(name: str, past: Past) -> str:
    return f"the machine {name} had joined by {timestamp(past.joined_at)} and its Node was deleted" if past.joined_at else ""


def has_joined(machine: Machine, past: Past) -> bool:
    """Return whether this machine is known to have joined, and not an earlier one of its name."""
    return past.joined_at is not None and not machine.is_of_an_earlier_one(past.joined_at)


def _of_a_new_node(request: Request, context: _Context) -> tuple[Decision, str]:
    """Decide on a client CSR for a machine without a Node: it has not joined yet, or its Node was deleted."""
    name, newest = request.node, context.newest[(request.kind, request.node)]
    past = context.past.get(name, NO_PAST)
    joined = has_joined(context.rules.machines[name], past)
    if joined and not context.rules.recover_nodes:
        if older := _older_than_an_answered_one(request, context):
            return "wait", older
        return "refuse", (
            f"{_deleted(name, past)}: a second key for it is not approved"
            " (its kubelet keeps its certificate and registers again when it is restarted; if the certificate is lost, set recover_nodes)"
        )
    if request.late and not joined:
        return "refuse", request.late
    # A copy of its own request, however new, is no reason: a kubelet waits for its own object.
    if request.key != newest.key:
        return "wait", _superseded(newest)
    decision, reason = _first_or_second_key(request, context)
    if joined and decision == "approve":
        reason = f"another certificate of the expected machine {name}, which had joined and whose Node was deleted (recover_nodes)"
    return decision, reason


def _first_or_second_key(request: Request, context: _Context) -> tuple[Decision, str]:
    """Decide on a CSR whose key may differ from an approved one. A kubelet restarted before it got its certificate has another key,
    which is approved after the first one had time to register.

    Without that time a client with the bootstrap token could get a certificate between an approval and the registration of the Node. A CSR
    older than an answered one is never approved.
    """
    name, patience = request.node, context.rules.second_key_after
    if same := next((earlier for earlier in context.answered.get(name, ()) if earlier.key == request.key), None):
        # A copy of a machine's request, filed by another client with the bootstrap token, must not leave the machine without an answer:
        # its kubelet waits for its own object. Without the key the certificate is of no use.
        return "approve", f"expected machine {name}; {same.label} with the same key was approved"
    if older := _older_than_an_answered_one(request, context):
        return "wait", older
    others = [earlier for earlier in context.answered.get(name, ()) if earlier.key != request.key]
    if not others:
        return "approve", f"first certificate of the expected machine {name}"
    last = max(others, key=lambda earlier: earlier.decided_at or datetime.min.replace(tzinfo=UTC))
    age = (context.now - last.decided_at).total_seconds() if last.decided_at else patience
    if age < patience:
        return "wait", (
            f"{last.label} of the same machine was approved {max(age, 0):.0f} s ago with another key;"
            f" its node is given {patience:.0f} s to register before another key is taken"
        )
    return "approve", f"expected machine {name}; {last.label} was approved earlier with another key, but its node never registered"


def alarms(verdicts: Iterable[Verdict], rules: Policy) -> list[Alarm]:
    """Return an alarm for each machine with CSRs of different keys that a waiting kubelet does not file: sooner than its next try, or after
    an approval. Refused and denied CSRs are reported as such, not here.
    """
    asked: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        request = verdict.request
        if request.kind != "client" or request.foreign or request.node not in rules.machines or _before(request, rules):
            continue
        if verdict.is_admitted or (request.state == "pending" and not request.fault):
            asked.setdefault(request.node, []).append(verdict)
    ordered = {node: tuple(sorted(requests, key=lambda verdict: verdict.request.order)) for node, requests in asked.items()}
    return [Alarm(node, requests) for node, requests in ordered.items() if _with_another_key(requests)]


def _with_another_key(ordered: Iterable[Verdict]) -> bool:
    answered: set[str] = set()
    for earlier, later in pairwise(ordered):
        if earlier.is_admitted:
            answered.add(earlier.request.key)
        if answered - {later.request.key}:
            return True
        if earlier.request.key != later.request.key and _sooner(earlier.request, later.request):
            return True
    return False


def _sooner(earlier: Request, later: Request) -> bool:
    """Return whether the later CSR was filed before a waiting kubelet would file another one."""
    return not (earlier.filed_at and later.filed_at) or later.filed_at - earlier.filed_at < RETRIED_AFTER


def missing(machine: Machine, node: Node | None, verdicts: Iterable[Verdict], now: datetime, past: Past = NO_PAST) -> str:
    """Return why a machine has not joined yet, without its name; empty if it has.

    It has joined if its Node is Ready and its serving certificate is issued. Approved CSRs are removed after an hour, so for an older Node
    the absence of a pending CSR proves the same: a kubelet without the certificate files one every 15 minutes. A Node with a second client
    certificate may need another serving certificate too, and gets time to file that CSR. A Node that registered and reported only before
    the machine was created is that of an earlier machine of its name. A Node that records another device is none of this machine.
    """
    mine = [verdict for verdict in verdicts if verdict.request.node == machine.name and not verdict.request.foreign]
    client = [verdict for verdict in mine if verdict.request.kind == "client"]
    if node is None:
        return _missing_client(machine, client, past)
    if another := of_another_device(node.device_id, machine.device_id):
        return f"the Node of its name is of another device: {another}"
    if machine.is_of_an_earlier_one(node.created_at) and machine.is_of_an_earlier_one(node.heard_at):
        registered = timestamp(node.created_at or now)
        return f"the Node of an earlier machine of its name is still there, registered at {registered}: delete that Node"
    serving = [verdict for verdict in mine if verdict.request.kind == "serving" and verdict.request.requestor == NODE_PREFIX + machine.name]
    since, limit = node.created_at or now, CLEANED_AFTER
    recovered = [verdict.request.decided_at for verdict in client if _recovers(verdict.request, since) and verdict.request.decided_at]
    if recovered:
        since, limit = max(recovered), SERVING_FOLLOWS
    issued = any(
        verdict.request.state == "issued" and (verdict.request.filed_at is None or verdict.request.filed_at >= since - CLOCK_TOLERANCE)
        for verdict in serving
    )
    pending = [verdict for verdict in serving if verdict.request.state == "pending"]
    lacks = []
    if not node.ready:
        lacks.append(f"its node is not Ready: {node.message}")
        lacks += _pending_text([verdict for verdict in client if verdict.decision in ("wait", "refuse")])
    if not issued and (pending or now - since < limit):
        lacks.append(_missing_serving(serving, pending))
    return "; ".join(lacks)


def _recovers(request: Request, since: datetime) -> bool:
    """Return whether a client CSR was filed after its Node was created, and approved."""
    return request.state in ("approved", "issued") and request.filed_at is not None and request.filed_at > since


def _pending_text(pending: list[Verdict]) -> list[str]:
    """Return the newest CSR that may be approved later, or else the newest refused one, with its reason."""
    if not pending:
        return []
    latest = max([verdict for verdict in pending if verdict.decision == "wait"] or pending, key=lambda verdict: verdict.request.order)
    return [f"{latest.request.label} stays pending: {latest.reason}"]


def _missing_client(machine: Machine, client: list[Verdict], past: Past) -> str:
    if has_joined(machine, past):
        return f"{_deleted(machine.name, past)}: restart its kubelet, or replace the machine"
    for text in _pending_text([verdict for verdict in client if verdict.decision in ("wait", "refuse")]):
        return f"it has not joined, {text}"
    if machine.ambiguous:
        return _several(machine)
    if any(verdict.decision == "approve" or verdict.request.state in ("approved", "issued") for verdict in client):
        return "its client certificate is approved, its node has not registered yet"
    return "it has not asked for a certificate yet"


def _missing_serving(serving: list[Verdict], pending: list[Verdict]) -> str:
    if any(verdict.decision == "approve" or verdict.request.state == "approved" for verdict in serving):
        return "its serving certificate is approved, not issued yet"
    if pending:
        latest = max(pending, key=lambda verdict: verdict.request.order)
        return f"its serving certificate is pending, {latest.request.label} stays pending: {latest.reason}"
    return "its node has not asked for a serving certificate yet"
