"""Only the addresses of the bootstrap device, as the Metal API lists them, can read bootstrap.ign."""

import contextlib
import json
import re
import time
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call

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


MACHINES: dict[str, Any] = {
    f"boot_files_{group}": [{"hostname": f"{name}.{CLUSTER}", "role": role, "architecture": "x86_64", "boot_profile": "x86_64"}]
    for group, name, role in (
        ("bootstrap", "bootstrap-0", "bootstrap"),
        ("control_plane", "master-0", "control-plane"),
        ("workers", "worker-0", "worker"),
    )
}


def plain_answers(method: Method) -> dict[str, str]:
    """Everything that the server gives to any client over plain HTTP, by name."""
    url = f"http://{method.variables['openshift_publish_address']}:{method.variables['openshift_publish_http_port']}"
    names = json.loads((method.folder / "publish" / "open.json").read_bytes())
    answers = {name: httpx.get(f"{url}/{name}", trust_env=False) for name in names}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {name: answer.text for name, answer in answers.items()}


def decoded(text: str) -> str:
    """Return the text, and what is in its data URLs, and in theirs."""
    parts = [text]
    for part in parts:
        parts += [b64decode(found).decode("utf-8", "replace") for found in re.findall(r"base64,([A-Za-z0-9+/=]+)", part)]
    return "\n".join(parts)


def test_on_metal_nothing_served_in_plain_opens_bootstrap_ign(
    method: Method, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    """With all that a reader of the plain traffic gets, the file cannot be had: only the device at its address gets it, without a token."""

    def run(tasks_from: str) -> str:
        return method.run(tasks_from, environment=sandbox_environment, openshift_ignition_platform="metal", **MACHINES)

    run("main")
    answers = plain_answers(method)
    hosts = [machine["hostname"] for machines in MACHINES.values() for machine in machines]
    assert set(answers) == {"x86_64-live.ign", *(f"{host}{end}" for host in hosts for end in (".ipxe", "-live.ign"))}
    overheard = decoded("\n".join(answers.values()))
    assert "api-int" in overheard, "the pointers are in there"
    assert (method.folder / "publish" / "bearer").read_text() not in overheard
    for secret in ("Authorization", "Bearer", "Signature", "PRIVATE KEY", "planted-9d41"):
        assert secret not in overheard, secret
    machine = Pointed.at(method.pointer)
    assert machine.headers == {}
    assert machine.url in overheard
    assert status(machine, "127.99.0.9") == 503, "nobody before the device is ordered"

    with ordered(sandbox) as addresses:
        run("allow")
        assert status(machine, addresses[0]) == 200
        assert status(machine, "127.99.0.9") == 503
        assert status(machine, method.variables["openshift_publish_address"]) == 401, "other users of the controller"
        assert "changed=0" in run("main")
    # Its address may soon be another customer's.
    run("allow")
    assert status(machine, addresses[0]) == 503


@contextlib.contextmanager
def ordered(sandbox: RunningSandbox) -> Iterator[list[str]]:
    """A bootstrap device; yields its public IPv4 addresses, and returns when it is gone."""

    desired = {
        "hostname": f"bootstrap-0.{CLUSTER}",
        "plan": "c3.small.x86",
        "metro": "da",
        "operating_system": "ubuntu_24_04",
        "tags": [f"openshift-cluster={CLUSTER}", "openshift-role=bootstrap"],
    }
    devices = f"projects/{sandbox.environment['METAL_PROJECT_ID']}/devices"
    device = call(sandbox, "POST", devices, desired)
    end = time.monotonic() + 60
    try:
        addresses: list[str] = []
        while not addresses and time.monotonic() < end:
            result = call(sandbox, "GET", f"devices/{device['id']}")["ip_addresses"]
            addresses = [entry["address"] for entry in result if entry["address_family"] == 4 and entry["public"]]
            time.sleep(0.2)
        yield addresses
    finally:
        call(sandbox, "DELETE", f"devices/{device['id']}?force_delete=true")
        while any(each["id"] == device["id"] for each in call(sandbox, "GET", devices)["devices"]) and time.monotonic() < end:
            time.sleep(0.2)


def test_only_the_bootstrap_device_gets_bootstrap_ign(method: Method, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    method.run("main", environment=sandbox_environment, boot_files_allow_list=True)
    machine = Pointed.at(method.pointer)
    assert status(machine, "127.99.0.9") == 200, "nobody knows yet where it will be"

    with ordered(sandbox) as addresses:
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
