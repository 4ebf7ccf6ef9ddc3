"""cluster_status against a real API server: what it reads, how often it asks, and that it writes nothing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.cluster.conftest import Play
from tests.cluster.control_plane import NODES, ControlPlane
from tests.unit.plugins.module_utils.csr_cases import client, made

AGENT = "equinix_metal.openshift"
DOMAIN = "demo.metal.test"
MACHINES = 500
CALLS = 40
SECONDS = 15
NO_METAL_API = {
    "metal_api_url": "http://127.0.0.1:1/metal/v1",
    "metal_api_token": "none",
    "metal_api_retries": 0,
    "project_id": "2b70eb8f-fa18-47c0-aba7-222a842362fd",
}


def options(cluster: ControlPlane, **more: Any) -> dict[str, Any]:
    server = {"kubeconfig": str(cluster.kubeconfig), "api_addresses": [f"{cluster.url.removeprefix('https://')}"]}
    return {"cluster": DOMAIN, **server, **NO_METAL_API, **more}


def test_five_hundred_nodes_take_few_calls_and_none_writes(cluster: ControlPlane, run: Play) -> None:
    names = [f"worker-{number}.{DOMAIN}" for number in range(MACHINES)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(cluster.register, names))
    cluster.report(names[7], ready=None)
    since, started = cluster.audited_until(), time.monotonic()
    status = run("cluster_status", **options(cluster, machines=[{"hostname": name, "role": "worker"} for name in names], history="none"))[
        "status"
    ]
    assert time.monotonic() - started < SECONDS
    calls = [entry for entry in cluster.audit(since) if entry["userAgent"] == AGENT]
    assert 5 < len(calls) < CALLS
    assert {entry["verb"] for entry in calls} <= {"get", "list"}
    assert [finding["group"] for finding in status["findings"]] == ["unreachable", "degraded"]
    assert status["findings"][1]["subject"] == names[7]
    assert len(status["machines"]) == MACHINES
    # Nothing of the two APIs of OpenShift is there, and the server's own certificate is read from the server.
    assert {certificate["kind"] for certificate in status["certificates"]} == {"API server", "kubeconfig"}


def test_pending_csrs_are_judged_and_left_alone(cluster: ControlPlane, run: Play) -> None:
    cluster.file("csr-unauthorized", client(made(f"system:node:unauthorized.{DOMAIN}"))["spec"]).raise_for_status()
    status = run("cluster_status", **options(cluster))["status"]
    [request] = status["certificate_requests"]
    assert (request["name"], request["verdict"]) == ("csr-unauthorized", "would be refused")
    assert "no expected machine" in request["reason"]
    found = cluster.call("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-unauthorized").json()
    assert not found["status"].get("conditions")


def test_a_user_with_few_rights_gets_what_the_user_may_read(cluster: ControlPlane, run: Play, tmp_path: Any) -> None:
    """The node bootstrapper may file CSRs and read nothing: what is refused is named, and no machine is missed for it."""
    kubeconfig = tmp_path / "kubeconfig"
    text = cluster.kubeconfig.read_text(encoding="utf-8")
    kubeconfig.write_text(text[: text.index("client-certificate-data")].rstrip() + f"\n    token: {cluster.TOKEN}\n", encoding="utf-8")
    status = run(
        "cluster_status", **options(cluster, kubeconfig=str(kubeconfig), machines=[{"hostname": f"worker-0.{DOMAIN}", "role": "worker"}])
    )["status"]
    assert status["cluster_api"]["answers"]
    refused = [finding["text"] for finding in status["findings"] if finding["subject"] == "cluster API"]
    assert any("Secrets of openshift-etcd" in text for text in refused)
    assert {finding["group"] for finding in status["findings"]} == {"unreachable"}


def test_an_api_that_does_not_answer_is_a_finding(cluster: ControlPlane, run: Play) -> None:
    status = run("cluster_status", **options(cluster, api_addresses=["127.64.250.99"]))["status"]
    assert not status["cluster_api"]["answers"]
    assert [finding["subject"] for finding in status["findings"]] == ["Metal API", "cluster API"]
    assert NODES not in status["verdict"]
