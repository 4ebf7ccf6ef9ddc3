"""A small data centre for machines: boot service, metadata service, mirror and name server, each over real sockets."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import dns.tsigkeyring
import dns.update
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metal_api.core.machines import Drive, Hardware
from metal_api.listener import Listener
from sandbox.clock import Clock
from sandbox.dns import DynamicZone, Server, keyring
from sandbox.machines import Machine
from sandbox.machines.host import PACKET_URL, Site
from sandbox.machines.simulated import Silence, SimulatedMachines, no_silence
from tests.ports import free_port

FAST = 1_000_000.0
BUILD = "9.6.20251015-1"
POINTER: dict[str, Any] = {
    "ignition": {"version": "3.2.0"},
    "storage": {"files": [{"path": "/etc/mark", "contents": {"source": "data:,here"}}]},
}
"""The userdata of machines, unless a test has its own."""


def artefact(kind: str, build: str = BUILD, architecture: str = "x86_64") -> bytes:
    return f"sandbox-rhcos {kind} {build} {architecture}\n".encode() + b"\0" * 64


@dataclasses.dataclass
class Asked:
    """One request as a server saw it."""

    method: str
    path: str
    source: str
    headers: dict[str, str]
    body: bytes


class Web:
    """A web server of fixed answers: path to bytes, a status, or a function of the request."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | int | Callable[[Asked], bytes | int]] = {}
        self.asked: list[Asked] = []
        self.port = free_port()
        self._listener = Listener(Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "HEAD", "POST"])]))

    async def open(self, context: ssl.SSLContext | None = None) -> None:
        await self._listener.open("127.0.0.1", self.port, context)

    async def close(self) -> None:
        await self._listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _answer(self, request: Request) -> Response:
        client = request.client.host if request.client else ""
        asked = Asked(request.method, request.url.path, client, dict(request.headers), await request.body())
        self.asked.append(asked)
        answer = self.answers.get(request.url.path, 404)
        if callable(answer):
            answer = answer(asked)
        if isinstance(answer, int):
            return Response(status_code=answer)
        return Response(answer, media_type="text/plain")

    def paths(self, method: str = "GET") -> list[str]:
        return [asked.path for asked in self.asked if asked.method == method]


class Booted:
    """A system that only remembers that it was started, and with what."""

    def __init__(self, centre: DataCentre, machine: Machine, config: dict[str, Any]) -> None:
        self._centre = centre
        self._machine = machine
        self._config = config

    async def run(self) -> None:
        self._centre.booted.append((self._machine.hardware.hostname, self._config))
        self._centre.changed.set()
        await asyncio.Event().wait()


class DataCentre:
    """Everything around machines, and the machines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.web = Web()
        self.metadata = Web()
        self.events: list[tuple[str, str]] = []
        self.phoned: list[dict[str, Any] | str] = []
        self.booted: list[tuple[str, dict[str, Any]]] = []
        self.changed = asyncio.Event()
        self.boot = Web()
        self.zone = DynamicZone("metal.test", folder / "zone", keyring("k", "c2VjcmV0"))
        self.dns = Server(self.zone)
        self.clock = Clock(FAST)
        self.script: bytes | None = None
        self.always_pxe = False
        # A service that answers at the vendor's name; without it nothing does.
        self.vendor_names = True
        self.machines: SimulatedMachines

    async def open(self) -> None:
        for server in (self.web, self.metadata, self.boot):
            await server.open()
        await self.dns.start()
        self.boot.answers = {"/auto.ipxe": self._auto, "/phone-home": self._phone_home, "/events": self._event}
        metadata = {"hostname": "m0", "phone_home_url": f"{self.boot.url}/phone-home"}
        self.metadata.answers = {"/metadata": json.dumps(metadata).encode()}
        self.userdata(POINTER)
        self.web.answers = {f"/{kind}": artefact(kind) for kind in ("kernel", "initramfs", "rootfs")}
        self.machines = self.new_machines()

    def new_machines(self, *, silence: Silence = no_silence, **of_site: Any) -> SimulatedMachines:
        packet_url = self.metadata.url if self.vendor_names else PACKET_URL
        site = Site(self.clock, self.boot.url, self.metadata.url, (self.dns.address, self.dns.port), packet_url, **of_site)
        return SimulatedMachines(self.folder, site, lambda machine, config: Booted(self, machine, config), silence=silence)

    async def close(self) -> None:
        await self.machines.close()
        for server in (self.web, self.metadata, self.boot):
            await server.close()
        await self.dns.stop()

    def _auto(self, asked: Asked) -> bytes | int:
        return 404 if self.script is None else self.script

    def _phone_home(self, asked: Asked) -> bytes:
        text = asked.body.decode()
        self.phoned.append(text)
        # What Boots does when the script reports: from now on the disk boots.
        if "provisioning.104.01" in text and not self.always_pxe:
            self.script = None
        self.changed.set()
        return b""

    def _event(self, asked: Asked) -> bytes:
        body = json.loads(asked.body)
        self.events.append((body["state"], body["message"]))
        self.changed.set()
        return b""

    def name(self, name: str, *addresses: str) -> None:
        """Give ``name`` these addresses, by the way every record comes: a signed update."""
        update = dns.update.UpdateMessage("metal.test", keyring=dns.tsigkeyring.from_text({"k": ("hmac-sha256", "c2VjcmV0")}))
        update.delete(name + ".")
        for address in addresses:
            update.add(name + ".", 60, "A", address)
        self.zone.answer(update.to_wire(), tcp=True)

    def chain(self, script: str) -> None:
        """Let the boot service hand out what Boots does: a report, then the user's own script."""
        self.web.answers["/boot.ipxe"] = script.encode()
        self.script = (
            "#!ipxe\n\necho Packet.net Baremetal - iPXE boot\n\nset iface eth0 || shell\n"
            f"set tinkerbell {self.boot.url}\nset syslog_host 127.0.0.1\nset ipxe_cloud_config packet\n\n"
            "params\nparam body Device connected to DHCP system\nparam type provisioning.104.01\n"
            "imgfetch ${tinkerbell}/phone-home##params\nimgfree\n\nset packet_facility da11\nset packet_plan c3.small.x86\n"
            f"chain --autofree {self.web.url}/boot.ipxe\n"
        ).encode()

    def userdata(self, config: Any) -> None:
        self.metadata.answers["/userdata"] = config if isinstance(config, bytes) else json.dumps(config).encode()

    async def until(self, condition: Callable[[], bool], within: float = 30.0) -> None:
        """Wait for something a machine makes true: each report and each start of a system is a chance."""
        try:
            async with asyncio.timeout(within):
                while not condition():
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise AssertionError(f"did not come: events {self.events}\n{self.screen()}") from None

    async def installed(self) -> None:
        """Install a machine, and wait until its system boots."""
        await self.machines.install(hardware())
        await self.until(lambda: bool(self.booted))

    async def reported(self) -> None:
        """Install a machine, and wait for its first event."""
        await self.machines.install(hardware())
        await self.until(lambda: bool(self.events))

    async def failed(self) -> str:
        """Install a machine, wait until it has failed, and return the last message."""
        await self.machines.install(hardware())
        await self.until(lambda: any(state == "failed" for state, _unused in self.events))
        return self.events[-1][1]

    def screen(self, device_id: str = "d0") -> str:
        path = self.folder / "machines" / device_id / "screen.log"
        return path.read_text() if path.exists() else "(no screen)"

    def console(self, device_id: str = "d0") -> str:
        path = self.folder / "machines" / device_id / "console.log"
        return path.read_text() if path.exists() else "(no console)"


@pytest.fixture
async def centre(tmp_path: Path) -> AsyncIterator[DataCentre]:
    built = DataCentre(tmp_path)
    await built.open()
    yield built
    await built.close()


def hardware(number: int = 0, **changed: Any) -> Hardware:
    made = Hardware(
        device_id=f"d{number}",
        hostname=f"m{number}",
        address=f"127.64.9.{number + 1}",
        plan="c3.small.x86",
        architecture="x86_64",
        drives=(Drive("/dev/sda", 480), Drive("/dev/sdb", 480)),
        macs=("0c:42:a1:00:00:01", "0c:42:a1:00:00:02"),
        operating_system="custom_ipxe",
    )
    return dataclasses.replace(made, **changed)


def script(web: Web, arguments: str = "", *, install: str = "coreos.inst.install_dev=/dev/sda coreos.inst.platform_id=packet") -> str:
    """The usual boot script of an RHCOS install."""
    return (
        "#!ipxe\n"
        f"kernel {web.url}/kernel initrd=main coreos.live.rootfs_url={web.url}/rootfs {install} console=ttyS1,115200n8 {arguments}\n"
        f"initrd --name main {web.url}/initramfs\n"
        "boot\n"
    )
