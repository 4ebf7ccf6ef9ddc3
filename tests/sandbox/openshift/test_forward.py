"""The forward from a machine's own port to the real API server."""

import asyncio
import socket

from sandbox.openshift.forward import Forward

PRIVATE = "127.190.3.1"


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
