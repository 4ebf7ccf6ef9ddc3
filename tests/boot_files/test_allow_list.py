"""Only the addresses of the bootstrap device, as the Metal API lists them, can read bootstrap.ign."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sandbox.testing.process import RunningSandbox

from .methods import CLUSTER, Method, Pointed, controller, ignition_files


# Linux connects to each of them from 127.0.0.1. The install in tests/e2e/test_install.py publishes at the second.
@pytest.fixture(params=["127.0.0.1", pytest.param("127.5.0.1", marks=pytest.mark.long)])
def method(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Method]:
    folder = ignition_files(tmp_path_factory.mktemp("allowed"))
    with controller(folder, folder.parent / "workspace", request.param) as found:
        yield found
        found.run("remove")


def status(machine: Pointed, source: str) -> int:
    transport = httpx.HTTPTransport(local_address=source, verify=machine.trust)
    with httpx.Client(transport=transport) as client:
        return client.get(machine.url, headers=machine.headers).status_code


def test_only_the_bootstrap_device_gets_bootstrap_ign(method: Method, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    def api(method: str, path: str, **arguments: Any) -> Any:
        url = f"{sandbox_environment['METAL_API_URL']}/{path}"
        answer = httpx.request(method, url, headers={"X-Auth-Token": sandbox_environment["METAL_AUTH_TOKEN"]}, **arguments)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    method.run("main", environment=sandbox_environment, boot_files_allow_list=True)
    machine = Pointed.at(method.pointer)
    assert status(machine, "127.99.0.9") == 200, "nobody knows yet where it will be"

    desired = {
        "hostname": f"bootstrap-0.{CLUSTER}",
        "plan": "c3.small.x86",
        "metro": "da",
        "operating_system": "ubuntu_24_04",
        "tags": [f"openshift-cluster={CLUSTER}", "openshift-role=bootstrap"],
    }
    device = api("POST", f"projects/{sandbox_environment['METAL_PROJECT_ID']}/devices", json=desired)
    try:
        end = time.monotonic() + 60
        addresses: list[str] = []
        while not addresses and time.monotonic() < end:
            result = api("GET", f"devices/{device['id']}")["ip_addresses"]
            addresses = [entry["address"] for entry in result if entry["address_family"] == 4 and entry["public"]]
            time.sleep(0.2)
        method.run("allow", environment=sandbox_environment, boot_files_allow_list=True)
        assert status(machine, addresses[0]) == 200
        # Ignition of a machine that comes too early asks again after this.
        assert status(machine, "127.99.0.9") == 503
        # The variable decides, not the list that an earlier run has left at the server.
        method.run("main", environment=sandbox_environment, boot_files_allow_list=False)
        assert status(machine, "127.99.0.9") == 200
        method.run("allow", environment=sandbox_environment, boot_files_allow_list=True)
        assert status(machine, "127.99.0.9") == 503
        # The controller itself checks that the file can be had, also once there is a list.
        method.run("main", environment=sandbox_environment, boot_files_allow_list=True)
    finally:
        api("DELETE", f"devices/{device['id']}")
