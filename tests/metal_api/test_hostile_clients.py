"""What clients may send to stop the server: other requests are answered meanwhile, within a bound measured in the same run."""

import asyncio
import contextlib
import gzip
import logging
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from metal_api.app import create_metal_app
from metal_api.certificate import Certificate, by_own_ca
from metal_api.connections import Connections
from metal_api.listener import Listener
from tests.metal_api.conftest import NO_TLS, Sandbox
from tests.ports import free_port

BOUND = 4.0
"""Seconds in which any other request is answered during an attack, on two cores that are busy: so many times more for each process that
waits for a core.
"""
WORK_BOUND = 2.0
"""Seconds of work of this process, server and clients together, from the begin to the end of any other request."""


@dataclass
class Others:
    """The other clients of an attacked server. ``longest``, ``work``: the seconds of their slowest request, and of the work meanwhile."""

    longest: float = 0.0
    work: float = 0.0
    requests: int = 0


@asynccontextmanager
async def others(sandbox: Sandbox) -> AsyncIterator[Others]:
    """A client of the API and a machine, that call without a pause and always get their answers."""
    seen, ended = Others(), asyncio.Event()

    async def ask(url: str, status: int, **headers: str) -> None:
        # A connection for each request, as a client has that comes new.
        while not ended.is_set():
            began, work = time.monotonic(), time.process_time()
            async with httpx.AsyncClient(verify=NO_TLS, timeout=60, headers=headers) as client:
                answer = await client.get(url)
            assert answer.status_code == status, answer.text
            seen.longest = max(seen.longest, time.monotonic() - began)
            seen.work = max(seen.work, time.process_time() - work)
            seen.requests += 1

    asking = [
        asyncio.create_task(ask(f"{sandbox.url}/projects", 200, **{"X-Auth-Token": sandbox.world.token})),
        asyncio.create_task(ask(f"{sandbox.boot_url}/auto.ipxe", 404)),
    ]
    try:
        await sandbox.until(lambda: seen.requests >= 20)
        seen.longest = seen.work = 0.0
        yield seen
        # Those that began during the attack.
        before = seen.requests
        await sandbox.until(lambda: seen.requests >= before + 4)
    finally:
        ended.set()
        await asyncio.gather(*asking)
    assert seen.work < WORK_BOUND, f"another request waited for {seen.work:.1f} s of work"
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert seen.longest < BOUND * busy, f"another request took {seen.longest:.1f} s, {busy:.1f} processes wait for a core"


PATHS = {
    "encoded again and again": "/projects/%" + "25" * 30_000,
    "parameters": "/projects?" + "a=%252525&" * 6_000,
    "slashes": "/" * 60_000,
    "prefixes": "/metal/v1" * 6_500,
    "words": "/" + "aB1" * 20_000,
}


@pytest.mark.parametrize("name", PATHS)
async def test_paths_that_are_slow_to_read(sandbox: Sandbox, name: str) -> None:
    """Requests without a token, as three at a time stopped every boot script for 23 s."""
    async with others(sandbox), httpx.AsyncClient(verify=NO_TLS, timeout=60) as client:
        for url in (sandbox.url, sandbox.boot_url):
            target = httpx.URL(url).copy_with(raw_path=PATHS[name].encode())
            answers = await asyncio.gather(*(client.send(client.build_request("GET", target)) for _number in range(3)))
            assert {each.status_code for each in answers} <= {401, 404}
    entries = (await sandbox.control.get("/journal", params={"service": "metal"})).json()["journal"]
    hostile = [each for each in entries if each["who"] == "nobody"]
    assert len(hostile) == 3
    assert all(len(each["path"]) < 3000 for each in hostile)


async def test_a_token_is_hidden_before_the_path_is_shortened(sandbox: Sandbox) -> None:
    token = sandbox.world.token
    for at in range(2048 - len(token), 2048):
        path = "/" + "-" * at + "/" + token
        await sandbox.control.get(f"{sandbox.url}{path}", headers={"X-Auth-Token": token})
    for levels in range(1, 9):
        encoded = "".join(f"%{ord(each):02X}" for each in token).replace("%", "%" + "25" * (levels - 1))
        target = httpx.URL(sandbox.url).copy_with(raw_path=f"/projects/{encoded}".encode())
        await sandbox.control.send(sandbox.control.build_request("GET", target))
    shown = [each["path"] for each in (await sandbox.control.get("/journal")).json()["journal"]]
    assert len(shown) >= len(token)
    for path in shown:
        assert token[:6] not in path
        assert "".join(f"%{ord(each):02X}" for each in token[:6]) not in path.replace("%25", "%")


CLOUD_CONFIG = "#cloud-config\n"
BOMB = "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12))
MIME = "Content-Type: multipart/mixed; boundary={0}\n\n--{0}\n"
USERDATA = {
    "a megabyte": (CLOUD_CONFIG + "a: [b, c]\n" * 100_000, None),
    "just what is parsed": (CLOUD_CONFIG + "[a],".join(["["] + [""] * 8_000) + "]", None),
    "merges": (CLOUD_CONFIG + "a0: &a0 {x: y}\n" + BOMB.replace("[", "{<<: [").replace("]", "]}"), None),
    "aliases": (CLOUD_CONFIG + "a0: &a0 [x, y]\n" + BOMB, None),
    "open braces": (CLOUD_CONFIG + "{" * 30_000, "Userdata unrecognized userdata format"),
    "nested parts": ("".join(MIME.format(level) for level in range(500)) + "--\n" * 300_000, None),
    "packed braces": (gzip.compress(CLOUD_CONFIG.encode() + b"{" * 30_000).decode("latin-1"), "Userdata unrecognized userdata format"),
}


@pytest.mark.parametrize("name", USERDATA)
async def test_userdata_that_is_slow_to_read(sandbox: Sandbox, name: str) -> None:
    """In one order, and in many of one batch."""
    text, error = USERDATA[name]
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "userdata": text}
    async with others(sandbox), httpx.AsyncClient(verify=NO_TLS, timeout=60, headers=sandbox.api.headers) as client:
        single = await client.post(f"{sandbox.url}/userdata/validate", json={"userdata": text})
        batch = {"batches": [order] * min(20, 5 * 2**20 // len(text))}
        ordered = await client.post(f"{sandbox.url}{sandbox.project}/devices/batch", json=batch)
    if error is None:
        assert single.status_code == 204, single.text
        assert ordered.status_code == 201, ordered.text[:1000]
    else:
        assert (single.status_code, single.json()["errors"]) == (422, [error])
        assert ordered.status_code == 422


async def test_depth_of_custom_data(sandbox: Sandbox) -> None:
    """What is accepted can be stored and sent again."""
    statuses = set()
    for depth in (50, 100, 120, 150, 151, 152, 153, 154, 155, 200, 253, 254, 255, 500, 1000, 1023):
        customdata = '{"a":' * depth + "1" + "}" * depth
        for body in (
            f'{{"name": "x", "customdata": {customdata}}}',
            f'{{"name": "x", "customdata": "{customdata.replace(chr(34), chr(92) + chr(34))}"}}',
        ):
            made = await sandbox.api.post("/projects", content=body, params={"include": "organization.projects"})
            assert made.status_code in {201, 422}, made.text
            statuses.add(made.status_code)
            if made.status_code == 201:
                shown = await sandbox.api.get("/projects", params={"include": "organization.projects.organization.projects"})
                assert shown.status_code == 200
    assert statuses == {201, 422}
    device = await sandbox.active(hostname="one")
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(local_address=device["ip_addresses"][0]["address"])) as machine:
        answer = await machine.post(f"{sandbox.boot_url}/events", content='{"message":' + "[" * 900 + "]" * 900 + "}")
    assert answer.status_code == 400


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("service", ["API", "boot service"])
async def test_a_body_without_a_good_token_is_not_read(sandbox: Sandbox, service: str) -> None:
    """Ten of 10 MB each took 100 MB."""
    url = httpx.URL(sandbox.url if service == "API" else sandbox.boot_url)
    head = "POST /projects HTTP/1.1\r\nHost: a\r\nX-Auth-Token: not-a-good-one\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + b" " * 2**16 + b"\r\n"
    memory = [before := resident()]

    async def send() -> bytes:
        reader, writer = await asyncio.open_connection(url.host, url.port)
        # The server ends the connection while more is sent.
        answer = asyncio.create_task(reader.readline())
        with contextlib.suppress(ConnectionError):
            writer.write(head.encode())
            for _number in range(150):
                writer.write(piece)
                await writer.drain()
                memory.append(resident())
                await asyncio.sleep(0)
        received = await answer
        writer.transport.abort()
        return received.split()[1]

    async with others(sandbox):
        answers = await asyncio.gather(*(send() for _number in range(10)))
    assert set(answers) == {b"401" if service == "API" else b"413"}
    assert max(memory) - before < 50 * 2**20


@pytest.mark.parametrize("kind", ["plain", "TLS", "TLS without a handshake", "half a request"])
async def test_connections_of_one_client_keep_no_other_out(sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
    """1,100 that did nothing made a call take 50 s. Other clients come from other addresses, and from that of the attacker."""
    context = None
    if kind.startswith("TLS"):
        context = (await asyncio.to_thread(Certificate, partial(by_own_ca, tmp_path, "127.0.0.1"))).context
    listener, port = Listener(create_metal_app(sandbox.world), connections=Connections(most=60, most_of_client=20)), free_port()
    await listener.open("127.0.0.1", port, context)
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    idle: list[asyncio.StreamWriter] = []

    async def connect(address: str) -> None:
        security = trusting if kind == "TLS" else None
        _reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=security, local_addr=(address, 0))
        if kind == "half a request":
            writer.write(b"POST /projects HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
        idle.append(writer)

    async def call(address: str) -> float:
        began = time.monotonic()
        transport = httpx.AsyncHTTPTransport(local_address=address, verify=trusting)
        async with httpx.AsyncClient(transport=transport, timeout=60, headers=sandbox.api.headers) as client:
            answer = await client.get(f"{'http' if context is None else 'https'}://127.0.0.1:{port}/projects")
        assert answer.status_code == 200
        return time.monotonic() - began

    try:
        slowest = 0.0
        for number in range(150):
            # Of one client, and then of more of them than there is room for.
            await connect("127.0.0.1" if number < 75 else f"127.0.0.{2 + number % 5}")
            if number % 15 == 14:
                slowest = max(slowest, await call("127.0.0.1"), await call("127.0.0.9"))
        assert slowest < BOUND * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert len(listener._state.connections) <= 60
    finally:
        for each in idle:
            each.transport.abort()
        await listener.close()


async def test_no_room_is_made_by_ending_a_request_that_is_answered(sandbox: Sandbox) -> None:
    listener, port = Listener(create_metal_app(sandbox.world), connections=Connections(most=4, most_of_client=2)), free_port()
    await listener.open("127.0.0.1", port, None)
    await sandbox.control.put("/settings", json={"latency": {"read": 1.0}})
    try:
        async with httpx.AsyncClient(timeout=60, headers=sandbox.api.headers, verify=NO_TLS) as client:
            working = [asyncio.create_task(client.get(f"http://127.0.0.1:{port}/projects")) for _number in range(2)]
            await sandbox.until(lambda: len(listener._state.tasks) == 2)
            with pytest.raises(httpx.TransportError):
                await client.get(f"http://127.0.0.1:{port}/projects")
            assert [each.status_code for each in await asyncio.gather(*working)] == [200, 200]
    finally:
        await listener.close()


async def test_no_file_descriptor_is_left_for_a_while(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop, failures = asyncio.get_running_loop(), 5
    accept = loop.sock_accept

    async def failing(listening: socket.socket) -> tuple[socket.socket, object]:
        nonlocal failures
        if failures:
            failures -= 1
            raise OSError(24, "Too many open files")
        return await accept(listening)

    monkeypatch.setattr(loop, "sock_accept", failing)
    listener, port = Listener(create_metal_app(sandbox.world)), free_port()
    with caplog.at_level(logging.ERROR):
        await listener.open("127.0.0.1", port, None)
        async with httpx.AsyncClient(headers=sandbox.api.headers, verify=NO_TLS) as client:
            assert (await client.get(f"http://127.0.0.1:{port}/projects")).status_code == 200
        await listener.close()
    assert [each.message for each in caplog.records] == ["no connection is accepted now: [Errno 24] Too many open files"]
