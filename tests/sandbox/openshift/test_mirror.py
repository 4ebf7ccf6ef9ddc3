"""The mirror has no other files than its own: what it serves is read by tests/ignition/test_release.py."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from sandbox.openshift.mirror import create_mirror_app

BASE = "http://mirror.metal.test:8080"
CLIENTS = "/pub/openshift-v4/x86_64/clients/ocp"


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sandbox")


@pytest.fixture
async def client(state: Path) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_mirror_app(state, sys.executable, BASE))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as asking:
        yield asking


@pytest.mark.parametrize(
    "path",
    [
        "/%00",
        f"{CLIENTS}/%00",
        f"{CLIENTS}/stable/\N{SNOWMAN}",
        pytest.param("/" + "a" * 300, id="long"),
        pytest.param(f"{CLIENTS}/" + "a/" * 3000, id="deep"),
        "/%ff%fe",
        "/..%2f..%2fetc%2fpasswd",
        "/%2fetc",
        f"{CLIENTS}/4.20.34/openshift-install-linux.tar.gz",
        f"{CLIENTS}/stable/openshift-client-linux.tar.gz",
        "/pub/openshift-v4/s390x/clients/ocp/stable/release.txt",
        "/pub/openshift-v4/x86_64/../../../mirror-signing-key.asc",
        "/pub/openshift-v4/%2e%2e/mirror-signing-key.asc",
        "/pub/openshift-v4/x86_64/%2e%2e/%2e%2e/mirror-signing-key.asc",
    ],
)
async def test_what_it_does_not_have(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404, answer.text
