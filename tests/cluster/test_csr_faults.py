"""csr_approval when the cluster's API refuses, fails or becomes silent: an error with one CSR delays no other, and the approver goes on."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.conftest import Play
from tests.cluster.control_plane import NODES, REQUESTS, ControlPlane
from tests.cluster.test_csr_approval import labelled, options
from tests.contract.front import ClusterFront
from tests.eventually import until
from tests.unit.plugins.module_utils.csr_cases import OTHER, WORKER, client, dns, key, made, serving

Start = Callable[..., Callable[[], dict[str, Any]]]

FORBIDDEN = {"status": 403, "body": {"kind": "Status", "code": 403, "message": "admission webhook says no"}}


@pytest.fixture
def front(cluster: ControlPlane) -> Iterator[ClusterFront]:
    with ClusterFront(cluster).serving() as proxy:
        yield proxy


def through(front: ClusterFront, cluster: ControlPlane, **changes: Any) -> dict[str, Any]:
    return options(cluster, api_addresses=[front.address], **changes)


WAITING: dict[str, Any] = {"wait": True, "wait_timeout": 60, "wait_interval": 1}


def register_and_ask(cluster: ControlPlane, name: str) -> None:
    """What a kubelet does once its client certificate is there."""
    cluster.register(name)
    spec = serving(made(f"system:node:{name}", names=dns(name)))["spec"]
    cluster.file(f"serving-{name}", spec, node=name).raise_for_status()


def joined(cluster: ControlPlane, ended: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a module after the machine has joined, without which it does not end."""
    register_and_ask(cluster, WORKER)
    result = ended()
    assert not result["failed"], result["msg"]
    return result


@pytest.mark.parametrize("code", [500, 403, 429, 410])
def test_an_error_event_of_a_watch_is_followed_by_a_list(cluster: ControlPlane, front: ClusterFront, start: Start, code: int) -> None:
    for _watch in range(2):
        front.begin_watch_with({"type": "ERROR", "object": {"kind": "Status", "code": code, "message": "etcdserver: leader changed"}})
    ended = start("csr_approval", **through(front, cluster, of=1, **WAITING))
    until(lambda: front.watches() > 0 and front.next_event() is None)
    cluster.file("good", client()["spec"]).raise_for_status()
    until(lambda: "good" in cluster.approved())
    result = joined(cluster, ended)
    assert result["joined"] == [WORKER]


def test_a_refused_watch_delays_no_approval(cluster: ControlPlane, front: ClusterFront, start: Start) -> None:
    """The requests are listed instead. A kubelet that restarts, in the same second too, gets a certificate for its new key."""
    front.meet({"method": "GET", "path": "watch=true", **FORBIDDEN, "times": None})
    ended = start("csr_approval", **through(front, cluster, of=1, second_key_after=0, **WAITING))
    for name in ("first", "second"):
        cluster.file(name, client(made(signed_with=key(name)))["spec"]).raise_for_status()
        until(lambda name=name: name in cluster.approved())  # type: ignore[misc]
    joined(cluster, ended)


def test_labels_that_are_refused_are_sent_again_and_delay_no_other(cluster: ControlPlane, front: ClusterFront, start: Start) -> None:
    """Such as by a webhook: the answers 500 and 503 count as none."""
    front.meet({"method": "PATCH", "path": f"/nodes/{WORKER}$", **FORBIDDEN, "times": 2})
    front.meet({"method": "PATCH", "path": f"/nodes/{OTHER}$", "status": 503, "body": "no", "times": 1})
    for name in (WORKER, OTHER):
        register_and_ask(cluster, name)
        cluster.report(name, ready=False)
    ended = start("csr_approval", **labelled(through(front, cluster, **WAITING)))
    until(lambda: all("team" in item["metadata"]["labels"] for item in cluster.call("GET", NODES).json()["items"]))
    for name in (WORKER, OTHER):
        cluster.report(name, ready=True)
    result = ended()
    assert not result["failed"], result["msg"]
    assert sorted(result["labelled"]) == sorted((WORKER, OTHER))
    assert "has not got its labels yet" in " ".join(result["output"].split())


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_list_that_is_refused_for_some_time_is_retried(cluster: ControlPlane, front: ClusterFront, start: Start, status: int) -> None:
    """While a cluster starts its roles are not there yet, and certificates are exchanged."""
    body = {"kind": "Status", "code": status, "message": "not now"}
    front.meet({"method": "GET", "path": "certificatesigningrequests$", "status": status, "body": body, "times": 3})
    cluster.file("good", client()["spec"]).raise_for_status()
    ended = start("csr_approval", **through(front, cluster, of=1, **WAITING))
    until(lambda: "good" in cluster.approved())
    joined(cluster, ended)


def test_a_csr_that_cannot_be_approved_delays_no_other(cluster: ControlPlane, front: ClusterFront, start: Start) -> None:
    front.meet({"method": "PATCH", "path": "/bad/approval$", **FORBIDDEN, "times": None})
    cluster.file("bad", client()["spec"]).raise_for_status()
    ended = start("csr_approval", **through(front, cluster, progress_interval=1, **WAITING))
    until(lambda: front.hits() > 0)
    cluster.file("good", client(made(f"system:node:{OTHER}"))["spec"]).raise_for_status()
    until(lambda: "good" in cluster.approved())
    register_and_ask(cluster, OTHER)
    until(lambda: f"serving-{OTHER}" in cluster.approved())
    front.well()
    # It is tried again, now and then.
    until(lambda: "bad" in cluster.approved())
    result = joined(cluster, ended)
    assert sorted(result["joined"]) == [WORKER, OTHER]
    assert result["output"].count(f"[WARNING]: could not approve bad of {WORKER}: Cannot decide on the certificate request bad") == 1
    assert "admission webhook says no" in result["output"]
    attempts = [each for each in front.journal() if each["method"] == "PATCH" and each["path"].startswith(f"{REQUESTS}/bad/")]
    assert len(attempts) < 20, "it is not sent at every poll"


def test_an_approval_without_effect_is_sent_again(cluster: ControlPlane, front: ClusterFront, start: Start) -> None:
    """As a proxy or a webhook may answer: 200, and the request stays as it was."""
    body = {"kind": "CertificateSigningRequest", "metadata": {"name": "good"}, "status": {}}
    front.meet({"method": "PATCH", "path": "/good/approval$", "status": 200, "body": body, "times": 2})
    cluster.file("good", client()["spec"]).raise_for_status()
    ended = start("csr_approval", **through(front, cluster, of=1, **WAITING))
    until(lambda: "good" in cluster.approved())
    result = joined(cluster, ended)
    assert result["approved"] == ["good", f"serving-{WORKER}"]


UNAUTHORIZED = {"status": 401, "body": {"message": "Unauthorized"}}


@pytest.mark.parametrize(
    "fault",
    [
        FORBIDDEN,
        UNAUTHORIZED,
        {"cut": "before"},
        {"status": 500, "body": "no"},
        {"method": "GET", "path": f"/nodes/{WORKER}$", "cut": "before"},
    ],
    ids=["403", "401", "cut", "500", "its Node is not read"],
)
def test_without_wait_an_error_returns_approved_and_failed_csrs(
    cluster: ControlPlane, front: ClusterFront, run: Play, fault: dict[str, Any]
) -> None:
    front.meet({"method": "PATCH", "path": "/bad/approval$", **fault, "times": None})
    cluster.file("bad", client()["spec"]).raise_for_status()
    cluster.file("good", client(made(f"system:node:{OTHER}"))["spec"]).raise_for_status()
    result = run("csr_approval", **through(front, cluster))
    assert result["failed"]
    assert result["changed"]
    assert result["approved"] == ["good"] == list(cluster.approved())
    assert "could not approve bad" in result["msg"].lower() or "certificate request bad" in result["msg"]
    assert {entry["name"]: entry["verdict"] for entry in result["verdicts"]} == {"bad": "pending", "good": "approved"}


def test_denials_are_sent_after_approvals_and_retried(cluster: ControlPlane, front: ClusterFront, start: Start) -> None:
    for number in range(5):
        cluster.file(f"stranger-{number}", client(made("system:node:stranger.demo.metal.test"))["spec"]).raise_for_status()
    cluster.file("good", client()["spec"]).raise_for_status()
    front.meet({"method": "PATCH", "path": "/stranger-0/approval$", **FORBIDDEN, "times": 1})
    ended = start("csr_approval", **through(front, cluster, of=1, deny_refused=True, **WAITING))

    def denied(name: str) -> bool:
        return any(condition["type"] == "Denied" for condition in cluster.requests()[name]["status"].get("conditions", []))

    until(lambda: denied("stranger-0"))
    answers = [each["path"].split("/")[-2] for each in front.journal() if each["method"] == "PATCH"]
    assert answers[0] == "good"
    assert answers.count("stranger-0") == 2
    register_and_ask(cluster, WORKER)
    result = ended()
    assert sorted(result["denied"]) == [f"stranger-{number}" for number in range(5)]


def test_csrs_that_the_cluster_removed_stay_in_the_result(cluster: ControlPlane, start: Start) -> None:
    """It removes approved requests after an hour."""
    ended = start("csr_approval", **options(cluster, of=1, progress_interval=300, **WAITING))
    cluster.file("good", client()["spec"]).raise_for_status()
    until(lambda: "good" in cluster.approved())
    cluster.call("DELETE", f"{REQUESTS}/good").raise_for_status()
    register_and_ask(cluster, WORKER)
    result = ended()
    assert f"approved: good of {WORKER}: first certificate of the expected machine {WORKER}" in result["output"]
    assert "None" not in result["output"]
    (verdict,) = [entry for entry in result["verdicts"] if entry["name"] == "good"]
    assert (verdict["verdict"], verdict["node"]) == ("approved", WORKER)


def test_a_silent_watch_is_replaced_after_its_timeout(cluster: ControlPlane, front: ClusterFront, start: Start) -> None:
    """Nothing comes through it any more and it stays open, as behind a proxy that forgot the connection: it was 247 s without approvals."""
    ended = start("csr_approval", **through(front, cluster, of=1, watch_timeout=3, **{**WAITING, "wait_timeout": 110}))
    until(lambda: front.watches() > 0)
    assert front.silence_watches() == 1
    cluster.file("good", client()["spec"]).raise_for_status()
    until(lambda: "good" in cluster.approved())
    joined(cluster, ended)


def test_names_of_csrs_cannot_forge_an_output_line(cluster: ControlPlane, play: Play) -> None:
    """An API server takes every character for the name of a request."""
    evil = "csr\x1b[2K\r\n[WARNING]: approved: all \u202e"
    answer = cluster.file(evil, client(made("system:node:stranger\x1b[2K", signed_with=key("evil")))["spec"])
    assert answer.status_code == 201, answer.text
    assert cluster.file("long-" + "x" * 3000, client(made("system:node:stranger"))["spec"]).status_code == 201
    assert cluster.file("\u202egood", client()["spec"]).status_code == 201
    result = play("csr_approval", **options(cluster, deny_refused=True))
    assert not result["failed"], result["msg"]
    assert len(cluster.approved()) == 1
    assert result["approved"] == ["\\u202egood"]
    for line in result["output"].splitlines():
        assert line.isprintable(), line
        assert len(line) < 1000
        assert not line.startswith("[WARNING]: approved")
    assert "[WARNING]: certificate request csr\\x1b[2K\\r\\n[WARNING]: approved: all \\u202e for node" in result["output"]
