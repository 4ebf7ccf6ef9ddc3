"""csr_approval against a real API server and signer: only machines of the inventory get certificates."""

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterConflictError, ClusterUnreachableError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import ClusterClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import Past
from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.history import to_text
from tests.cluster.conftest import ROOT, Play
from tests.cluster.control_plane import ADDRESS, CONFIG_MAPS, HISTORY, NODES, REQUESTS, SERVER_NAME, ControlPlane, delays, environment
from tests.eventually import until
from tests.role_play import played
from tests.unit.plugins.module_utils import csr_cases as cases
from tests.unit.plugins.module_utils.csr_cases import CASES, OTHER, WORKER, client, dns, ips, key, made, serving


def options(cluster: ControlPlane, age: timedelta = timedelta(minutes=20), /, *, of: int = 2, **changes: Any) -> dict[str, Any]:
    """Options for machines made so long ago, the first ``of`` of those the table knows."""
    created = (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    machines = [{"name": name, "addresses": given, "created_at": created} for name, given in list(cases.MACHINES.items())[:of]]
    given = {"kubeconfig": str(cluster.kubeconfig), "api_addresses": [ADDRESS], "machines": machines, "wait": False, "pending_limit": 1000}
    return {**given, **changes}


Scene = tuple[bool, bool, str]


def scenes() -> dict[Scene, list[cases.Case]]:
    """Return the cases of the table that a client could file, by whether Nodes are there, or were, and by when the request is filed."""
    found: dict[Scene, list[cases.Case]] = {}
    for case in CASES:
        if case.possible:
            found.setdefault((bool(case.nodes), bool(case.joined), case.obj()["metadata"]["creationTimestamp"]), []).append(case)
    return found


def file_as_requestor(cluster: ControlPlane, name: str, spec: dict[str, Any]) -> httpx.Response:
    """File a CSR as the bootstrapper or the node with its own credentials; other requesters are impersonated."""
    if (spec["username"], spec["groups"]) == (cases.BOOTSTRAPPER, cases.GROUPS):
        return cluster.file(name, spec)
    if spec["username"].startswith("system:node:") and spec["groups"] == cases.NODE_GROUPS:
        return cluster.file(name, spec, node=spec["username"].removeprefix("system:node:"))
    return cluster.file_as(name, spec)


@pytest.mark.parametrize(
    "scene", scenes(), ids=lambda scene: f"{'registered' if scene[0] else 'joined' if scene[1] else 'new'}, filed at {scene[2]}"
)
def test_malformed_and_hostile_csrs_are_not_approved(cluster: ControlPlane, run: Play, scene: Scene) -> None:
    for name in sorted({name for case in scenes()[scene] for name in case.nodes}):
        cluster.register(name)
    filed: dict[str, cases.Case] = {}
    not_taken = []
    for number, case in enumerate(scenes()[scene]):
        answer = file_as_requestor(cluster, f"case-{number}", case.obj()["spec"])
        if answer.status_code == 201:
            filed[f"case-{number}"] = case
        else:
            not_taken.append((case.title, answer.status_code))
    assert sorted(title for title, _status in not_taken) == sorted(case.title for case in scenes()[scene] if case.server)
    assert all(400 <= status < 500 for _title, status in not_taken), not_taken
    # The server writes the time of filing, so the machines are as old as the case has them.
    age = datetime.fromisoformat(scene[2]) - datetime.fromisoformat(cases.CREATED)
    joined_at = datetime.now(UTC) - (datetime.fromisoformat(scene[2]) - datetime.fromisoformat(cases.JOINED))
    cluster.write_history({name: to_text(Past(joined_at)) for case in scenes()[scene] for name in case.joined})
    result = run("csr_approval", **options(cluster, age, of=3, history=HISTORY))
    assert not result["failed"], result["msg"]
    assert result["approved"] == []
    assert not result["changed"]
    assert not cluster.approved()
    assert {entry["name"]: entry["verdict"] for entry in result["verdicts"]} == dict.fromkeys(filed, "pending")
    returned = {entry["name"]: (entry["requestor"], entry["reason"]) for entry in result["refused"]}
    assert set(returned) == set(filed), "every one is named"
    for name, case in filed.items():
        assert returned[name][0] == case.obj()["spec"]["username"]
        assert re.search(case.word, returned[name][1]), (case.title, returned[name])


def test_one_valid_csr_among_others_is_approved_and_signed_once(cluster: ControlPlane, run: Play) -> None:
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


def test_a_watch_approves_the_csrs_of_a_joining_machine(cluster: ControlPlane, start: Callable[..., Callable[[], dict[str, Any]]]) -> None:
    seen = cluster.audited_until()
    ended = start("csr_approval", **options(cluster, of=1, wait=True, wait_timeout=120, wait_interval=5))
    cluster.until_watched("equinix_metal.openshift", seen)
    cluster.file("stranger", client(made("system:node:stranger"))["spec"]).raise_for_status()
    for name, spec, node in (("client", client()["spec"], None), ("serving", serving()["spec"], WORKER)):
        if node:
            cluster.register(WORKER, ready=False)
        cluster.file(name, spec, node=node).raise_for_status()
        until(lambda name=name: name in cluster.approved(), within=30)  # type: ignore[misc]
    cluster.report(WORKER, ready=True)
    result = ended()
    assert not result["failed"], result["msg"]
    assert result["joined"] == [WORKER]
    assert result["waiting"] == []
    assert sorted(result["approved"]) == ["client", "serving"]
    assert cluster.approved() == {"client", "serving"}
    assert cluster.requests()["serving"]["status"]["certificate"]
    # Listed once, when there was none: what is approved came by a watch.
    own = [event for event in cluster.audit(seen) if event["userAgent"] == "equinix_metal.openshift"]
    assert [event["verb"] for event in own if event["objectRef"]["resource"] == "certificatesigningrequests"].count("list") == 1
    took = delays(cluster.audit(seen), "equinix_metal.openshift")
    assert set(took) == {"client", "serving"}
    assert max(took.values()) < 15, took


def test_recover_nodes_approves_the_csr_of_an_unknown_node(cluster: ControlPlane, run: Play) -> None:
    """Its certificates ended while it was off: it asks as a new machine does, under the name of a Node that is there."""
    cluster.register(WORKER, ready=None)
    cluster.file("back", client()["spec"]).raise_for_status()
    left = run("csr_approval", **options(cluster))
    assert left["approved"] == []
    assert "recover_nodes" in left["refused"][0]["reason"]
    assert "back stays pending" in left["waiting"][0]
    cluster.report(WORKER, ready=True)
    assert run("csr_approval", **options(cluster, recover_nodes=True))["approved"] == []
    cluster.report(WORKER, ready=None)
    assert run("csr_approval", **options(cluster, recover_nodes=True))["approved"] == ["back"]
    assert run("csr_approval", **options(cluster, recover_nodes=True))["changed"] is False


def test_five_older_keys_of_a_machine_get_no_certificate(cluster: ControlPlane, run: Play) -> None:
    """Also when the newer one that was approved leads to no Node, and was removed by the cluster since."""
    for name in ("older-1", "older-2", "older-3", "older-4", "older-5", "newer"):
        cluster.file(name, client(made(signed_with=key(name)))["spec"]).raise_for_status()
    given = options(cluster, second_key_after=0, history=HISTORY)
    assert run("csr_approval", **given)["approved"] == ["newer"]
    again = run("csr_approval", **given)
    assert again["approved"] == []
    reasons = {entry["name"]: entry["reason"] for entry in again["verdicts"]}
    assert "newer of the same machine was filed later and approved" in reasons["older-5"]
    filed = cluster.call("GET", f"{REQUESTS}/newer").json()["metadata"]["creationTimestamp"]
    cluster.call("DELETE", f"{REQUESTS}/newer").raise_for_status()
    assert run("csr_approval", **given)["approved"] == []
    # Of a request that is no longer listed only its time is known, in whole seconds.
    until(lambda: datetime.now(UTC) >= datetime.fromisoformat(filed) + timedelta(seconds=1))
    cluster.file("restarted", client(made(signed_with=key("restarted")))["spec"]).raise_for_status()
    assert run("csr_approval", **given)["approved"] == ["restarted"]


def test_a_joined_machine_may_not_join_again_after_its_node_is_deleted(
    cluster: ControlPlane, start: Callable[..., Callable[[], dict[str, Any]]]
) -> None:
    """A foreign request that was refused while there was a Node stays refused; a second machine keeps the wait going."""
    seen = cluster.audited_until()
    ended = start("csr_approval", **options(cluster, wait=True, wait_timeout=60, wait_interval=1, second_key_after=0))
    cluster.until_watched("equinix_metal.openshift", seen)
    cluster.register(WORKER)
    cluster.file("foreign", client(made(signed_with=key("foreign")))["spec"]).raise_for_status()
    cluster.file("serving", serving()["spec"], node=WORKER).raise_for_status()
    until(lambda: "serving" in cluster.approved())
    # It was seen by the module too: what it answers after this is with the Node in mind.
    cluster.forget_node(WORKER)
    cluster.call("DELETE", f"{REQUESTS}/serving").raise_for_status()
    # Whatever comes for the second machine later has been judged together with the foreign request.
    cluster.file("other", client(made(f"system:node:{OTHER}"))["spec"]).raise_for_status()
    until(lambda: "other" in cluster.approved())
    cluster.register(OTHER)
    cluster.file("other-serving", serving(made(f"system:node:{OTHER}", names=dns(OTHER)))["spec"], node=OTHER).raise_for_status()
    until(lambda: "other-serving" in cluster.approved())
    assert "foreign" not in cluster.approved()
    cluster.register(WORKER)
    cluster.file("again", serving()["spec"], node=WORKER).raise_for_status()
    result = ended()
    assert not result["failed"], result["msg"]
    assert sorted(result["approved"]) == ["again", "other", "other-serving", "serving"]
    assert sorted(cluster.approved()) == ["again", "other", "other-serving"]


def test_later_runs_read_which_machines_have_joined(cluster: ControlPlane, run: Play) -> None:
    """By its own request while the cluster has it, and by what was written down; a machine that was created later is another one."""
    cluster.register(WORKER)
    cluster.file("serving", serving()["spec"], node=WORKER).raise_for_status()
    given = options(cluster, history=HISTORY)
    assert run("csr_approval", "--check", **given)["approved"] == ["serving"]
    assert cluster.history() == {}, "check mode writes nothing"
    assert run("csr_approval", **given)["approved"] == ["serving"]
    assert set(cluster.history()) == {WORKER}

    cluster.forget_node(WORKER)
    cluster.file("foreign", client(made(signed_with=key("foreign")))["spec"]).raise_for_status()
    without = run("csr_approval", **options(cluster))
    assert (without["approved"], "its Node was deleted" in without["refused"][0]["reason"]) == ([], True)

    cluster.call("DELETE", f"{REQUESTS}/serving").raise_for_status()
    version = cluster.call("GET", f"{CONFIG_MAPS}/{HISTORY}").json()["metadata"]["resourceVersion"]
    later = run("csr_approval", **given)
    assert (later["approved"], "its Node was deleted" in later["refused"][0]["reason"]) == ([], True)
    assert cluster.call("GET", f"{CONFIG_MAPS}/{HISTORY}").json()["metadata"]["resourceVersion"] == version, "nothing new to write"

    # The clocks' tolerance is ten seconds: it has joined a minute before the machine was created.
    earlier = to_text(Past(datetime.now(UTC) - timedelta(minutes=1)))
    written = {"metadata": {"name": HISTORY}, "data": {WORKER: earlier}}
    cluster.call("PUT", f"{CONFIG_MAPS}/{HISTORY}", written).raise_for_status()
    cluster.file("replaced", client(made(signed_with=key("replaced")))["spec"]).raise_for_status()
    assert run("csr_approval", **{**given, "machines": options(cluster, timedelta(seconds=1))["machines"]})["approved"] == ["replaced"]


def test_csr_approval_without_permission_for_its_history_warns(cluster: ControlPlane, play: Play) -> None:
    # A name no ConfigMap can have: the API server refuses to make it, as it refuses who may not.
    cluster.file("good", client()["spec"]).raise_for_status()
    result = play("csr_approval", **options(cluster, history="No_Such_Name"))
    assert not result["failed"], result["msg"]
    assert result["approved"] == ["good"]
    assert "[WARNING]: machines that have joined are not known to later runs: Cannot write" in result["output"]


def joins(cluster: ControlPlane, run: Play) -> dict[str, Any]:
    """The machine with the approved CSR registers the node and requests the serving certificate, which is valid."""
    cluster.register(WORKER)
    cluster.file("serving", serving()["spec"], node=WORKER).raise_for_status()
    return run("csr_approval", **options(cluster, of=1, wait=True, wait_timeout=30, wait_interval=1))


def test_a_rogue_csr_after_that_of_the_machine_is_an_alarm(cluster: ControlPlane, play: Play) -> None:
    """As a restarted kubelet would: the run succeeds and reports both CSRs."""
    for name in ("machine", "stranger"):
        cluster.file(name, client(made(signed_with=key(name)))["spec"]).raise_for_status()
    assert play("csr_approval", **options(cluster))["approved"] == ["stranger"]
    result = joins(cluster, play)
    assert not result["failed"], result["msg"]
    assert (result["approved"], result["refused"], result["joined"]) == (["serving"], [], [WORKER])
    (alarm,) = result["alarms"]
    assert [(request["name"], request["approved"]) for request in alarm["requests"]] == [("machine", False), ("stranger", True)]
    shown = " ".join(result["output"].split())
    assert f"CSRs with different keys were filed for node {WORKER}: stranger (approved), machine (pending)" in shown


LABELS = {"node-role.kubernetes.io/storage": "", "team": "one"}


def labelled(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options with labels for each machine."""
    return {**given, "machines": [{**machine, "labels": LABELS} for machine in given["machines"]]}


def test_a_node_gets_the_labels_of_its_machine_before_it_is_ready(cluster: ControlPlane, run: Play) -> None:
    cluster.register(WORKER, ready=False, labels={"team": "one", "other": "x"})

    def labels() -> dict[str, str]:
        found: dict[str, str] = cluster.call("GET", f"{NODES}/{WORKER}").json()["metadata"]["labels"]
        return {name: value for name, value in found.items() if name != "kubernetes.io/hostname"}

    # The Node of an earlier machine of this name.
    assert run("csr_approval", **labelled(options(cluster, -timedelta(minutes=5))))["labelled"] == []
    assert run("csr_approval", "--check", **labelled(options(cluster)))["labelled"] == [WORKER]
    assert labels() == {"team": "one", "other": "x"}
    result = run("csr_approval", **labelled(options(cluster)))
    assert (result["labelled"], result["changed"]) == ([WORKER], True)
    assert labels() == {**LABELS, "other": "x"}
    again = run("csr_approval", **labelled(options(cluster)))
    assert (again["labelled"], again["changed"]) == ([], False)


def test_deny_refused_denies_refused_csrs(cluster: ControlPlane, run: Play) -> None:
    cluster.file("stranger", client(made("system:node:stranger.demo.metal.test"))["spec"]).raise_for_status()
    cluster.file("good", client()["spec"]).raise_for_status()
    assert run("csr_approval", "--check", **options(cluster, deny_refused=True))["denied"] == ["stranger"]
    assert "conditions" not in cluster.requests()["stranger"]["status"]
    result = run("csr_approval", **options(cluster, deny_refused=True))
    assert (result["approved"], result["denied"]) == (["good"], ["stranger"])
    assert [entry["name"] for entry in result["refused"]] == ["stranger"]
    condition = cluster.requests()["stranger"]["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("Denied", "True")
    assert "no expected machine" in condition["message"]
    assert not run("csr_approval", **options(cluster, deny_refused=True))["changed"]


def test_renewals_and_csrs_for_other_signers_stay_unchanged(cluster: ControlPlane, run: Play) -> None:
    cluster.register(WORKER)
    cluster.file("renewal", client(username=f"system:node:{WORKER}")["spec"], node=WORKER).raise_for_status()
    for name, signer in (("other", "kubernetes.io/kube-apiserver-client"), ("own", "metal.test/own")):
        cluster.file(name, client(signerName=signer)["spec"], node=WORKER).raise_for_status()
    result = run("csr_approval", **options(cluster, deny_refused=True))
    assert not result["changed"]
    assert {entry["name"]: entry["verdict"] for entry in result["verdicts"]} == dict.fromkeys(("renewal", "other", "own"), "ignored")
    # The cluster's own controller has approved the renewal; the others are unchanged.
    assert cluster.approved() <= {"renewal"}


def test_a_timeout_names_the_machines_that_have_not_joined(cluster: ControlPlane, run: Play) -> None:
    result = run("csr_approval", **options(cluster, wait=True, wait_timeout=2, wait_interval=1))
    assert result["failed"]
    assert f"{WORKER}: it has not asked for a certificate yet" in result["msg"]
    assert len(result["failure"]["waiting"]) == 2


def test_an_approval_applies_only_to_the_csr_that_was_read(cluster: ControlPlane) -> None:
    cluster.file("good", client()["spec"]).raise_for_status()
    seen = cluster.requests()["good"]["metadata"]
    cluster.call("DELETE", f"{REQUESTS}/good").raise_for_status()
    cluster.file("good", client(made("system:node:stranger"))["spec"]).raise_for_status()
    api = ClusterClient(str(cluster.kubeconfig), addresses=[ADDRESS])
    with pytest.raises(ClusterConflictError):
        api.answer("Approved", "good", uid=seen["uid"], version=seen["resourceVersion"], reason="x", message="x")
    now = cluster.requests()["good"]["metadata"]
    with pytest.raises(ClusterConflictError):
        api.answer("Approved", "good", uid=now["uid"], version=str(int(now["resourceVersion"]) - 1), reason="x", message="x")
    assert not cluster.approved()


def test_the_client_rejects_the_certificate_of_another_server(cluster: ControlPlane) -> None:
    other = cluster.write_kubeconfig(cluster.directory / "other", server=f"https://api.other.metal.test:{cluster.port}")
    with pytest.raises(ClusterUnreachableError, match=r"api\.other\.metal\.test"):
        ClusterClient(str(other), addresses=[ADDRESS]).version()
    # By its address alone, and past addresses where nobody answers.
    assert ClusterClient(str(cluster.kubeconfig), addresses=["127.64.250.99", ADDRESS]).version().startswith("v1.")
    by_port = cluster.write_kubeconfig(cluster.directory / "by-port", server=f"https://{SERVER_NAME}:6443")
    assert ClusterClient(str(by_port), addresses=[f"{ADDRESS}:{cluster.port}"]).version().startswith("v1.")


def test_a_wait_that_fails_has_printed_and_returns_what_it_did(cluster: ControlPlane, play: Play) -> None:
    only = options(cluster, wait=True, wait_timeout=7, wait_interval=1, progress_interval=2)
    cluster.file("good", client()["spec"]).raise_for_status()
    cluster.file("again", client(made(signed_with=key("after restart")))["spec"]).raise_for_status()
    cluster.file("stranger", client(made("system:node:stranger.demo.metal.test"))["spec"]).raise_for_status()
    result = play("csr_approval", **only)
    # It fails since no node ever registers; what was approved at its begin is in the result all the same.
    assert result["failed"]
    assert result["changed"]
    assert result["approved"] == ["again"]
    verdicts = {entry["name"]: entry["verdict"] for entry in result["verdicts"]}
    assert verdicts == {"good": "pending", "again": "approved", "stranger": "pending"}
    assert [alarm["node"] for alarm in result["alarms"]] == [WORKER]
    shown = " ".join(result["output"].split())
    assert "approved: again" in shown
    assert "waiting since" in shown
    assert shown.count(f"[WARNING]: CSRs with different keys were filed for node {WORKER}: again (approved), good (pending)") == 1
    assert shown.count("certificate request stranger for node 'stranger.demo.metal.test' stays pending: no expected machine") == 1


def test_a_wait_ends_when_the_cluster_is_deleted(
    cluster: ControlPlane, start: Callable[..., Callable[[], dict[str, Any]]], tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_bytes(cluster.kubeconfig.read_bytes())
    cluster.file("good", client()["spec"]).raise_for_status()
    ended = start("csr_approval", **options(cluster, kubeconfig=str(kubeconfig), wait=True, wait_timeout=60, wait_interval=1))
    until(lambda: "good" in cluster.approved(), within=30)
    kubeconfig.unlink()
    result = ended()
    assert "was deleted" in result["msg"]
    assert result["approved"] == ["good"]


def test_csr_approval_runs_as_a_background_task(cluster: ControlPlane, tmp_path: Path) -> None:
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
    given = {**environment(), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_ASYNC_DIR": str(tmp_path / "jobs")}
    interpreter = f"ansible_python_interpreter={sys.executable}"
    code, output = played(play, "-i", "localhost,", "-c", "local", "-e", interpreter, environment=given)
    assert code == 0, output
