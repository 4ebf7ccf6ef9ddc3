"""A machine's name service."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandbox.dns import DynamicZone, Server, keyring
from sandbox.machines.network import NameService


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
