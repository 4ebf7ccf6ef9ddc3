"""Decisions on certificate requests: what a kubelet sends is approved, and nothing that only looks like it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.times import time_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import (
    OWN_KEY,
    Alarm,
    Past,
    Policy,
    Verdict,
    alarms,
    assess,
    decide,
    missing,
    policy,
    remember,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.watch import Backoff
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.node import read_node

from . import csr_cases as cases
from .csr_cases import ADDRESS, CASES, FILED, OTHER, PRIVATE, SIX, VIRTUAL, WORKER, answered, client, dns, ips, key, made, serving

NOW = datetime(2026, 3, 1, 12, 25, 1, tzinfo=UTC)


def rules(**changes: Any) -> Policy:
    machines = [{"name": name, "addresses": given, "created_at": cases.CREATED} for name, given in cases.MACHINES.items()]
    options = {"machines": machines, "additional_addresses": [VIRTUAL], "window": 7200, "second_key_after": 60, "pending_limit": None}
    return policy({**options, **changes})


def judged(
    *objects: Any,
    nodes: tuple[str, ...] = (),
    silent: tuple[str, ...] = (),
    now: datetime = NOW,
    past: Mapping[str, Past] | None = None,
    **changes: Any,
) -> list[Verdict]:
    given = rules(**changes)
    return decide([assess(obj, given) for obj in objects], given, nodes, now, silent, past)


def decision(verdict: Verdict) -> str:
    return f"{verdict.decision}: {verdict.reason}"


def judged_case(case: cases.Case) -> Verdict:
    (verdict,) = judged(case.obj(), nodes=case.nodes, past={name: Past(joined_at=time_of(cases.JOINED)) for name in case.joined})
    return verdict


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_malformed_and_hostile_csrs_stay_pending_with_their_reason(case: cases.Case) -> None:
    verdict = judged_case(case)
    assert verdict.decision == ("ignore" if case.word.startswith("ignored: ") else "refuse"), decision(verdict)
    assert re.search(case.word.removeprefix("ignored: "), verdict.reason), verdict.reason
    assert verdict.reason.isprintable()


@pytest.mark.parametrize(
    ("obj", "nodes"),
    [
        (client, ()),
        (lambda: client(usages=["client auth", "key encipherment", "digital signature"]), ()),
        (lambda: client(made(signed_with=key("rsa", "RSA2048"))), ()),
        (lambda: client(groups=list(reversed(cases.GROUPS))), ()),
        (lambda: client(cases.pem(cases.by_hand())), ()),
        (lambda: client(extra={"a": ["b"]}, uid="x", expirationSeconds=86400), ()),
        (serving, (WORKER,)),
        (lambda: serving(made(names=dns(WORKER))), (WORKER,)),
        (lambda: serving(made(names=ips(ADDRESS, PRIVATE, SIX))), (WORKER,)),
        (lambda: serving(made(names=dns(WORKER) + ips(ADDRESS, VIRTUAL))), (WORKER,)),
        (lambda: serving(groups=["system:nodes", "system:authenticated", "x"]), (WORKER,)),
    ],
)
def test_what_kubelets_send_is_approved(obj: Any, nodes: tuple[str, ...]) -> None:
    (verdict,) = judged(obj(), nodes=nodes)
    assert verdict.decision == "approve", verdict.reason
    assert verdict.request.node == WORKER


# As the API server returned them, of the kubelet of Kubernetes 1.34.4, which runs in tests/containers.
RECORDED = json.loads((Path(__file__).parent / "kubelet_requests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("kind", "nodes"), [("client", ()), ("serving", (WORKER,))])
def test_what_a_real_kubelet_sent_is_approved(kind: str, nodes: tuple[str, ...]) -> None:
    machine = {"name": WORKER, "addresses": ["127.68.216.5"], "created_at": RECORDED["client"]["metadata"]["creationTimestamp"]}
    (verdict,) = judged(RECORDED[kind], nodes=nodes, machines=[machine])
    assert verdict.decision == "approve", verdict.reason
    assert (verdict.request.kind, verdict.request.node) == (kind, WORKER)


def test_a_name_longer_than_a_common_name_should_be_is_approved() -> None:
    """X.520 ends a common name at 64 characters; kubelets and the signer do not."""
    name = f"{'worker-0' * 7}.demo.metal.test"
    (verdict,) = judged(client(cases.pem(cases.by_hand(named=cases.subject(f"system:node:{name}")))), machines=[{"name": name}])
    assert verdict.decision == "approve", verdict.reason


def test_short_names_are_approved_on_request() -> None:
    obj = serving(made(names=dns(WORKER, "worker-0")))
    assert judged(obj, nodes=(WORKER,), short_names=True)[0].decision == "approve"
    assert judged(obj, nodes=(WORKER,))[0].decision == "refuse"


def test_a_machine_without_a_creation_time_may_join_at_any_time() -> None:
    obj = client(filed="2027-01-01T00:00:00Z")
    assert judged(obj, machines=[{"name": WORKER, "addresses": []}])[0].decision == "approve"
    assert judged(obj, window=0)[0].decision == "approve"
    assert judged(obj)[0].decision == "refuse"


def test_a_pending_condition_is_no_refusal() -> None:
    assert decision(judged(serving())[0]) == f"wait: the node {WORKER} is not registered yet"
    (verdict,) = judged(serving(), nodes=(WORKER,), machines=[{"name": WORKER, "addresses": []}])
    assert verdict.decision == "wait"
    assert "not known yet" in verdict.reason


@pytest.mark.parametrize(
    ("obj", "word"),
    [
        (client(signerName="kubernetes.io/kube-apiserver-client", username=f"system:node:{WORKER}"), "not one of the two"),
        (client(signerName="example.com/mine"), "not one of the two"),
        (client(username=f"system:node:{WORKER}", groups=cases.NODE_GROUPS), "renews"),
        (answered(client()), "issued already"),
        (answered(client(), issued=False), "not issued yet"),
        (client(status={"conditions": [{"type": "Denied", "status": "True"}]}), "denied"),
        (client(status={"conditions": [{"type": "Approved"}, {"type": "Failed"}]}), "failed"),
        (client(status={"certificate": "eA=="}), "failed"),
    ],
)
def test_csrs_of_other_signers_and_renewals_are_ignored(obj: Any, word: str) -> None:
    (verdict,) = judged(obj)
    assert verdict.decision == "ignore"
    assert word in verdict.reason


# --- several requests seen together ----------------------------------------------------------------------------------------------


def first(name: str, filed: str, version: str = "4711") -> dict[str, Any]:
    """A request for the first certificate, each with a key of its own."""
    return client(made(signed_with=key(name)), name=f"csr-{name}", filed=f"2026-03-01T{filed}Z", version=version)


def let_in(obj: dict[str, Any]) -> dict[str, Any]:
    return answered(obj, at=obj["metadata"]["creationTimestamp"])


DENIED = {"status": {"conditions": [{"type": "Denied", "status": "True"}]}}
HOSTILE = client(made(names=ips(ADDRESS)), name="csr-hostile", filed="2026-03-01T12:24:00Z")
GONE = answered(client(made(signed_with=key("gone")), name="csr-gone", filed="2026-03-01T11:59:00Z"), at="2026-03-01T12:24:59Z")
SEVERAL: dict[str, tuple[tuple[dict[str, Any], ...], list[str]]] = {
    "of two that wait the newest": ((first("old", "12:10:00"), first("new", "12:25:00")), ["wait", "approve"]),
    "of the same second the later version": ((first("z", "12:25:00", "99"), first("a", "12:25:00", "101")), ["wait", "approve"]),
    "a hostile newer one": ((first("good", "12:20:00"), HOSTILE), ["approve", "refuse"]),
    "a certificate that was never fetched": ((let_in(first("a", "12:10:00")), first("restarted", "12:25:00")), ["ignore", "approve"]),
    "the same key again, at once": ((answered(client(name="csr-1"), at=FILED), client(name="csr-2")), ["ignore", "approve"]),
    "an earlier machine of the same name": ((GONE, client(name="csr-2")), ["ignore", "approve"]),
    "a newer one after a denied one": (({**first("a", "12:10:00"), **DENIED}, first("b", "12:11:00")), ["ignore", "approve"]),
    # Otherwise a client with the token could have a machine's own CSR denied, with deny_refused.
    "a denied one that breaks a rule": ((first("real", "12:20:00"), {**HOSTILE, **DENIED}), ["approve", "ignore"]),
}


@pytest.mark.parametrize(("objects", "decisions"), SEVERAL.values(), ids=SEVERAL)
def test_of_several_requests_of_a_machine_the_newest_is_approved(objects: tuple[dict[str, Any], ...], decisions: list[str]) -> None:
    verdicts = judged(*objects)
    assert [verdict.decision for verdict in verdicts] == decisions
    if decisions == ["wait", "approve"]:
        assert verdicts[1].request.name in verdicts[0].reason


@pytest.mark.parametrize(
    "objects",
    [
        (first("old", "12:10:00"), let_in(first("new", "12:25:00"))),
        (serving(name="csr-old", filed="2026-03-01T12:20:00Z"), answered(serving(name="csr-new", filed="2026-03-01T12:24:00Z"))),
    ],
    ids=["client", "serving"],
)
def test_an_older_request_of_a_machine_that_has_joined_waits(objects: tuple[dict[str, Any], ...]) -> None:
    older, _newer = judged(*objects, nodes=(WORKER,))
    assert older.decision == "wait"
    assert "csr-new" in older.reason


def test_a_second_key_right_after_an_approval_waits_for_the_node() -> None:
    earlier = answered(client(name="csr-1"), at=FILED)
    again = client(made(signed_with=key("somebody")), name="csr-2")
    assert judged(earlier, again)[1].decision == "wait"
    assert judged(earlier, again, now=NOW + timedelta(seconds=61))[1].decision == "approve"
    assert judged(earlier, again, nodes=(WORKER,), now=NOW + timedelta(seconds=61))[1].decision == "refuse"


@pytest.mark.parametrize(
    "state",
    [
        {"conditions": [{"type": "Approved", "status": "True", "lastUpdateTime": "2026-03-01T12:20:00Z"}], "certificate": "eA=="},
        {"conditions": [{"type": "Approved", "status": "True", "lastUpdateTime": "2026-03-01T12:20:00Z"}]},
        {"conditions": [{"type": "Denied", "status": "True", "lastUpdateTime": "2026-03-01T12:20:00Z"}]},
        {"conditions": [{"type": "Approved", "status": "True"}, {"type": "Failed", "status": "True"}]},
    ],
    ids=["issued", "approved", "denied", "failed"],
)
def test_nothing_older_than_an_answered_request_is_approved(state: dict[str, Any]) -> None:
    """Five keys that were older than an approved one got five certificates, one after the other."""
    older = [first(f"older-{number}", f"12:0{number}:00") for number in range(1, 6)]
    newer = {**first("newer", "12:10:00"), "status": state}
    verdicts = judged(*older, newer, now=NOW + timedelta(hours=1))[:-1]
    assert [verdict.decision for verdict in verdicts] == ["wait"] * 5
    assert "csr-newer of the same machine was filed later" in verdicts[-1].reason


@pytest.mark.parametrize(("condition", "decision"), [("Approved", "approve"), ("Denied", "wait")])
def test_the_own_request_of_a_machine_is_answered_after_a_newer_copy_of_it(condition: str, decision: str) -> None:
    """Whoever has the bootstrap token can file a machine's bytes again. The machine waits for its own object, and only it has the key."""
    own = client(made(signed_with=key("own")), name="csr-own", filed="2026-03-01T12:09:00Z")
    copy = client(made(signed_with=key("own")), name="csr-copy", filed="2026-03-01T12:10:00Z")
    copy["status"] = {"conditions": [{"type": condition, "status": "True", "lastUpdateTime": "2026-03-01T12:20:00Z"}]}
    assert judged(own, copy, now=NOW + timedelta(hours=1))[0].decision == decision


def test_the_own_request_of_a_machine_is_answered_whatever_copies_of_it_follow() -> None:
    """One copy a poll, each approved, would keep the machine out for ever, and copies are no second key that an alarm names."""
    own, copy, newest = (
        client(made(signed_with=key("own")), name=f"csr-{name}", filed=f"2026-03-01T12:{minute}:00Z")
        for name, minute in (("own", "09"), ("copy", "10"), ("newest", "11"))
    )
    assert [verdict.decision for verdict in judged(own, let_in(copy), newest)] == ["approve", "ignore", "approve"]


def test_within_one_second_an_answer_makes_no_request_newer() -> None:
    """Times have whole seconds, and an answer changes the version."""
    given = rules()
    first_one, second = (assess(first(name, "12:20:00", version), given) for name, version in (("a", "100"), ("b", "101")))
    changed = assess(let_in(first("a", "12:20:00", "105")), given).seen_before(first_one)
    assert (changed.resource_version, changed.order < second.order) == ("105", True)
    verdict = decide([changed, second], given, (), NOW + timedelta(hours=1))[1]
    assert verdict.decision == "approve"
    # Seen for the first time after the answer it could be either: then it is taken for the older one.
    verdict = decide([assess(let_in(first("a", "12:20:00", "105")), given), second], given, (), NOW + timedelta(hours=1))[1]
    assert verdict.decision == "wait"


def test_an_answer_is_remembered_when_the_cluster_has_removed_the_request() -> None:
    """Approved requests are removed after an hour, pending ones after a day."""
    given = rules()
    past = remember({}, [assess(let_in(first("newer", "12:20:00")), given)], (), given)
    older, later = judged(first("older", "12:10:00"), first("later", "12:30:00"), past=past)
    assert (older.decision, later.decision) == ("wait", "approve")
    (verdict,) = judged(first("older", "12:10:00"), past=past)
    assert verdict.decision == "wait"
    assert "2026-03-01T12:20:00Z, was answered" in verdict.reason


# --- a machine that has joined, without its Node ------------------------------------------------------------------------------------

REPLACED = "2026-03-01T13:00:00Z"
LATER_ON = datetime(2026, 3, 1, 13, 20, tzinfo=UTC)
FOREIGN = client(made(signed_with=key("foreign")), name="csr-foreign", filed="2026-03-01T12:40:00Z")
RENEWAL = client(username=f"system:node:{WORKER}", groups=cases.NODE_GROUPS, name="csr-renewal", filed="2026-03-01T12:30:00Z")
OTHER_SIGNER = {
    **client(signerName="kubernetes.io/kube-apiserver-client", username=f"system:node:{WORKER}", name="csr-ovn"),
    "metadata": {"name": "csr-ovn", "creationTimestamp": "2026-03-01T12:30:00Z"},
}


@pytest.mark.parametrize(
    "proof",
    [serving(), answered(serving()), serving(made(names=ips("192.0.2.1"))), RENEWAL, OTHER_SIGNER],
    ids=["a serving request", "an issued one", "a refused one", "a renewal", "a request to another signer"],
)
def test_a_machine_that_filed_a_csr_as_the_node_has_joined(proof: dict[str, Any]) -> None:
    """The API server has seen the node's certificate: the machine is not new, though there is no Node of it (any more)."""
    for order in ((proof, FOREIGN), (FOREIGN, proof)):
        verdict = next(verdict for verdict in judged(*order) if verdict.request.name == "csr-foreign")
        assert verdict.decision == "refuse", decision(verdict)
        assert "had joined by" in verdict.reason
        assert "its Node was deleted" in verdict.reason


def test_a_csr_filed_by_another_node_is_no_proof_of_joining() -> None:
    other = serving(made(f"system:node:{OTHER}", names=dns(OTHER)), username=f"system:node:{OTHER}")
    assert judged(other, FOREIGN)[1].decision == "approve"
    # The name in it is free text, who filed it is not.
    assert judged(serving(username=f"system:node:{OTHER}"), FOREIGN)[1].decision == "approve"


def test_a_machine_whose_node_was_there_is_not_new() -> None:
    given = rules()
    past = remember({}, (), [read_node(node(created="2026-03-01T12:26:00Z"))], given)
    assert judged(FOREIGN, past=past)[0].decision == "refuse"
    assert judged(FOREIGN, past=past, deny_refused=True)[0].decision == "deny"
    # Without a creation time it cannot be distinguished from the one that had joined.
    assert judged(FOREIGN, past=past, machines=[{"name": WORKER, "addresses": []}])[0].decision == "refuse"
    text = missing(given.machines[WORKER], None, judged(FOREIGN, past=past), NOW, past[WORKER])
    assert text.startswith(f"the machine {WORKER} had joined by 2026-03-01T12:26:00Z and its Node was deleted: restart its kubelet")


def test_a_replaced_machine_of_the_same_name_is_new() -> None:
    """Its device was created after the Node of the one before, and after what that has filed."""
    old = [answered(client(name="csr-1")), answered(serving(name="csr-2", filed="2026-03-01T12:26:00Z")), FOREIGN]
    past = remember({}, (), [read_node(node(created="2026-03-01T12:26:00Z"))], rules())
    fresh = client(made(signed_with=key("fresh")), name="csr-fresh", filed="2026-03-01T13:19:00Z")
    machines = [{"name": WORKER, "addresses": [ADDRESS], "created_at": REPLACED}]
    verdicts = {verdict.request.name: verdict for verdict in judged(*old, fresh, now=LATER_ON, past=past, machines=machines)}
    assert verdicts["csr-fresh"].decision == "approve", verdicts["csr-fresh"].reason
    assert verdicts["csr-foreign"].decision == "refuse", "it is for the machine before"
    # Not before the Node of the one before was removed.
    with_node = judged(*old, fresh, nodes=(WORKER,), now=LATER_ON, past=past, machines=machines)
    assert [verdict.decision for verdict in with_node if verdict.request.name == "csr-fresh"] == ["refuse"]


def test_a_machine_without_certificate_and_node_is_recovered_on_request() -> None:
    past = {WORKER: Past(joined_at=time_of("2026-03-01T12:26:00Z"))}
    asked = client(made(signed_with=key("recovered")), filed=ASKED)
    (verdict,) = judged(asked, now=LATER, past=past, recover_nodes=True)
    assert verdict.decision == "approve"
    assert "recover_nodes" in verdict.reason
    assert judged(asked, now=LATER, past=past, window=0)[0].decision == "refuse"


def test_the_history_keeps_the_newest_csr_of_each_machine() -> None:
    given = rules()
    early, late = let_in(first("a", "12:10:00")), let_in(first("b", "12:20:00"))
    past = remember({}, [assess(late, given)], [read_node(node(created="2026-03-01T12:30:00Z"))], given)
    again = remember(past, [assess(early, given)], [read_node(node(created="2026-03-01T12:25:00Z"))], given)
    assert again == past
    foreign = [assess(client(made("system:node:x"), status=late["status"]), given), assess(serving(username="system:node:x"), given)]
    assert remember({}, foreign, (), given) == {}, "nothing is kept of names that are no machine's"


def test_two_machines_of_one_name_block_only_each_other() -> None:
    """Two devices of one host name at the provider: which of them may join nobody knows, and the others do not wait for that."""
    twice = [{"name": WORKER, "addresses": [ADDRESS]}, {"name": WORKER, "addresses": [PRIVATE]}, {"name": OTHER, "addresses": []}]
    other = client(made(f"system:node:{OTHER}"), name="csr-other")
    for machines in (twice, [*twice, twice[0]]):
        verdicts = judged(client(), other, machines=machines, deny_refused=True)
        assert [verdict.decision for verdict in verdicts] == ["wait", "approve"]
        assert "several machines" in verdicts[0].reason
        machine = rules(machines=machines).machines[WORKER]
        assert "several machines" in missing(machine, None, (), NOW)
        assert "several machines" in judged(serving(made(names=dns(WORKER))), nodes=(WORKER,), machines=machines)[0].reason
    assert judged(client(), machines=[twice[0], twice[0]])[0].decision == "approve", "the same one twice is one"


# --- another key: a restarted kubelet, or an unauthorized client -------------------------------------------------------------------


def alarmed(*objects: Any, **changes: Any) -> list[Alarm]:
    return alarms(judged(*objects, **changes), rules(**changes))


IMPOSTORS = {
    "the machine first, both wait": (first("real", "12:20:00"), first("evil", "12:20:01")),
    "the machine first, in the same second": (first("real", "12:20:00", "99"), first("evil", "12:20:00", "101")),
    "the machine first, and the other one is in": (first("real", "12:20:00"), let_in(first("evil", "12:20:01"))),
    "the machine first, it asks again": (first("real", "12:00:00"), let_in(first("evil", "12:10:00")), first("again", "12:15:05")),
    "the machine first, it is in": (let_in(first("real", "12:20:00")), first("evil", "12:20:01")),
    "the other one first, both wait": (first("evil", "12:20:00"), first("real", "12:34:59")),
    "the other one first, and it is in": (let_in(first("evil", "12:20:00")), first("real", "12:20:01")),
    "the other one first, and it is in for long": (let_in(first("evil", "12:01:00")), first("real", "12:25:00")),
    "the other one first, with its key twice": (
        let_in(first("evil", "12:01:00")),
        client(made(signed_with=key("evil")), name="csr-twice", filed="2026-03-01T12:02:00Z"),
        first("real", "12:25:00"),
    ),
    "both are in": (let_in(first("evil", "12:01:00")), let_in(first("real", "12:25:00"))),
}


@pytest.mark.parametrize("nodes", [(), (WORKER,)], ids=["no Node", "a Node"])
@pytest.mark.parametrize("objects", IMPOSTORS.values(), ids=IMPOSTORS)
def test_two_keys_for_one_machine_are_an_alarm(objects: tuple[dict[str, Any], ...], nodes: tuple[str, ...]) -> None:
    """In whatever order the cluster lists them."""
    for order in (objects, objects[::-1]):
        (alarm,) = alarms(judged(*order, nodes=nodes), rules())
        assert alarm.node == WORKER
        assert [request["name"] for request in alarm.result()["requests"]] == [obj["metadata"]["name"] for obj in objects]


NO_ALARM: dict[str, tuple[dict[str, Any], ...]] = {
    "one that waits": (first("a", "12:20:00"),),
    "one that is in": (let_in(first("a", "12:20:00")),),
    "asked again after a quarter of an hour": (first("a", "12:05:00"), first("b", "12:20:02"), let_in(first("c", "12:35:05"))),
    "the same key again": (first("a", "12:20:00"), client(made(signed_with=key("a")), name="csr-b")),
    "an earlier machine of the same name": (let_in(first("gone", "11:50:00")), first("a", "12:20:00")),
    "a CSR that breaks a rule": (first("a", "12:20:00"), client(made(names=ips(ADDRESS), signed_with=key("b")), name="csr-b")),
    "what was denied": (
        first("a", "12:20:00"),
        {**first("b", "12:20:01"), "status": {"conditions": [{"type": "Denied", "status": "True"}]}},
    ),
    "two machines": (first("a", "12:20:00"), client(made(f"system:node:{OTHER}", signed_with=key("b")), name="csr-b")),
    "serving certificates": (serving(name="csr-1"), serving(made(names=dns(WORKER), signed_with=key("b")), name="csr-2")),
    "a rogue CSR": (client(made("system:node:x"), name="csr-1"), client(made("system:node:x", signed_with=key("b")), name="csr-2")),
}


@pytest.mark.parametrize("objects", NO_ALARM.values(), ids=NO_ALARM)
def test_the_retries_of_a_waiting_kubelet_are_no_alarm(objects: tuple[dict[str, Any], ...]) -> None:
    assert alarmed(*objects) == []


def test_an_alarm_blocks_no_approval() -> None:
    """A kubelet that restarts while it waits is common at an install, and sends the same."""
    verdicts = judged(first("real", "12:20:00"), let_in(first("again", "12:20:01")), answered(serving()), nodes=(WORKER,))
    assert alarms(verdicts, rules())
    assert [verdict.decision for verdict in verdicts] == ["wait", "ignore", "ignore"]
    assert not missing(rules().machines[WORKER], read_node(node()), verdicts, NOW)


def test_an_alarm_explains_how_to_identify_the_keys() -> None:
    (alarm,) = alarmed(first("real", "12:20:00"), first("evil", "12:20:01"))
    der = key("evil").public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    evil = hashlib.sha256(der).hexdigest()
    real, other = alarm.result()["requests"]
    assert other == {"name": "csr-evil", "filed_at": "2026-03-01T12:20:01Z", "key": evil, "approved": True}
    assert (real["name"], real["approved"]) == ("csr-real", False)
    message = alarm.result()["message"]
    assert message.startswith(f"CSRs with different keys were filed for node {WORKER}: csr-evil (approved), csr-real (pending).")
    assert message.endswith("docs/joining.md)")
    assert len(message) < 250
    assert alarm.result()["key_command"] == OWN_KEY


def test_an_alarm_of_thousands_of_requests_is_one_line() -> None:
    many = [first(f"{number % 2}", "12:20:00", str(number)) for number in range(500)]
    (alarm,) = alarmed(*many, let_in(first("in", "12:20:01")), pending_limit=1000)
    assert len(alarm.result()["requests"]) == 501
    assert alarm.message.index("csr-in (approved") < alarm.message.index("csr-0 (pending")
    assert " and 497 more" in alarm.message
    assert len(alarm.message) < 400


def test_names_of_requests_are_printed_on_one_line_and_cut() -> None:
    """An API server takes any characters for the name of a request (apimachinery: path segment names), and any number of them."""
    evil = "csr-\x1b[2K\n[WARNING]: all is well \u202e" + "x" * 200_000
    older = first("a", "12:20:00", "99")
    newer = first("b", "12:20:01", "101")
    newer["metadata"]["name"] = evil
    verdicts = judged(older, newer)
    (alarm,) = alarms(verdicts, rules())
    serving_of_it = serving(name=evil, username=f"system:node:{evil}", signerName="x" * 300_000)
    texts = [alarm.message, *(text for verdict in judged(older, newer, serving_of_it) for text in verdict.result().values())]
    texts += [missing(rules().machines[WORKER], None, judged(let_in(newer), older), NOW)]
    for text in texts:
        assert text.isprintable(), text
        assert len(text) < 1000
    assert [request["name"] for request in alarm.result()["requests"]] == ["csr-a", verdicts[1].request.label]
    assert verdicts[1].request.name == evil, "the API is asked by the name as it is"


# --- nodes that come back after their certificates have ended -----------------------------------------------------------------------

LATER = datetime(2026, 4, 20, 8, 0, 30, tzinfo=UTC)
ASKED = "2026-04-20T08:00:00Z"


def back(*objects: Any, silent: tuple[str, ...] = (WORKER,), now: datetime = LATER, **changes: Any) -> list[Verdict]:
    return judged(*objects, nodes=(WORKER,), silent=silent, now=now, **{"recover_nodes": True, **changes})


def test_an_unknown_node_is_recovered_on_request_only() -> None:
    obj = client(filed=ASKED)
    (verdict,) = back(obj)
    assert verdict.decision == "approve", verdict.reason
    assert "is unreachable" in verdict.reason
    (verdict,) = back(obj, recover_nodes=False, window=0)
    assert verdict.decision == "refuse"
    assert "recover_nodes" in verdict.reason


def test_a_node_that_reports_is_not_replaced() -> None:
    assert back(client(filed=ASKED), silent=())[0].decision == "wait"
    answer = answered(client(name="csr-1", filed=ASKED), at=ASKED)
    alarm = back(answer, client(made(signed_with=key("somebody")), name="csr-2", filed=ASKED, version="99999"), silent=())[1]
    assert alarm.decision == "refuse"
    assert "has joined already" in alarm.reason


def test_recovery_approves_the_newest_key_and_waits_for_its_node() -> None:
    old = client(made(signed_with=key("first")), name="csr-old", filed="2026-04-20T07:45:00Z")
    new = client(made(signed_with=key("second")), name="csr-new", filed=ASKED)
    assert [verdict.decision for verdict in back(old, new)] == ["wait", "approve"]
    taken = answered(old, at=ASKED)
    assert back(taken, new)[1].decision == "wait"
    assert back(taken, new, now=LATER + timedelta(seconds=31))[1].decision == "approve"


@pytest.mark.parametrize("obj", [client(made(names=ips(ADDRESS)), filed=ASKED), client(filed=ASKED, username="system:admin")])
def test_recovery_loosens_no_other_rule(obj: Any) -> None:
    assert back(obj)[0].decision == "refuse"


def test_recovery_does_not_widen_the_window_of_first_joins() -> None:
    (verdict,) = judged(client(filed=ASKED), now=LATER, recover_nodes=True)
    assert verdict.decision == "refuse"
    assert "window" in verdict.reason


def test_excess_pending_csrs_stop_every_approval() -> None:
    strangers = [client(made(f"system:node:x{number}"), name=f"csr-{number}") for number in range(3)]
    verdicts = judged(*strangers, client(name="csr-good"), pending_limit=3)
    assert [verdict.decision for verdict in verdicts] == ["refuse"] * 3 + ["wait"]
    assert "4 requests" in verdicts[-1].reason
    old = [{**foreign, "metadata": {**foreign["metadata"], "creationTimestamp": "2026-03-01T10:00:00Z"}} for foreign in strangers]
    assert judged(*old, client(name="csr-good"), pending_limit=3)[-1].decision == "approve"


def test_deny_refused_denies_refused_csrs() -> None:
    """And only CSRs that break a rule: those that are early, excess or foreign stay unchanged."""
    malformed = client(made("system:node:x"), name="csr-odd")
    early = serving(made(f"system:node:{OTHER}", names=dns(OTHER)), username=f"system:node:{OTHER}", name="csr-early")
    renewal = client(username=f"system:node:{OTHER}", groups=cases.NODE_GROUPS, name="csr-renewal")
    given = judged(malformed, early, renewal, client(name="csr-good"), deny_refused=True)
    assert [verdict.decision for verdict in given] == ["deny", "wait", "ignore", "approve"]
    assert given[0].result()["verdict"] == "denied"
    assert [verdict.decision for verdict in judged(malformed, client(), deny_refused=True, pending_limit=1)] == ["deny", "wait"]


def test_a_malformed_csr_blocks_no_other() -> None:
    objects = [case.obj() for case in CASES if not case.nodes and not case.joined]
    # Some of them are filed by the node of WORKER itself, which has joined then.
    good = client(made(f"system:node:{OTHER}"), name="csr-good", version="1000")
    verdicts = judged(*objects, good, pending_limit=1000)
    assert [verdict.request.name for verdict in verdicts if verdict.decision == "approve"] == ["csr-good"]


# --- options and results -----------------------------------------------------------------------------------------------------------


def test_all_errors_of_the_options_are_reported_at_once() -> None:
    machines = [
        {"name": "Worker", "addresses": []},
        {"name": "a.b", "addresses": ["999.1.1.1"], "created_at": "yesterday"},
        {"name": "a.b", "addresses": []},
    ]
    with pytest.raises(CollectionError) as problem:
        rules(machines=machines, additional_addresses=["x"])
    for word in ("machines[0].name", "machines[1].addresses", "machines[1].created_at", "additional_addresses"):
        assert word in problem.value.message


@pytest.mark.parametrize("name", ["window", "second_key_after", "watch_timeout"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_malformed_times_are_refused(name: str, value: float) -> None:
    with pytest.raises(CollectionError, match=f"{name}: .* is not a number of seconds"):
        rules(**{name: value})


def test_results_have_the_documented_words() -> None:
    given = judged(client(), client(made("system:node:x"), name="csr-x"), answered(client(name="csr-y")))
    assert [verdict.result()["verdict"] for verdict in given] == ["approved", "pending", "ignored"]
    assert set(given[0].result()) == {"name", "signer", "node", "verdict", "reason"}


# --- joined ------------------------------------------------------------------------------------------------------------------------


def node(*, ready: bool = True, created: str = FILED) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False", "message": "network is not ready"}
    return {"metadata": {"name": WORKER, "creationTimestamp": created}, "status": {"conditions": [condition]}}


def lacks(*objects: Any, node: Any = None, now: datetime = NOW) -> str:
    machine = rules().machines[WORKER]
    names = (WORKER,) if node else ()
    return missing(machine, read_node(node) if node else None, judged(*objects, nodes=names, now=now), now)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (lacks, "not asked"),
        (lambda: lacks(client()), "client certificate is approved"),
        (lambda: lacks(answered(client())), "not registered"),
        (lambda: lacks(client(username="system:admin")), "csr-abcde stays pending: it was filed by"),
        (lambda: lacks(answered(client()), node=node(ready=False)), "network is not ready"),
        (lambda: lacks(answered(client()), node=node()), "not asked for a serving"),
        (lambda: lacks(serving(), node=node()), "approved, not issued"),
        (lambda: lacks(serving(made(names=ips("192.0.2.1"))), node=node()), "192.0.2.1"),
        (lambda: lacks(answered(serving(), issued=False), node=node()), "not issued yet"),
        (lambda: lacks(answered(serving(filed="2026-03-01T12:00:00Z")), node=node()), "not asked for a serving"),
    ],
)
def test_a_machine_reports_what_is_pending(text: Any, word: str) -> None:
    assert word in text()


def test_joined() -> None:
    assert not lacks(answered(serving()), node=node())
    # Approved requests are removed after an hour: a Node older than that without a waiting request has its certificate.
    assert not lacks(node=node(created="2026-03-01T10:00:00Z"))
    assert lacks(serving(made(names=ips("192.0.2.1"))), node=node(created="2026-03-01T10:00:00Z"))


def test_a_recovered_node_is_given_a_moment_to_ask_for_its_serving_certificate() -> None:
    machine, since = rules().machines[WORKER], node(created="2026-03-01T10:00:00Z")
    asked = answered(client(filed="2026-03-01T12:25:00Z"), at="2026-03-01T12:25:01Z")
    old = answered(serving(name="csr-old", filed="2026-03-01T12:20:00Z"))
    fresh = answered(serving(name="csr-fresh", filed="2026-03-01T12:25:05Z"))
    for objects, later, word in (
        ((asked,), 10, "not asked for a serving"),
        ((asked, old), 10, "not asked for a serving"),
        ((asked, fresh), 10, ""),
        # The one it had may be good still: then none is asked for.
        ((asked,), 121, ""),
    ):
        now = NOW + timedelta(seconds=later)
        text = missing(machine, read_node(since), judged(*objects, nodes=(WORKER,), now=now), now)
        assert (word in text) if word else not text, (objects, later, text)


def test_the_node_of_an_earlier_machine_is_not_the_machines_own() -> None:
    """A device that vanished was replaced: its Node is Ready for half a minute more, and was given its certificates."""
    stale = node(created="2026-02-01T10:00:00Z")
    stale["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-03-01T11:59:00Z"
    machine = rules().machines[WORKER]
    assert "Node of an earlier machine" in missing(machine, read_node(stale), (), NOW)
    # The same Node with the machine that was installed anew in its place.
    stale["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-03-01T12:24:00Z"
    assert not missing(machine, read_node(stale), (), NOW)


def test_the_node_of_another_device_is_not_the_machines_own() -> None:
    """It is Ready, and its kubelet reports: the device was renamed, and another one was ordered by its name."""
    machine = replace(rules().machines[WORKER], device_id="B")
    for recorded, text in (
        ("A", "the Node of its name is of another device: it is of device A, and device B has its name now"),
        ("B", ""),
        ("", ""),
    ):
        obj = node(created="2026-03-01T10:00:00Z")
        obj["metadata"]["annotations"] = {DEVICE: recorded} if recorded else {}
        assert missing(machine, read_node(obj), (), NOW) == text


def test_an_unknown_node_is_reported_with_its_pending_csr() -> None:
    state = read_node({"metadata": {"name": WORKER}, "status": {"conditions": [{"type": "Ready", "status": "Unknown", "message": "gone"}]}})
    assert state.unreachable
    assert not read_node(node(ready=False)).unreachable
    text = missing(rules().machines[WORKER], state, judged(client(), nodes=(WORKER,)), NOW)
    assert re.search("not Ready: gone; csr-abcde stays pending: .*recover_nodes", text)


def test_malformed_nodes_are_not_ready() -> None:
    odds: list[Any] = [None, [], {"status": None}, {"metadata": [], "status": {"conditions": [None, {"type": "Ready"}]}}]
    for malformed in odds:
        assert not read_node(malformed).ready


def test_pauses_grow_to_a_limit_and_begin_anew() -> None:
    backoff = Backoff(chance=lambda: 0.0)
    pauses = [backoff.pause() for _each in range(8)]
    assert pauses[:4] == [0.8, 1.6, 3.2, 6.4]
    assert pauses[-1] == Backoff.LONGEST
    backoff.reset()
    assert backoff.pause() == 0.8
    assert max(Backoff(chance=lambda: 1.0).pause() for _each in range(8)) <= Backoff.LONGEST * 1.5
