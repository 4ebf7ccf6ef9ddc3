"""The forward from a machine's own port to the real API server."""

from __future__ import annotations

import asyncio
import socket

from sandbox.openshift.forward import Forward, _Near

PRIVATE = "127.190.3.1"


class Connected(asyncio.Transport):
    """A connection whose other side is this test."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self.answered = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data
        self.answered.set()

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        """As asyncio before Python 3.11.5 in connection_made(): it has no effect."""

    def resume_reading(self) -> None:
        """Never paused."""

    def abort(self) -> None:
        """Nothing to close."""


async def test_what_is_said_before_the_server_is_reached_arrives() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(len(b"early and late")))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        forward = Forward(server.sockets[0].getsockname)
        near, connected = _Near(forward), Connected()
        near.connection_made(connected)
        near.data_received(b"early ")
        near.data_received(b"and late")
        await asyncio.wait_for(connected.answered.wait(), 5)
        assert bytes(connected.sent) == b"early and late"
        await forward.close()


async def test_a_private_address_serves_devices_alone() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"the API")
        writer.close()

    async def read(port: int, source: str) -> bytes:
        reader, writer = await asyncio.open_connection(PRIVATE, port, local_addr=(source, 0))
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        forward = Forward(server.sockets[0].getsockname)
        with socket.create_server((PRIVATE, 0)) as probe:
            port = probe.getsockname()[1]
        await forward.open(PRIVATE, port)
        assert await read(port, "127.0.0.1") == b"", "the controller is in another network"
        for source in ("127.126.3.3", "127.190.3.3"):
            assert await read(port, source) == b"the API"
        await forward.close()


async def test_the_source_address_of_the_client_is_kept() -> None:
    sources: list[str] = []

    def seen(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sources.append(writer.get_extra_info("peername")[0])
        writer.close()

    server = await asyncio.start_server(seen, "127.0.0.1", 0)
    forward = Forward(server.sockets[0].getsockname)
    await forward.open("127.64.9.5", 0)
    for source in ("127.64.9.6", "127.0.0.1"):
        reader, writer = await asyncio.open_connection(*forward.sockets[0].getsockname(), local_addr=(source, 0))
        assert await reader.read() == b""
        writer.close()
    await forward.close()
    server.close()
    assert sources == ["127.64.9.6", "127.0.0.1"]
