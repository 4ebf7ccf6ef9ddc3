"""The role csr_approval alone, for a cluster and devices that this collection has not created.

The molecule scenario ``csr_approval`` plays the same playbook for workers of a cluster that the roles have installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sandbox.testing.process import RunningSandbox
from tests.cluster.conftest import ROOT
from tests.cluster.control_plane import ControlPlane, environment
from tests.e2e.harness import until
from tests.unit.plugins.module_utils.csr_cases import client, dns, ips, made, serving

NAME, UNKNOWN = "worker-3.their.example.com", "worker-9.their.example.com"
TAG = "their-workers"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("metal")
    with RunningSandbox(folder / "state", log=folder / "log", speed=1) as running:
        yield running


def ordered(sandbox: RunningSandbox, name: str) -> list[str]:
    """Order a device with the tag; its addresses."""
    own = sandbox.environment
    order = {"hostname": name, "plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "tags": [TAG]}
    url = f"{own['METAL_API_URL']}/projects/{own['METAL_PROJECT_ID']}/devices"
    answer = httpx.post(url, json=order, headers={"X-Auth-Token": own["METAL_AUTH_TOKEN"]}, timeout=30).raise_for_status()
    return [entry["address"] for entry in answer.json()["ip_addresses"]]


def test_workers_join_a_cluster_of_another_installer(cluster: ControlPlane, sandbox: RunningSandbox, tmp_path: Path) -> None:
    addresses = ordered(sandbox, NAME)
    cluster.file("unknown", client(made(f"system:node:{UNKNOWN}"))["spec"]).raise_for_status()
    cluster.file("first", client(made(f"system:node:{NAME}"))["spec"]).raise_for_status()
    given = {"cluster": "their.example.com", "workers": [NAME], "tags_of_workers": [TAG]}
    process = subprocess.Popen(
        [
            str(Path(sys.executable).parent / "ansible-playbook"),
            str(ROOT / "docs" / "examples" / "approve-csrs.yml"),
            *("-e", json.dumps(given), "-e", f"ansible_python_interpreter={sys.executable}"),
        ],
        cwd=tmp_path,
        env={
            **environment(),
            **sandbox.environment,
            # The installer's has a name that is not in the DNS here.
            "KUBECONFIG": str(cluster.write_kubeconfig(tmp_path / "kubeconfig", server=cluster.url)),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_LOCAL_TEMP": str(tmp_path / "tmp"),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until(lambda: process.poll() is not None or "first" in cluster.approved(), within=120, what="the first certificate")
        if process.poll() is None:
            cluster.register(NAME)
            names = dns(NAME) + ips(*addresses)
            cluster.file("serving", serving(made(f"system:node:{NAME}", names=names))["spec"], node=NAME).raise_for_status()
        output, _nothing = process.communicate(timeout=180)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert "1 of 1 machines have joined" in output
    assert f"REFUSED   unknown for node '{UNKNOWN}'" in output
    assert set(cluster.approved()) == {"first", "serving"}
