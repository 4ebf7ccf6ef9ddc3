# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated machine: its folder, disks, console and network card.

Folder of a machine (all of it survives ``kill -9``; writes replace whole files):

    machine.json   where it is on its way: stage, what was booted
    disks/<name>.json   what a drive holds; no file: a blank drive
    console.log    the serial console, as SOS would show it
    screen.log     everything, also what no serial console shows, and the sandbox's own remarks
    system/        what the installed system keeps (``Machine.directory``)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import shutil
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from metal_api.core.machines import Hardware
from metal_api.listener import open_socket
from sandbox.clock import Clock
from sandbox.loopback import is_private
from sandbox.machines import Userland, elastic
from sandbox.machines.announcements import Announcements
from sandbox.machines.network import AT_ONCE, BoundHTTP, Card, NameService
from sandbox.machines.outside import Outside
from sandbox.metal.attachment import Attachment, AttachmentOf

LOG = logging.getLogger(__name__)

PACKET_URL = "https://metadata.packet.net"
"""The metadata service of Ignition's platform packet: no system can be configured with another address."""

LOG_LIMIT = 1024 * 1024
"""A machine that loops for days must not fill the disk: a full log starts again."""


class Hung(Exception):  # noqa: N818 - a state of the machine, not an error
    """The machine waits forever; the message has the reason."""


class Rebooting(Exception):  # noqa: N818 - as above
    """The system requested a reboot."""


@dataclass(frozen=True)
class Site:
    """The data centre around machines.

    ``boot_url`` is the boot service of a facility, ``metadata_url`` its metadata service; ``name_server`` is what DHCP offers. Ignition's
    platform packet reads ``packet_url``; systems trust ``public_ca`` as a public CA. ``seed`` makes durations repeatable. Without
    ``outside``, nothing outside can be reached. ``attachment``: without one all ports are in layer 3. ``turns`` is shared by all machines.
    """

    clock: Clock
    boot_url: str
    metadata_url: str
    name_server: tuple[str, int]
    packet_url: str = PACKET_URL
    public_ca: bytes | None = None
    seed: int = 0
    outside: Outside | None = None
    announcements: Announcements = field(default_factory=Announcements)
    attachment: AttachmentOf = lambda _device_id: Attachment()
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))


class Host:
    """The :class:`sandbox.machines.Machine` of this sandbox."""

    def __init__(self, hardware: Hardware, folder: Path, site: Site) -> None:
        self.site = site
        self._userland: Userland | None = None
        self._card: Card | None = None
        self._hardware = hardware
        self.folder = folder
        self._names: NameService
        self._http: BoundHTTP
        self.reset_network()
        # Text, not hash(): the same on every run with the same seed.
        self._dice = random.Random(f"{site.seed} {hardware.hostname}")  # noqa: S311 - durations, not secrets
        self.serial = True
        folder.mkdir(parents=True, exist_ok=True)
        self.state: dict[str, Any] = {}
        saved = folder / "machine.json"
        if saved.exists():
            self.state = json.loads(saved.read_text(encoding="utf-8"))

    # -- Machine

    @property
    def hardware(self) -> Hardware:
        return self._hardware

    @property
    def clock(self) -> Clock:
        return self.site.clock

    @property
    def directory(self) -> Path:
        path = self.folder / "system"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def http(self) -> BoundHTTP:
        return self._http

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(address for address in (self._http.address, self._http.private_address) if address)

    def configure_private(self, address: str) -> None:
        # State of a sandbox before private addresses were loopback addresses has others.
        self._http.private_address = address if is_private(address) else ""

    @property
    def address(self) -> str:
        return self._http.address

    def configure(self, address: str, is_connected: Callable[[], bool]) -> None:
        make_names, make_http = (self._card.names, self._card.http) if self._card is not None else (NameService, BoundHTTP)
        self._names = make_names(self.site.name_server, address)
        self._http = make_http(address, self._names, self.site.turns, self.site.outside, is_connected)

    def reset_network(self) -> None:
        """Use the address of DHCP again, as each boot does at first."""
        self.configure(self.hardware.address, lambda: self.attachment().layer3)

    def is_connected(self) -> bool:
        return self._http.is_connected()

    def attachment(self) -> Attachment:
        return self.site.attachment(self.hardware.device_id)

    async def listen(self, address: str, port: int) -> socket.socket:
        return await self._card.listen(address, port) if self._card is not None else open_socket(address, port)

    @property
    def userland(self) -> Userland | None:
        return self._userland

    @contextlib.contextmanager
    def with_userland(self, userland: Userland, card: Card) -> Iterator[None]:
        """The installed system runs, with a network card of its own: all connections of the machine are by it."""
        self._userland, self._card = userland, card
        self.reset_network()
        try:
            yield
        finally:
            self._userland, self._card = None, None
            self.reset_network()

    async def report(self, state: str, message: str) -> None:
        LOG.info("%s: %s: %s", self.hardware.hostname, state, message)
        self._append("screen.log", f"event {state}: {message}")
        await self.post(f"{self.site.boot_url}/events", {"state": state, "message": message})

    async def report_at(self, metadata_url: str, state: str, message: str) -> None:
        """Post an event as scripts of a system do: to the address in the metadata, and nothing where no service answers."""
        try:
            response = await self.http.request("GET", metadata_url, ca_pem=self.site.public_ca)
            url = response.json().get("phone_home_url") if response.is_success else None
        except (httpx.TransportError, ValueError, AttributeError) as error:
            self.remark(f"no event was sent, {metadata_url} does not answer: {error}")
            return
        if url:
            await self.post(str(url).removesuffix("/phone-home") + "/events", {"state": state, "message": message})

    async def announce(self, address: str, metadata_url: str, is_healthy: Callable[[], Awaitable[bool]]) -> None:
        await elastic.announce(self, address, metadata_url, is_healthy)

    def add_address(self, address: str, own_address: str) -> None:
        self.site.announcements.answer_arp(self.hardware.device_id, address, own_address)

    def remove_address(self, address: str) -> None:
        self.site.announcements.remove(self.hardware.device_id, address)

    async def resolve(self, name: str) -> list[str]:
        return await self._names.resolve(name)

    def console(self, line: str) -> None:
        self._append("screen.log", line)
        if self.serial:
            self._append("console.log", line)

    # -- what the walk needs beside that

    @property
    def uefi(self) -> bool:
        """Whether the firmware is UEFI: all arm64 and the third generation's later plans; the others boot by BIOS."""
        return self.hardware.architecture == "aarch64" or self.hardware.plan.startswith(("m3.", "n3.", "s3.", "a3.", "f3.", "w3."))

    @property
    def serial_console(self) -> str:
        """The kernel's name of the port SOS is wired to."""
        return "ttyAMA0" if self.hardware.architecture == "aarch64" else "ttyS1"

    def remark(self, line: str) -> None:
        """Write a remark of the sandbox, which no console of a real machine would show."""
        self._append("screen.log", f"[sandbox] {line}")

    async def take(self, shortest: float, longest: float) -> None:
        """Let simulated seconds pass: between the two, the same for the same seed and machine."""
        await self.clock.sleep(self._dice.uniform(shortest, longest))

    async def post(self, url: str, body: dict[str, Any] | None) -> None:
        """POST JSON, or nothing at all; failures are only logged, as by the tools this plays."""
        content = b"" if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"content-type": "application/json"}
        try:
            response = await self.http.request("POST", url, headers=headers, content=content)
        except httpx.TransportError as error:
            LOG.warning("%s: POST %s: %s", self.hardware.hostname, url, error)
        else:
            if not response.is_success:
                LOG.warning("%s: POST %s: HTTP %d", self.hardware.hostname, url, response.status_code)

    def at(self, stage: str, **details: Any) -> None:
        """Remember where the machine is. ``details`` replace those of the stage before."""
        kept = {key: self.state[key] for key in ("mode",) if key in self.state}
        self.state = {**kept, "stage": stage, **details}
        self._save()

    def set_mode(self, mode: str) -> None:
        """``install``, ``rescue`` or ``run``: what the next network boot is for."""
        self.state["mode"] = mode
        self._save()

    def disk(self, name: str) -> dict[str, Any] | None:
        """What is on a drive, ``None`` when it is blank."""
        path = self._disk_path(name)
        if not path.exists():
            return None
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def write_disk(self, name: str, content: dict[str, Any]) -> None:
        _replace(self._disk_path(name), content)

    def wipe(self, name: str) -> None:
        self._disk_path(name).unlink(missing_ok=True)

    def bootable(self) -> tuple[str, dict[str, Any]] | None:
        """The first drive with a boot loader, in the firmware's order."""
        for drive in self.hardware.drives:
            content = self.disk(drive.name)
            if content is not None:
                return drive.name, content
        return None

    def wipe_system(self) -> None:
        """Forget what the installed system kept."""
        shutil.rmtree(self.folder / "system", ignore_errors=True)

    def _disk_path(self, name: str) -> Path:
        return self.folder / "disks" / (name.removeprefix("/dev/").replace("/", "_") + ".json")

    def _save(self) -> None:
        _replace(self.folder / "machine.json", self.state)

    def _append(self, name: str, line: str) -> None:
        path = self.folder / name
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(".old"))
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n")


def _replace(path: Path, content: dict[str, Any]) -> None:
    """Write JSON for the owner's eyes only (embedded configs are secrets), all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(content), encoding="utf-8")
    fresh.replace(path)
