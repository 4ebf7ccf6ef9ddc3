"""A Metal API on a free loopback port, with machines that do what a test tells them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp

from sandbox.clock import Clock
from sandbox.machines import Hardware
from sandbox.metal.app import create_boot_app, create_metadata_app, create_metal_app
from sandbox.metal.world import MetalWorld


class ScriptedMachines:
    """Notes every call. With ``boots`` a machine does at once what firmware and installer do: the boot service over HTTP, or phone-home."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.hardware: dict[str, Hardware] = {}
        self.boots = True
        self.boot_url = ""
        self.tasks: set[asyncio.Task[None]] = set()

    async def install(self, hw: Hardware) -> None:
        self._note("install", hw)
        if self.boots:
            task = asyncio.get_running_loop().create_task(self.boot(hw))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def boot(self, hw: Hardware) -> None:
        async with machine_client(self.boot_url, hw.address) as client:
            script = await client.get("/auto.ipxe")
            if script.status_code == 200:
                form = {"type": "provisioning.104.01", "body": "Device connected to DHCP system"}
                await client.post("/phone-home", data=form)
            else:
                await client.post("/phone-home")

    async def power_off(self, device_id: str) -> None:
        self.calls.append(("power_off", device_id))

    async def power_on(self, device_id: str, *, hw: Hardware) -> None:
        self._note("power_on", hw)

    async def reboot(self, device_id: str) -> None:
        self.calls.append(("reboot", device_id))

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        self._note("reinstall keep" if keep_disks else "reinstall", hw)
        if self.boots:
            await self.boot(hw)

    async def rescue(self, hw: Hardware) -> None:
        self._note("rescue", hw)

    async def remove(self, device_id: str) -> None:
        self.calls.append(("remove", device_id))

    async def restore(self, hw: Hardware) -> None:
        self._note("restore", hw)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()

    def _note(self, what: str, hw: Hardware) -> None:
        self.calls.append((what, hw.device_id))
        self.hardware[hw.device_id] = hw


def machine_client(url: str, address: str) -> httpx.AsyncClient:
    """A client that calls from the machine's own address."""
    return httpx.AsyncClient(base_url=url, transport=httpx.AsyncHTTPTransport(local_address=address))


def listener() -> socket.socket:
    # With the protocol named: only then asyncio switches Nagle off for what is accepted, and an answer does not wait 40 ms.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    return sock


def url_of(sock: socket.socket) -> str:
    return f"http://127.0.0.1:{sock.getsockname()[1]}"


@asynccontextmanager
async def serving(apps: dict[socket.socket, ASGIApp]) -> AsyncIterator[None]:
    servers = {
        sock: uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", access_log=False)) for sock, app in apps.items()
    }
    tasks = [asyncio.create_task(server.serve(sockets=[sock])) for sock, server in servers.items()]
    while not all(server.started for server in servers.values()):  # noqa: ASYNC110 - uvicorn offers no event to wait for
        await asyncio.sleep(0.005)
    try:
        yield
    finally:
        for server in servers.values():
            server.should_exit = True
        await asyncio.gather(*tasks)


@dataclass
class Sandbox:
    """A running one. ``api`` speaks the Metal API as its first user, ``control`` the control path."""

    world: MetalWorld
    machines: ScriptedMachines
    url: str
    api: httpx.AsyncClient
    control: httpx.AsyncClient
    boot_url: str
    metadata_url: str
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def project(self) -> str:
        return f"/projects/{self.world.project_id}"

    async def create(self, **body: Any) -> dict[str, Any]:
        defaults = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}
        answer = await self.api.post(f"{self.project}/devices", json={**defaults, **body})
        assert answer.status_code == 201, answer.text
        device: dict[str, Any] = answer.json()
        return device

    async def device(self, id_: str, **params: str) -> dict[str, Any]:
        answer = await self.api.get(f"/devices/{id_}", params=params)
        assert answer.status_code == 200, answer.text
        device: dict[str, Any] = answer.json()
        return device

    async def until(self, condition: Callable[[], bool], seconds: float = 5) -> None:
        """Wait for something of the world itself."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - the world announces nothing, tests look at it
                await asyncio.sleep(0.005)

    async def active(self, **body: Any) -> dict[str, Any]:
        device = await self.create(**body)
        await self.until(lambda: self.state(device["id"]) == "active")
        return await self.device(device["id"])

    async def errors(self, method: str, path: str, status: int = 422, **arguments: Any) -> list[str]:
        """The texts of an answer that has to be an error."""
        answer = await self.api.request(method, path, **arguments)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.headers["x-request-id"]
        texts: list[str] = answer.json()["errors"]
        return texts

    async def seed(self, count: int, **body: Any) -> list[str]:
        answer = await self.control.post("/devices", json={"count": count, **body})
        assert answer.status_code == 201, answer.text
        ids: list[str] = answer.json()["ids"]
        return ids

    def state(self, id_: str) -> str:
        device = self.world.store.devices.get(id_)
        return device.state if device is not None else "gone"


@asynccontextmanager
async def sandbox_in(state: Path, *, speed: float = 20_000, seed: int = 1) -> AsyncIterator[Sandbox]:
    api_sock, boot_sock, metadata_sock = listener(), listener(), listener()
    machines = ScriptedMachines()
    machines.boot_url = url_of(boot_sock)
    world = MetalWorld(
        state,
        Clock(speed),
        machines,
        boot_url=url_of(boot_sock),
        metadata_url=url_of(metadata_sock),
        seed=seed,
    )
    url = url_of(api_sock)
    apps = {api_sock: create_metal_app(world), boot_sock: create_boot_app(world), metadata_sock: create_metadata_app(world)}
    async with (
        serving(apps),
        httpx.AsyncClient(base_url=f"{url}/metal/v1", headers={"X-Auth-Token": world.token}, timeout=20) as api,
        httpx.AsyncClient(base_url=f"{url}/_sandbox", timeout=60) as control,
    ):
        await world.start()
        try:
            yield Sandbox(world, machines, url, api, control, url_of(boot_sock), url_of(metadata_sock))
        finally:
            await machines.close()
            await world.close()


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with sandbox_in(tmp_path / "state") as running:
        yield running
