"""Killed with -9 and started again, the API knows all it had answered for, and goes on with what was under way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.sandbox.metal.conftest import NO_TLS, free_port, sandbox_in

ROOT = Path(__file__).resolve().parents[3]


class Process:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.ports = [free_port() for _unused in range(3)]
        self.process: asyncio.subprocess.Process | None = None
        self.facts: dict[str, str] = {}

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.sandbox.metal.serving", str(self.state), *map(str, self.ports), cwd=ROOT, stdin=pipe, stdout=pipe
        )
        self.facts = await self.line()

    async def line(self) -> Any:
        assert self.process is not None
        assert self.process.stdout is not None
        text = await asyncio.wait_for(self.process.stdout.readline(), 20)
        return json.loads(text)

    async def calls(self) -> list[list[str]]:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(b"calls\n")
        found: list[list[str]] = await self.line()
        return found

    async def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def client(self) -> httpx.AsyncClient:
        base = f"http://127.0.0.1:{self.ports[0]}/metal/v1/projects/{self.facts['project']}"
        return httpx.AsyncClient(base_url=base, headers={"X-Auth-Token": self.facts["token"]}, verify=NO_TLS, timeout=20)


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[Process]:
    running = Process(tmp_path / "state")
    try:
        yield running
    finally:
        await running.kill()


async def test_kill_under_load_loses_nothing(process: Process) -> None:
    await process.start()
    facts = dict(process.facts)
    answered: dict[str, str] = {}
    given_back: set[str] = set()

    async def order(client: httpx.AsyncClient, number: int) -> None:
        body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "hostname": f"n{number}"}
        try:
            answer = await client.post("/devices", json=body)
            vlan = await client.post("/virtual-networks", json={"metro": "da"})
        except httpx.TransportError:
            return
        assert answer.status_code == 201
        answered[answer.json()["id"]] = f"n{number}"
        if vlan.status_code == 201:
            with contextlib.suppress(httpx.TransportError):
                # Asked for, it may be gone or not; answered for, it is.
                await client.delete(f"http://127.0.0.1:{process.ports[0]}/virtual-networks/{vlan.json()['id']}")
                given_back.add(vlan.json()["id"])

    async with process.client() as client:
        orders = [asyncio.create_task(order(client, number)) for number in range(80)]
        while len(answered) < 30:  # noqa: ASYNC110 - the moment of the kill: the middle of the load
            await asyncio.sleep(0.005)
        await process.kill()
        await asyncio.gather(*orders, return_exceptions=True)
    assert len(answered) >= 30

    await process.start()
    assert process.facts == facts
    async with process.client() as client:
        deadline = time.monotonic() + 10
        while True:
            devices = {each["id"]: each for each in (await client.get("/devices", params={"per_page": 1000})).json()["devices"]}
            if all(each["state"] == "active" for each in devices.values()) or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        vlans = {each["id"] for each in (await client.get("/virtual-networks")).json()["virtual_networks"]}
    assert given_back.isdisjoint(vlans)
    assert {id_: devices[id_]["hostname"] for id_ in answered} == answered
    assert {each["state"] for each in devices.values()} == {"active"}
    addresses = [one["address"] for each in devices.values() for one in each["ip_addresses"]]
    assert len(addresses) == len(set(addresses)) == 3 * len(devices)


async def test_machines_that_were_on_are_restored(process: Process) -> None:
    await process.start()
    async with process.client() as client:
        body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "hostname": "one"}
        id_ = (await client.post("/devices", json=body)).json()["id"]
        root = f"http://127.0.0.1:{process.ports[0]}"
        while (await client.get(f"{root}/devices/{id_}")).json()["state"] != "active":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        # What the sandbox takes for granted happens just after the phone-home: that the machine is on.
        await process.calls()
        await process.kill()
        await process.start()
        assert await process.calls() == [["restore", id_]]
        assert (await client.delete(f"{root}/devices/{id_}")).status_code == 204
        await process.kill()
        await process.start()
        while (await client.get(f"{root}/devices/{id_}")).status_code != 404:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        assert await process.calls() == [["remove", id_]]


async def test_the_seed_decides_ids_and_token(tmp_path: Path) -> None:
    facts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        async with sandbox_in(tmp_path / name, seed=seed) as sandbox:
            facts.append((sandbox.world.token, sandbox.world.project_id))
    assert facts[0] == facts[1] != facts[2]
    async with sandbox_in(tmp_path / "a", seed=2) as again:
        assert (again.world.token, again.world.project_id) == facts[0]
