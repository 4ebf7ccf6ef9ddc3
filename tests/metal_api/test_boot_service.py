"""The boot service for servers: what a machine of their network reaches of Ironic, and how much it can leave behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from metal_api import boot
from metal_api.boot import BootMedia, create_boot_app
from metal_api.core.world import MetroNetwork
from metal_api.events import Event
from metal_api.servers import FoundServer, Servers
from tests.metal_api.conftest import Sandbox, machine_client, serving
from tests.ports import free_ports

METRO = "da"
NETWORK = MetroNetwork("127.93.0.0/24", "127.93.0.1", "127.93.0.10", "127.93.0.20")
PATHS = ["/v1/lookup?addresses=52:54:00:00:00:0b", "/v1/nodes", "/v1/heartbeat/node-b"]


@pytest.fixture
async def asked(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, list[str]]]:
    """The URL of a boot service for the servers node-a (127.93.0.10) and node-b (127.93.0.11), and what its Ironic is asked."""
    seen: list[str] = []

    async def ironic(request: Request) -> JSONResponse:
        seen.append(f"{request.method} {request.scope['path']}?{request.scope['query_string'].decode()}")
        return JSONResponse({})

    ironic_port, boot_port = free_ports(2)
    found = [FoundServer(f"node-{n}", f"u-{n}", "c3.small.x86", METRO, (f"52:54:00:00:00:0{n}",)) for n in ("a", "b")]
    sandbox.be_rack(monkeypatch, {METRO: NETWORK}, *found)
    media = BootMedia(tmp_path / "ipxe.iso", agent=tmp_path, ironic_url=f"http://127.0.0.1:{ironic_port}")
    apps = {ironic_port: Starlette(routes=[Route("/{path:path}", ironic, methods=["GET", "POST"])])}
    async with serving({**apps, boot_port: create_boot_app(sandbox.world, media)}):
        yield f"http://127.0.0.1:{boot_port}", seen


async def call(url: str, address: str, method: str, path: str, **headers: str) -> httpx.Response:
    async with machine_client(url, address) as client:
        return await client.request(method, path, headers=headers, content=b"{}" if method == "POST" else None)


async def test_the_agent_reaches_its_own_node(asked: tuple[str, list[str]]) -> None:
    url, seen = asked
    assert (await call(url, "127.93.0.10", "GET", PATHS[0])).status_code == 200
    assert (await call(url, "127.93.0.10", "POST", "/v1/heartbeat/node-a")).status_code == 200
    assert seen == ["GET /v1/lookup?node_uuid=node-a", "POST /v1/heartbeat/node-a?"]


@pytest.mark.parametrize("address", ["127.93.0.10", "127.0.0.1"])
@pytest.mark.parametrize(
    "path",
    [
        *(
            "/v1/heartbeat/node-b",
            "/v1/heartbeat/..%2fnodes",
            "/v1/heartbeat/node-a%2f..%2fnode-b",
        ),
        *("/v1/nodes", "//v1/nodes", "/v1/lookup/../nodes", "/v1/lookup%2f..%2fnodes", "/v1/heartbeat/"),
    ],
)
async def test_nothing_else_of_ironic_is_reached(asked: tuple[str, list[str]], address: str, path: str) -> None:
    url, seen = asked
    for method in ("GET", "POST"):
        assert (await call(url, address, method, path)).status_code in {404, 405}
    assert seen == []


async def test_a_computer_that_is_no_server_does_not_reach_ironic(asked: tuple[str, list[str]]) -> None:
    url, seen = asked
    for header in ({}, {"X-Forwarded-For": "127.93.0.10"}, {"Forwarded": "for=127.93.0.10"}):
        assert (await call(url, "127.0.0.1", "GET", PATHS[0], **header)).status_code == 404
        assert (await call(url, "127.0.0.1", "POST", "/v1/heartbeat/node-a", **header)).status_code == 404
    assert seen == []


@pytest.mark.parametrize("host", ["x/v1/nodes?", "x/v1/nodes#"])
async def test_the_host_header_names_no_path_of_ironic(asked: tuple[str, list[str]], host: str) -> None:
    url, seen = asked
    await call(url, "127.93.0.10", "GET", "/v1", Host=host)
    await call(url, "127.93.0.10", "GET", "/v1/lookup", Host=host)
    assert not [each for each in seen if "nodes" in each]


async def test_a_machine_cannot_fill_the_memory_with_events(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    device = await sandbox.active()
    address = sandbox.world.store["devices"][device["id"]].machine_address
    events = sandbox.world.store[Event]
    async with machine_client(sandbox.boot_url, address) as client:
        assert (await client.post("/events", json={"code": 1, "message": "x" * 1_000_000})).status_code == 413
        answer = await client.post("/events", json={"code": 1, "message": "x" * 60_000})
        assert answer.status_code == 200
        answer = await client.post("/phone-home", json={"type": "own.1", "body": "x" * 60_000})
        assert answer.status_code == 200
        assert max(len(each.body) for each in events.matching("device", device["id"])) == boot.LONGEST_TEXT
        assert (await client.post("/phone-home", json={"type": "x" * 1000})).status_code == 400
        monkeypatch.setattr(boot, "MOST_EVENTS", events.count("device", device["id"]))
        for path, body in (("/events", {"code": 1}), ("/phone-home", {"type": "own.2"})):
            answer = await client.post(path, json=body)
            assert (answer.status_code, answer.text) == (400, f"the device has {boot.MOST_EVENTS} events, and may report no more")


async def test_a_wrong_address_is_reported_once(asked: tuple[str, list[str]], sandbox: Sandbox) -> None:
    url, _seen = asked
    device = await sandbox.create(plan="c3.small.x86", metro=METRO)
    server = sandbox.world.service(Servers).of_device(device["id"])
    assert server is not None
    mac = server.macs[0]
    for _time in range(3):
        assert (await call(url, "127.0.0.1", "GET", f"/auto.ipxe?mac={mac.replace(':', '-')}")).status_code == 404
    texts = [each.body for each in sandbox.world.store[Event].matching("device", device["id"]) if each.type == "server.wrong_address"]
    assert texts == [f"Server {server.name} asked for its boot script from 127.0.0.1: DHCP has to give {server.address} to {mac}"]
