"""A machine's name service, and its turn among all machines."""

import asyncio
import socket
import struct
from pathlib import Path

import httpx
import pytest

from sandbox.dns import DynamicZone, Server, keyring
from sandbox.machines.firewall import _filter
from sandbox.machines.network import BoundHTTP, NameService


async def test_who_asks_again_and_again_can_be_stopped_at_any_moment(tmp_path: Path) -> None:
    server = Server(DynamicZone("metal.test", tmp_path / "zone", keyring("k", "c2VjcmV0")))
    await server.start()
    names = NameService((server.address, server.port), "127.64.8.1")

    async def ask() -> None:
        while True:
            await names.resolve("api.demo.metal.test")

    asking = []
    for number in range(100):
        asking.append(asyncio.create_task(ask()))
        # One question takes about a millisecond: all moments of it.
        await asyncio.sleep(number * 0.00006)
        asking[-1].cancel()
    _done, left = await asyncio.wait(asking, timeout=30)
    for task in left:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=0.05)
    await server.stop()
    assert not left, f"{len(left)} of {len(asking)} went on"


@pytest.mark.parametrize("ends", ["by itself", "cancelled"])
async def test_a_machine_whose_packets_are_dropped_stops_no_other(ends: str) -> None:
    turns = asyncio.Semaphore(1)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()

    machine = BoundHTTP("127.64.8.1", NameService(("127.0.0.1", 1), "127.64.8.1"), turns)
    other = BoundHTTP("127.64.8.3", NameService(("127.0.0.1", 1), "127.64.8.3"), turns)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        _filter(closed, ())
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            waits = asyncio.create_task(machine.request("GET", f"http://127.0.0.1:{closed.getsockname()[1]}/", timeout=3))
            await asyncio.sleep(0)
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            assert (await other.request("GET", url)).status_code == 204
            assert not waits.done()
            if ends == "cancelled":
                waits.cancel()
            with pytest.raises((httpx.ConnectTimeout, asyncio.CancelledError)):
                await waits
    assert not turns.locked()


@pytest.mark.parametrize("ends", ["with a FIN", "with a RST"])
@pytest.mark.parametrize(("method", "answers"), [("GET", True), ("POST", False)])
async def test_a_connection_that_the_server_ended_is_replaced(method: str, answers: bool, ends: str) -> None:
    """As a server with an idle timeout does, in the moment in which the client sends its next request."""
    connections: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(0)
        while connections[-1] < (1 if len(connections) == 1 else 9):
            await reader.readuntil(b"\r\n\r\n")
            connections[-1] += 1
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
        await reader.readuntil(b"\r\n\r\n")
        if ends == "with a RST":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    machine = BoundHTTP("127.64.8.1", NameService(("127.0.0.1", 1), "127.64.8.1"))
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert (await machine.request("GET", url)).status_code == 204
        if answers:
            assert (await machine.request(method, url)).status_code == 204
        else:
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await machine.request(method, url)
        assert connections == [1, 1][: 2 if answers else 1]
        await machine.close()
