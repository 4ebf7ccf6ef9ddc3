"""The status under faults of the Metal API: the result says what could not be read, and no machine is taken for lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call, status
from tests.contract.faults import FAULTS, Fault, Verdicts

CLUSTER = "status.contract.test"
WORKER = f"worker-0.{CLUSTER}"
WELL_FORMED = ("null-lists", "without-tags")
"""Answers that are those of a project without devices of this cluster: no list, and devices without tags."""
ALWAYS = [fault for fault in FAULTS if isinstance(fault.metal, Verdicts) and not fault.silent and fault.name not in WELL_FORMED]


@pytest.fixture(scope="module")
def device(sandbox_process: RunningSandbox) -> Iterator[str]:
    """A device of the cluster, without which a fault could not make it look lost."""
    environment = sandbox_process.environment
    order = {
        "hostname": WORKER,
        "plan": "c3.small.x86",
        "metro": "da",
        "operating_system": "debian_12",
        "tags": [f"openshift-cluster={CLUSTER}", "openshift-role=worker"],
    }
    identity: str = call(sandbox_process, "POST", f"projects/{environment['METAL_PROJECT_ID']}/devices", order)["id"]
    yield identity
    call(sandbox_process, "DELETE", f"devices/{identity}")


OPTIONS = {"additional_addresses": [], "window": 7200, "second_key_after": 60, "history": "", "server_certificates": False}


def found_with(environment: dict[str, str]) -> dict[str, Any]:
    """Return the status of a cluster with this device in its inventory, and no kubeconfig."""
    settings = {
        "cluster_name": "status",
        "base_domain": "contract.test",
        "machines": {"bootstrap": [], "control_plane": [], "workers": [{"hostname": WORKER, "role": "worker"}], "load_balancer": []},
        "machine_network": "layer3",
        "directory": "/nowhere",
        "dns_provider": "none",
        "timeout": 5,
        "metal_api_url": environment["METAL_API_URL"],
        "metal_api_token": environment["METAL_AUTH_TOKEN"],
        "metal_project_id": environment["METAL_PROJECT_ID"],
        "metal_api_retries": 1,
    }
    return status(settings, OPTIONS, environment)


@pytest.mark.parametrize("fault", ALWAYS, ids=lambda fault: fault.name)
def test_a_lasting_fault_is_a_finding_and_no_difference(
    device: str, fault: Fault, sandbox_process: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    sandbox_process.call("POST", "faults", json={**fault.met, "path": "devices", "times": None, "skip": 0})
    try:
        found = found_with(sandbox_environment)
    finally:
        sandbox_process.call("DELETE", "faults")
    if found["metal_api"]["answers"]:
        assert [machine["device"]["id"] for machine in found["machines"] if machine["device"]] == [device]
    else:
        assert found["metal_api"]["problem"]
        assert found["counts"]["differences"] == 0
        assert found["price_per_hour"] is None


def test_the_status_is_read_without_a_write(device: str, sandbox_process: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    sandbox_process.forget()
    found = found_with(sandbox_environment)
    assert found["metal_api"]["answers"]
    assert [machine["device"]["id"] for machine in found["machines"]] == [device]
    assert {request["method"] for request in sandbox_process.journal()} == {"GET"}
    assert len(sandbox_process.journal()) == 2
