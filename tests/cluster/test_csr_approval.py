"""csr_approval against a real API server and a real signer: who may join does, and nobody else."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils._cluster_client import ClusterClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import (
    ClusterConflictError,
    ClusterUnreachableError,
    CollectionError,
)
from tests.cluster.conftest import ROOT, Play
from tests.cluster.control_plane import ADDRESS, REQUESTS, SERVER_NAME, ControlPlane, environment
from tests.unit.plugins.module_utils import csr_cases as cases
from tests.unit.plugins.module_utils.csr_cases import CASES, OTHER, WORKER, client, dns, ips, key, made, serving


def options(cluster: ControlPlane, **changes: Any) -> dict[str, Any]:
    created = (datetime.now(UTC) - timedelta(minutes=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    machines = [
        {"name": WORKER, "addresses": [cases.ADDRESS, cases.PRIVATE, cases.SIX], "created_at": created},
        {"name": OTHER, "addresses": [cases.OTHER_ADDRESS], "created_at": created},
    ]
    given = {"kubeconfig": str(cluster.kubeconfig), "api_addresses": [ADDRESS], "machines": machines, "wait": False, "pending_limit": 1000}
    return {**given, **changes}


def fits(case: cases.Case, kind: str) -> bool:
    """Whether the case is one that somebody could file: the server itself writes user, groups and time."""
    obj = case.obj()
    if not isinstance(obj, dict) or not isinstance(obj.get("spec"), dict) or not isinstance(obj.get("metadata"), dict):
        return False
    spec, usual = obj["spec"], (client() if kind == cases.CLIENT else serving())["spec"]
    same = all(spec.get(field) == usual[field] for field in ("username", "groups", "signerName"))
    return same and obj["metadata"]["creationTimestamp"] == cases.FILED and case.title != "the node exists"


@pytest.mark.parametrize("kind", [cases.CLIENT, cases.SERVING])
def test_nothing_odd_or_hostile_is_approved(cluster: ControlPlane, run: Play, kind: str) -> None:
    if kind == cases.SERVING:
        for name in (WORKER, OTHER):
            cluster.register(name)
    filed, refused_by_server = {}, []
    for number, case in enumerate(case for case in CASES if fits(case, kind)):
        answer = cluster.file(f"case-{number}", case.obj()["spec"], node=WORKER if kind == cases.SERVING else None)
        if answer.status_code == 201:
            filed[f"case-{number}"] = case
        else:
            refused_by_server.append(case.title)
    assert len(filed) >= 15, refused_by_server
    result = run("csr_approval", **options(cluster))
    assert not result["failed"], result["msg"]
    assert result["approved"] == []
    assert not result["changed"]
    assert not cluster.approved()
    reasons = {entry["name"]: entry["reason"] for entry in result["refused"]}
    assert set(reasons) == set(filed), "every one is named"
    assert {entry["name"]: entry["verdict"] for entry in result["verdicts"]} == dict.fromkeys(filed, "pending")


def test_a_good_one_among_them_is_approved_signed_and_not_twice(cluster: ControlPlane, run: Play) -> None:
    cluster.file("stranger", client(made("system:node:stranger.demo.metal.test"))["spec"]).raise_for_status()
    cluster.file("foreign", client(made(names=ips("198.51.100.1")))["spec"]).raise_for_status()
    cluster.file("good", client()["spec"]).raise_for_status()

    before = run("csr_approval", "--check", "--diff", **options(cluster))
    assert before["changed"]
    assert before["approved"] == ["good"]
    assert not cluster.approved(), "check mode writes nothing"

    result = run("csr_approval", **options(cluster))
    assert result["approved"] == ["good"]
    assert cluster.approved() == {"good"}
    assert {entry["name"] for entry in result["refused"]} == {"stranger", "foreign"}
    assert result["waiting"][0].startswith(WORKER)
    condition = cluster.requests()["good"]["status"]["conditions"][0]
    assert condition["reason"] == "NodeCSRApprove"
    assert "equinix_metal.openshift" in condition["message"]

    again = run("csr_approval", **options(cluster))
    assert not again["changed"]
    assert again["approved"] == []
    assert {entry["name"]: entry["verdict"] for entry in again["verdicts"]}["good"] == "ignored"


def test_a_machine_joins_while_the_module_follows(cluster: ControlPlane, start: Callable[..., Callable[[], dict[str, Any]]]) -> None:
    only = options(cluster, wait=True, wait_timeout=60, wait_interval=5)
    only["machines"] = only["machines"][:1]
    ended = start("csr_approval", **only)
    time.sleep(3)  # the module is started and follows; there is nothing to be seen of it from outside
    delays = []
    cluster.file("stranger", client(made("system:node:stranger"))["spec"]).raise_for_status()
    for name, spec, node in (("client", client()["spec"], None), ("serving", serving()["spec"], WORKER)):
        if node:
            cluster.register(WORKER, ready=False)
        filed = time.monotonic()
        cluster.file(name, spec, node=node).raise_for_status()
        while name not in cluster.approved():
            assert time.monotonic() - filed < 10
            time.sleep(0.02)
        delays.append(time.monotonic() - filed)
    cluster.report(WORKER, ready=True)
    result = ended()
    assert not result["failed"], result["msg"]
    assert result["joined"] == [WORKER]
    assert result["waiting"] == []
    assert sorted(result["approved"]) == ["client", "serving"]
    assert cluster.approved() == {"client", "serving"}
    assert cluster.requests()["serving"]["status"]["certificate"]
    assert max(delays) < 1, delays


def test_a_second_key_for_a_joined_machine_is_refused(cluster: ControlPlane, run: Play) -> None:
    cluster.register(WORKER)
    cluster.file("again", client(made(signed_with=key("somebody else")))["spec"]).raise_for_status()
    result = run("csr_approval", **options(cluster))
    assert result["approved"] == []
    assert "has joined already" in result["refused"][0]["reason"]


def test_only_the_newest_key_of_a_restarted_kubelet(cluster: ControlPlane, run: Play) -> None:
    for name in ("first", "second", "third"):
        cluster.file(name, client(made(signed_with=key(name)))["spec"]).raise_for_status()
    result = run("csr_approval", **options(cluster))
    assert result["approved"] == ["third"]
    assert result["refused"] == []


def test_time_runs_out_with_what_is_missing(cluster: ControlPlane, run: Play) -> None:
    result = run("csr_approval", **options(cluster, wait=True, wait_timeout=2, wait_interval=1))
    assert result["failed"]
    assert f"{WORKER}: it has not asked for a certificate yet" in result["msg"]
    assert len(result["failure"]["waiting"]) == 2


def test_approval_is_for_exactly_the_request_that_was_judged(cluster: ControlPlane) -> None:
    cluster.file("good", client()["spec"]).raise_for_status()
    seen = cluster.requests()["good"]["metadata"]
    cluster.call("DELETE", f"{REQUESTS}/good").raise_for_status()
    cluster.file("good", client(made("system:node:stranger"))["spec"]).raise_for_status()
    api = ClusterClient(str(cluster.kubeconfig), addresses=[ADDRESS])
    with pytest.raises(ClusterConflictError):
        api.approve("good", seen["uid"], seen["resourceVersion"], reason="x", message="x")
    now = cluster.requests()["good"]["metadata"]
    with pytest.raises(ClusterConflictError):
        api.approve("good", now["uid"], str(int(now["resourceVersion"]) - 1), reason="x", message="x")
    assert not cluster.approved()


def test_nobody_else_can_answer_in_the_clusters_place(cluster: ControlPlane) -> None:
    other = cluster.write_kubeconfig(cluster.directory / "other", server=f"https://api.other.metal.test:{cluster.port}")
    with pytest.raises(ClusterUnreachableError, match=r"api\.other\.metal\.test"):
        ClusterClient(str(other), addresses=[ADDRESS]).version()
    # By its address alone, and past addresses where nobody answers.
    assert ClusterClient(str(cluster.kubeconfig), addresses=["127.64.250.99", ADDRESS]).version().startswith("v1.")
    by_port = cluster.write_kubeconfig(cluster.directory / "by-port", server=f"https://{SERVER_NAME}:6443")
    assert ClusterClient(str(by_port), addresses=[f"{ADDRESS}:{cluster.port}"]).version().startswith("v1.")


def test_a_client_that_only_reads_does_not_write(cluster: ControlPlane) -> None:
    cluster.file("good", client()["spec"]).raise_for_status()
    with pytest.raises(CollectionError, match="only reads"):
        ClusterClient(str(cluster.kubeconfig), addresses=[ADDRESS], read_only=True).approve("good", "", "", reason="x", message="x")


def test_many_pending_requests_are_read_page_by_page(cluster: ControlPlane, run: Play) -> None:
    content = client(made("system:node:stranger"))["spec"]
    for number in range(600):
        cluster.file(f"many-{number}", content).raise_for_status()
    cluster.file("good", client()["spec"]).raise_for_status()
    result = run("csr_approval", **options(cluster, pending_limit=100))
    assert result["approved"] == []
    assert len(result["refused"]) == 600
    assert "601 requests" in next(entry for entry in result["verdicts"] if entry["name"] == "good")["reason"]


def test_names_of_serving_requests_by_another_node(cluster: ControlPlane) -> None:
    # NodeRestriction keeps one node from asking in another's name; should it ever not, the decision is in the unit tests.
    cluster.register(WORKER)
    answer = cluster.file("swapped", serving(made(names=dns(WORKER)))["spec"], node=OTHER)
    assert answer.status_code == 403
    assert base64.b64decode(serving()["spec"]["request"]).startswith(b"-----BEGIN")


def test_slices_of_a_wait_are_shown_and_add_up(cluster: ControlPlane, run: Play) -> None:
    only = options(cluster, wait=True, wait_timeout=7, wait_interval=1, progress_interval=2)
    cluster.file("good", client()["spec"]).raise_for_status()
    cluster.file("stranger", client(made("system:node:stranger.demo.metal.test"))["spec"]).raise_for_status()
    result = run("csr_approval", **only)
    # It fails since no node ever registers; what the first slice approved is in the result all the same.
    assert result["failed"]
    assert result["changed"]
    assert result["approved"] == ["good"]
    assert {entry["name"]: entry["verdict"] for entry in result["verdicts"]} == {"good": "approved", "stranger": "pending"}
    shown = " ".join(result["output"].split())
    assert "approved: good" in shown
    assert "waiting since" in shown
    assert shown.count("certificate request stranger for node 'stranger.demo.metal.test' stays pending: no expected machine") == 1


def test_a_wait_ends_when_the_cluster_is_given_back(
    cluster: ControlPlane, start: Callable[..., Callable[[], dict[str, Any]]], tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_bytes(cluster.kubeconfig.read_bytes())
    cluster.file("good", client()["spec"]).raise_for_status()
    ended = start("csr_approval", **options(cluster, kubeconfig=str(kubeconfig), wait=True, wait_timeout=60, wait_interval=1))
    filed = time.monotonic()
    while "good" not in cluster.approved():
        assert time.monotonic() - filed < 30
        time.sleep(0.05)
    kubeconfig.unlink()
    result = ended()
    assert "is gone" in result["msg"]
    assert result["approved"] == ["good"]


def test_as_a_background_task(cluster: ControlPlane, tmp_path: Path) -> None:
    cluster.file("good", client()["spec"]).raise_for_status()
    tasks = [
        {
            "equinix_metal.openshift.csr_approval": options(cluster, wait=True, wait_timeout=5, wait_interval=1, progress_interval=2),
            "async": 60,
            "poll": 0,
            "register": "job",
        },
        {
            "ansible.builtin.async_status": {"jid": "{{ job.ansible_job_id }}"},
            "register": "ended",
            "until": "ended.finished",
            "retries": 60,
            "delay": 1,
            "failed_when": "ended.approved != ['good'] or 'has not registered' not in ended.msg",
        },
    ]
    play = tmp_path / "play.yml"
    play.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"),
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            str(play),
        ],
        env={**environment(), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_ASYNC_DIR": str(tmp_path / "jobs")},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout
