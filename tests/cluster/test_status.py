"""The status against a real API server: what is read, how often it is asked, and that nothing is written."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.status import status_of
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world.status import collect
from tests.cluster.control_plane import NODES, ControlPlane
from tests.unit.plugins.module_utils.csr_cases import client, made

AGENT = "equinix_metal.openshift"
DOMAIN = "demo.metal.test"
MACHINES = 500
CALLS = 40
SECONDS = 15
METAL_API = {"metal_api_url": "http://127.0.0.1:1/metal/v1", "metal_api_token": "none", "metal_project_id": "none", "metal_api_retries": 0}
"""Nobody answers there."""
RULES = {"additional_addresses": [], "window": 7200, "second_key_after": 60, "history": "none", "server_certificates": True}


def status(kubeconfig: Path, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the status of a cluster whose folder has this kubeconfig, with workers of these names in the inventory."""
    workers = [{"hostname": name, "role": "worker"} for name in names]
    settings = {
        "cluster_name": "demo",
        "base_domain": "metal.test",
        "machines": {"bootstrap": [], "control_plane": [], "workers": workers, "load_balancer": []},
        "machine_network": "layer3",
        "directory": str(kubeconfig.parent),
        "bootstrap_over": True,
        "timeout": 15,
        "dns_provider": "none",
        **METAL_API,
    }
    return status_of(collect(settings, RULES), 30, datetime.now(UTC))


@pytest.fixture
def kubeconfig(cluster: ControlPlane, tmp_path: Path) -> Path:
    """The kubeconfig in the folder of a cluster, with the address of its server: no device has it here."""
    return cluster.write_kubeconfig(tmp_path / "kubeconfig", server=cluster.url)


def test_five_hundred_nodes_take_few_calls_and_none_writes(cluster: ControlPlane, kubeconfig: Path) -> None:
    names = [f"worker-{number}.{DOMAIN}" for number in range(MACHINES)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(cluster.register, names))
    cluster.report(names[7], ready=None)
    since, started = cluster.audited_until(), time.monotonic()
    found = status(kubeconfig, names)
    assert time.monotonic() - started < SECONDS
    calls = [entry for entry in cluster.audit(since) if entry["userAgent"] == AGENT]
    assert 5 < len(calls) < CALLS
    assert {entry["verb"] for entry in calls} <= {"get", "list"}
    assert [finding["group"] for finding in found["findings"]] == ["unreachable", "degraded"]
    assert found["findings"][1]["subject"] == names[7]
    assert len(found["machines"]) == MACHINES
    # Nothing of the two APIs of OpenShift is there, and the server's own certificate is read from the server.
    assert {certificate["kind"] for certificate in found["certificates"]} == {"API server", "kubeconfig"}


def test_pending_csrs_are_judged_and_left_alone(cluster: ControlPlane, kubeconfig: Path) -> None:
    cluster.file("csr-unauthorized", client(made(f"system:node:unauthorized.{DOMAIN}"))["spec"]).raise_for_status()
    judged = status(kubeconfig)
    [request] = judged["certificate_requests"]
    assert (request["name"], request["verdict"]) == ("csr-unauthorized", "would be refused")
    assert "no expected machine" in request["reason"]
    answer = cluster.call("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-unauthorized").json()
    assert not answer["status"].get("conditions")


def test_a_user_with_few_rights_gets_what_the_user_may_read(cluster: ControlPlane, kubeconfig: Path) -> None:
    """The node bootstrapper may file CSRs and read nothing: what is refused is named, and no machine is missed for it."""
    text = kubeconfig.read_text(encoding="utf-8")
    kubeconfig.write_text(text[: text.index("client-certificate-data")].rstrip() + f"\n    token: {cluster.TOKEN}\n", encoding="utf-8")
    found = status(kubeconfig, [f"worker-0.{DOMAIN}"])
    assert found["cluster_api"]["answers"]
    refused = [finding["text"] for finding in found["findings"] if finding["subject"] == "cluster API"]
    assert any("Secrets of openshift-etcd" in text for text in refused)
    assert {finding["group"] for finding in found["findings"]} == {"unreachable"}


def test_an_api_that_does_not_answer_is_a_finding(cluster: ControlPlane, tmp_path: Path) -> None:
    found = status(cluster.write_kubeconfig(tmp_path / "kubeconfig", server="https://127.64.250.99:6443"))
    assert not found["cluster_api"]["answers"]
    assert [finding["subject"] for finding in found["findings"]] == ["Metal API", "cluster API"]
    assert NODES not in found["verdict"]
