"""What any client may do to a listener of the sandbox: send half of a request, send too much, send no HTTP at all."""

import asyncio
import contextlib
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from metal_api.app import create_boot_app, create_metadata_app, create_metal_app
from metal_api.core import bodies
from metal_api.core.bodies import Bounded
from metal_api.listener import Listener
from tests.metal_api.conftest import NO_TLS, Sandbox, sandbox_in
from tests.ports import free_port

PATIENCE = 0.4
"""Real seconds that a listener of these tests waits for the rest of a request."""


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


ECHO = Bounded(Starlette(routes=[Route("/", echo, methods=["GET", "POST"])]))


@asynccontextmanager
async def listening(app: ASGIApp = ECHO, received_within: float = PATIENCE) -> AsyncIterator[int]:
    listener, port = Listener(app, received_within=received_within), free_port()
    await listener.open("127.0.0.1", port, None)
    try:
        yield port
    finally:
        await listener.close()


async def until_closed(port: int, *parts: bytes) -> tuple[bytes, float]:
    """Send parts of a request, and return what came until the server ended the connection, and the seconds until then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = time.monotonic()
    for part in parts:
        writer.write(part)
        await writer.drain()
    async with asyncio.timeout(20):
        received = await reader.read()
    writer.close()
    return received, time.monotonic() - began


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b"G"],
        [b"GET / HTTP/1.1\r\n"],
        [b"GET / HTTP/1.1\r\nHost: a\r\nX-Auth"],
        [b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"],
        [b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345"],
        [b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"],
    ],
    ids=["nothing", "a byte", "a line", "headers", "no body", "half a body", "half the chunks"],
)
async def test_half_of_a_request_is_not_waited_for_for_ever(parts: list[bytes]) -> None:
    async with listening() as port:
        received, seconds = await until_closed(port, *parts)
        assert received == b""
        assert seconds >= PATIENCE * 0.9
        # Half of a second request is no better than half of the first.
        if parts:
            received, _seconds = await until_closed(port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", *parts)
            assert received.startswith(b"HTTP/1.1 200 OK")
            assert received.endswith(b"\r\n\r\n0")


async def test_a_trickle_gets_no_further() -> None:
    """A byte now and then does not extend the timeout, which is that of the whole request."""
    async with listening() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        began, ended = time.monotonic(), asyncio.create_task(reader.read())
        writer.write(b"GET / HTTP/1.1\r\n")
        while not ended.done():
            assert time.monotonic() - began < 20
            writer.write(b"A: b\r\n")
            await asyncio.wait([ended], timeout=PATIENCE / 8)
        # What came after the end resets the connection, so its end may be read as either.
        with contextlib.suppress(ConnectionResetError):
            assert await ended == b""
        writer.close()


async def test_a_request_that_is_there_may_take_its_time() -> None:
    async def slow(_request: Request) -> PlainTextResponse:
        await asyncio.sleep(3 * PATIENCE)
        return PlainTextResponse("done")

    app = Bounded(Starlette(routes=[Route("/", slow, methods=["GET", "POST"])]))
    async with listening(app) as port, httpx.AsyncClient(verify=NO_TLS, timeout=20) as client:
        # Twice on one connection.
        for _number in range(2):
            assert (await client.post(f"http://127.0.0.1:{port}/", content=b"x" * 200_000)).text == "done"


async def test_an_answer_that_is_not_read_is_not_kept_for_ever() -> None:
    async def large(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("a" * 20_000_000)

    listener, port = Listener(Bounded(Starlette(routes=[Route("/", large)])), received_within=PATIENCE), free_port()
    await listener.open("127.0.0.1", port, None)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**10)
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    async with asyncio.timeout(20):
        while listener._state.connections:  # noqa: ASYNC110 - the client reads nothing that would tell it
            await asyncio.sleep(0.05)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(20_000_000)
    writer.close()
    await listener.close()


@pytest.fixture
async def metal(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with sandbox_in(tmp_path / "state", strict=False) as running:
        yield running


APPS: dict[str, tuple[Callable[..., ASGIApp], str, int]] = {
    "Metal API": (create_metal_app, "/projects", bodies.LARGEST),
    "control API": (create_metal_app, "/_sandbox/devices", bodies.LARGEST),
    "boot service": (create_boot_app, "/events", bodies.LARGEST_UNKNOWN),
    "metadata service": (create_metadata_app, "/metadata", bodies.LARGEST_UNKNOWN),
}


@pytest.mark.parametrize("name", APPS)
async def test_a_body_that_is_too_large_is_refused_before_it_is_read(metal: Sandbox, name: str) -> None:
    make, path, largest = APPS[name]
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nX-Auth-Token: {metal.world.token}\r\n"
    piece = b"10000\r\n" + b" " * 2**16 + b"\r\n"
    async with listening(make(metal.world), 60) as port:
        # None of them is sent to its end.
        for parts in (
            [f"{head}Content-Length: {100 * 2**20}\r\n\r\n".encode()],
            [f"{head}Content-Length: {100 * 2**20}\r\nExpect: 100-continue\r\n\r\n".encode()],
            [f"{head}Transfer-Encoding: chunked\r\n\r\n".encode(), *[piece] * (largest // 2**16 + 1)],
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.writelines(parts)
            async with asyncio.timeout(20):
                received = await reader.readuntil(f"{largest} bytes".encode())
            assert received.startswith(b"HTTP/1.1 413 ")
            assert b"connection: close" in received.lower()
            writer.close()
        # The largest that is allowed.
        async with httpx.AsyncClient(verify=NO_TLS, timeout=60, headers={"X-Auth-Token": metal.world.token}) as client:
            within = await client.post(f"http://127.0.0.1:{port}{path}", content=b" " * largest)
        assert within.status_code != 413


async def test_a_client_that_sends_all_of_it_can_read_why_it_was_refused(metal: Sandbox) -> None:
    """It would be reset in the middle of its sending if nobody read the rest."""

    async def content() -> AsyncIterator[bytes]:
        for _number in range(480):
            yield b" " * 2**16

    for headers in ({}, {"Content-Length": str(480 * 2**16)}):
        answer = await metal.api.post("/projects", content=content(), headers=headers)
        assert (answer.status_code, answer.headers["connection"]) == (413, "close")


async def test_who_goes_away_while_it_sends_leaves_no_trace(metal: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        _reader, writer = await asyncio.open_connection("127.0.0.1", int(metal.url.rpartition(":")[2]))
        writer.write(b"POST /projects HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await metal.api.get("/user")).status_code == 200
    assert caplog.records == []
    assert [each["path"] for each in (await metal.control.get("/journal")).json()["journal"]] == ["/metal/v1/user"]


async def test_what_is_no_http(metal: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever bytes come, the answer is one of HTTP or none, nothing is logged as an error, and the next client is served."""
    chance = random.Random(413)  # noqa: S311 - the same each time
    good = (
        b"POST /metal/v1/projects?page=1 HTTP/1.1\r\nHost: a\r\nX-Auth-Token: " + metal.world.token.encode() + b"\r\n"
        b"Connection: close\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n" + b'{"name":"a"}'
    )

    def mutated() -> bytes:
        text = bytearray(good)
        for _number in range(chance.randint(1, 6)):
            at = chance.randrange(len(text))
            kind = chance.randrange(4)
            if kind == 0:
                text[at] = chance.randrange(256)
            elif kind == 1:
                text[at:at] = chance.randbytes(chance.randint(1, 20))
            elif kind == 2:
                del text[at : at + chance.randint(1, 20)]
            else:
                text[at:at] = chance.choice([b"\r\n", b"\0", b"%00", b"%FF", b"..", b"//", b"Transfer-Encoding: chunked\r\n", b"\xff" * 50])
        return bytes(text)

    statuses = set()
    with caplog.at_level(logging.ERROR):
        async with listening(create_metal_app(metal.world)) as port:
            for _round in range(15):
                for received, _seconds in await asyncio.gather(*(until_closed(port, mutated()) for _number in range(20))):
                    assert not received or received.startswith(b"HTTP/1.1 "), received[:100]
                    statuses.add(received[9:12])
            async with httpx.AsyncClient(verify=NO_TLS) as client:
                answer = await client.get(f"http://127.0.0.1:{port}/user", headers={"X-Auth-Token": metal.world.token})
                assert json.loads(answer.content)["id"]
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert b"500" not in statuses
    assert {b"201", b"400", b"401"} <= statuses
