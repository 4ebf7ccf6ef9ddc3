"""A Metal API on a free loopback port, with machines that a test controls."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from metal_api.app import create_boot_app, create_machines_app, create_metadata_app, create_metal_app
from metal_api.boot import BootMedia
from metal_api.core.machines import Hardware
from metal_api.core.world import Environment, MetroNetwork
from metal_api.listener import Listener
from metal_api.servers import FoundServer, Servers
from metal_api.world import MetalWorld
from sandbox.clock import Clock
from sandbox.control import PATH as CONTROL_PATH
from sandbox.loopback import PUBLIC, private_network
from sandbox.metal.control import control_app
from sandbox.metal.world import SandboxWorld, environment_of_sandbox, of_sandbox
from tests.ports import free_ports
from tests.postgres import Postgres, postgres

# Nothing speaks TLS here; reading the system's certificates for every client would take longer than the tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class ScriptedMachines:
    """Notes every call. With ``boots`` a machine does at once what firmware and installer do: the boot service over HTTP, or phone-home."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.hardware: dict[str, Hardware] = {}
        self.boots = True
        self.proceed = asyncio.Event()
        """While it is cleared, neither a power off nor a reinstallation ends."""
        self.proceed.set()
        self.boot_url = ""
        self.tasks: set[asyncio.Task[None]] = set()

    async def start(self, world: MetalWorld) -> None:
        """Begin, before the world does."""

    async def install(self, hw: Hardware) -> None:
        self._note("install", hw)
        self._boot_soon(hw)

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
        await self.proceed.wait()

    async def power_on(self, device_id: str, *, hw: Hardware) -> None:
        self._note("power_on", hw)

    async def reboot(self, device_id: str) -> None:
        self.calls.append(("reboot", device_id))

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        self._note("reinstall keep" if keep_disks else "reinstall", hw)
        await self.proceed.wait()
        if self.boots:
            await self.boot(hw)

    async def rescue(self, hw: Hardware) -> None:
        self._note("rescue", hw)

    async def remove(self, device_id: str) -> None:
        self.calls.append(("remove", device_id))

    async def restore(self, hw: Hardware, *, is_on: bool) -> None:
        self._note("restore" if is_on else "restore off", hw)
        if is_on:
            self._boot_soon(hw)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()

    def _boot_soon(self, hw: Hardware) -> None:
        if self.boots:
            task = asyncio.get_running_loop().create_task(self.boot(hw))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def _note(self, what: str, hw: Hardware) -> None:
        self.calls.append((what, hw.device_id))
        self.hardware[hw.device_id] = hw


def machine_client(url: str, address: str) -> httpx.AsyncClient:
    """A client that calls from the machine's own address."""
    return httpx.AsyncClient(base_url=url, transport=httpx.AsyncHTTPTransport(local_address=address, verify=NO_TLS))


@asynccontextmanager
async def serving(apps: dict[int, ASGIApp]) -> AsyncIterator[None]:
    """Each application on its port, by the listener the sandbox itself uses."""
    listeners = [Listener(app) for app in apps.values()]
    for port, each in zip(apps, listeners, strict=True):
        await each.open("127.0.0.1", port, None)
    try:
        yield
    finally:
        for each in listeners:
            await each.close()


@dataclass
class Api:
    """A running Metal API. ``api`` speaks it as its first user."""

    world: MetalWorld
    machines: ScriptedMachines
    url: str
    api: httpx.AsyncClient
    boot_url: str
    metadata_url: str

    @property
    def project(self) -> str:
        return f"/projects/{self.world.project_id}"

    def caller(self, token: str) -> httpx.AsyncClient:
        """Another caller than the first user."""
        return httpx.AsyncClient(base_url=f"{self.url}/metal/v1", headers={"X-Auth-Token": token}, verify=NO_TLS)

    async def post(self, path: str, body: dict[str, Any], **query: str) -> dict[str, Any]:
        """What a POST creates. ``path``: of the project, unless it begins with a slash."""
        answer = await self.api.post(path if path.startswith("/") else f"{self.project}/{path}", json=body, params=query)
        assert answer.is_success, answer.text
        created: dict[str, Any] = answer.json() if answer.content else {}
        return created

    async def create(self, **body: Any) -> dict[str, Any]:
        defaults = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}
        return await self.post("devices", {**defaults, **body})

    async def device(self, id_: str, **params: str) -> dict[str, Any]:
        answer = await self.api.get(f"/devices/{id_}", params=params)
        assert answer.status_code == 200, answer.text
        device: dict[str, Any] = answer.json()
        return device

    async def until(self, condition: Callable[[], bool], seconds: float = 30) -> None:
        """Wait for something of the world itself."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - the world sends no events, tests poll it
                await asyncio.sleep(0.005)

    async def active(self, **body: Any) -> dict[str, Any]:
        device = await self.create(**body)
        await self.until(lambda: self.state(device["id"]) == "active")
        return await self.device(device["id"])

    async def refused(self, path: str, body: dict[str, Any]) -> list[str]:
        """The texts of a refused POST. ``path``: as of :meth:`post`."""
        return await self.errors("POST", path if path.startswith("/") else f"{self.project}/{path}", json=body)

    async def errors(self, method: str, path: str, status: int = 422, **arguments: Any) -> list[str]:
        """The texts of an answer that has to be an error."""
        answer = await self.api.request(method, path, **arguments)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.headers["x-request-id"]
        texts: list[str] = answer.json()["errors"]
        return texts

    async def events(self, id_: str) -> list[str]:
        """Types and texts of a device's events."""
        answer = await self.api.get(f"/devices/{id_}/events", params={"per_page": "1000"})
        return [f"{each['type']}: {each['body']}" for each in answer.json()["events"]]

    def state(self, id_: str) -> str:
        device = self.world.store["devices"].get(id_)
        return device.state if device is not None else "gone"


@dataclass
class Sandbox(Api):
    """That of a sandbox. ``control`` speaks the control API."""

    world: SandboxWorld
    control: httpx.AsyncClient

    def be_rack(self, monkeypatch: pytest.MonkeyPatch, networks: dict[str, MetroNetwork], *found: FoundServer, url: str = "") -> None:
        """Give metros plain networks, and report these servers. ``url``: of the services for devices."""
        environment = environment_of_sandbox(url or self.boot_url, url, "", "", networks=networks, boot_timeout=60)
        monkeypatch.setattr(self.world, "environment", environment)
        self.world.service(Servers).refresh(found)

    async def seed(self, count: int, **body: Any) -> list[str]:
        answer = await self.control.post("/devices", json={"count": count, **body})
        assert answer.status_code == 201, answer.text
        ids: list[str] = answer.json()["ids"]
        return ids


@asynccontextmanager
async def clients(url: str, token: str, hooks: Sequence[Any]) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """A client of the Metal API with a token, whose answers go through ``hooks``, and one of the control API."""
    headers, then = {"X-Auth-Token": token}, {"response": list(hooks)}
    async with (
        httpx.AsyncClient(base_url=f"{url}/metal/v1", headers=headers, timeout=20, verify=NO_TLS, event_hooks=then) as api,
        httpx.AsyncClient(base_url=f"{url}/_sandbox", timeout=60, verify=NO_TLS) as control,
    ):
        yield api, control


@asynccontextmanager
async def sandbox_in(
    state: Path,
    *,
    speed: float = 20_000,
    ports: tuple[int, int, int] | None = None,
    strict: bool = True,
    machines: ScriptedMachines | None = None,
    **environment: Any,
) -> AsyncIterator[Sandbox]:
    """``strict``: every good answer that ``api`` gets is read with the models of a foreign client.

    ``environment``: fields of :class:`metal_api.core.world.Environment`.
    """
    hooks = []
    if strict:
        # The models take seconds to load: not for the processes that are killed and started again.
        from tests.metal_api.contract import check  # noqa: PLC0415 - see above

        hooks = [check]
    api_port, boot_port, metadata_port = ports or free_ports(3)
    url, boot_url, metadata_url = (f"http://127.0.0.1:{port}" for port in (api_port, boot_port, metadata_port))
    machines = machines or ScriptedMachines()
    machines.boot_url = boot_url
    world = SandboxWorld(
        state,
        Clock(speed),
        machines,
        environment=environment_of_sandbox(boot_url, metadata_url, str(PUBLIC), private_network(str(PUBLIC)), **environment),
        owner=of_sandbox(1),
    )
    apps = {
        api_port: create_metal_app(world, {CONTROL_PATH: control_app(world)}),
        boot_port: create_boot_app(world),
        metadata_port: create_metadata_app(world),
    }
    async with serving(apps), clients(url, world.token, hooks) as (api, control):
        await machines.start(world)
        await world.start()
        try:
            yield Sandbox(world, machines, url, api, boot_url, metadata_url, control)
        finally:
            await machines.close()
            await world.close()


@asynccontextmanager
async def rack_of(state: Path, machines: ScriptedMachines, **environment: Any) -> AsyncIterator[Api]:
    """A Metal API server as a rack has it. ``environment``: fields of :class:`metal_api.core.world.Environment`."""
    port, boot_port = free_ports(2)
    url, boot_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{boot_port}"
    machines.boot_url = boot_url
    fields = Environment(boot_url, boot_url, "192.0.2.0/24", "198.51.100.0/24", **environment)
    world = MetalWorld(state, machines, environment=fields, owner=of_sandbox(1))
    apps = {port: create_metal_app(world), boot_port: create_machines_app(world, BootMedia(state))}
    async with serving(apps), clients(url, world.token, []) as (api, _control):
        await world.start()
        try:
            yield Api(world, machines, url, api, boot_url, boot_url)
        finally:
            await machines.close()
            await world.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgres]:
    """Each test has a database of its own there."""
    with postgres() as running:
        yield running


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with sandbox_in(tmp_path / "state") as running:
        yield running
