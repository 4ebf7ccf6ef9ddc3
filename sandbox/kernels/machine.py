# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine with a kernel: its QEMU, which starts the kernel without firmware, its cables, and a shell on its second serial port."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from metal_api.process import start_child
from sandbox.containers.command import run
from sandbox.kernels.image import Image
from sandbox.rack.machine import QEMU
from sandbox.rack.qmp import Qmp

BOOTS_WITHIN: Final = 600.0
"""Seconds until a machine runs the shell, on a busy computer without virtualization."""
ANSWERS_WITHIN: Final = 300.0
_POLL: Final = 0.1
# A busy computer does not emulate timers in time for the check of them.
_KERNEL: Final = ("root=/dev/nvme0n1", "rw", "console=ttyS0", "loglevel=3", "mitigations=off", "no_timer_check", "panic=-1")
_SYSTEMD: Final = ("systemd.show_status=true", "systemd.getty_auto=no")


class MachineError(Exception):
    """The machine did not start, or a command in it failed; the message has the output."""


@dataclass(frozen=True)
class Card:
    """A network card. ``backend``: QEMU's option for what it is connected to, without its id."""

    mac: str
    backend: str

    @classmethod
    def cable(cls, mac: str, name: str, *, from_switch: bool = False) -> Card:
        """Return one end of a cable: two sockets in the common folder of the machines, one of each end."""
        own, other = (f"{name}.{end}" for end in (("switch", "machine") if from_switch else ("machine", "switch")))
        return cls(mac, f"dgram,local.type=unix,local.path={own},remote.type=unix,remote.path={other}")

    @classmethod
    def tap(cls, mac: str, interface: str) -> Card:
        """Return a card whose other end is an interface of this computer."""
        return cls(mac, f"tap,ifname={interface},script=no,downscript=no")


@dataclass
class Machine:
    """``folder``: the common one of the machines. ``process``: the first program of the kernel, with its environment.

    ``config``: of Ignition, for the first boot. ``disks``: further options of QEMU.
    """

    name: str
    folder: Path
    image: Image
    cards: Sequence[Card] = ()
    process: str = "/usr/libexec/boot"
    environment: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=lambda: {"ignition": {"version": "3.2.0"}})
    disks: Sequence[str] = ()
    memory_mb: int = 768

    def __post_init__(self) -> None:
        self._disk = self.folder / f"{self.name}.qcow2"
        self._process: asyncio.subprocess.Process | None = None
        self._qmp: Qmp | None = None
        self._shell: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._numbers = itertools.count()

    @property
    def console(self) -> Path:
        """What it writes to its first serial port."""
        return self.folder / f"{self.name}.console"

    @property
    def is_on(self) -> bool:
        return self._process is not None

    async def power_on(self) -> None:
        """Start it, and wait for its shell. Raises :class:`MachineError`."""
        config = self.folder / f"{self.name}.ign"
        config.write_text(json.dumps(self.config), encoding="utf-8")
        if not self._disk.exists():
            base = ("-F", "raw", "-b", str(self.image.disk))
            await run("qemu-img", "create", "-q", "-f", "qcow2", *base, str(self._disk))
        for name in (f"{self.name}.qmp", f"{self.name}.shell"):
            (self.folder / name).unlink(missing_ok=True)
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self._process = await start_child(self._command(), directory=self.folder, output=log)
        self._qmp = Qmp(await self._connect("qmp"), lambda _event, _data: None, lambda: None)
        self._shell = await asyncio.open_unix_connection(sock=await self._connect("shell"))
        async with self._answers(BOOTS_WITHIN, "boot"):
            while await self._shell[0].readline() != b"ready\n":
                self._check_on()

    async def lose_power(self) -> None:
        """End it at once: nothing is written to its disk any more."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        if self._process is not None:
            await self._process.wait()
        if self._shell is not None:
            self._shell[1].close()
        if self._qmp is not None:
            self._qmp.close()
        self._process = self._qmp = self._shell = None

    async def run(self, command: str, *, within: float = ANSWERS_WITHIN) -> str:
        """Run a command of the shell as root and return its output. Raises :class:`MachineError`."""
        code, output = await self.try_to(command, within=within)
        if code:
            raise MachineError(f"{self.name}: {command}: ended with {code}: {output}")
        return output

    async def try_to(self, command: str, *, within: float = ANSWERS_WITHIN) -> tuple[int, str]:
        """Return the exit code of a command and its output with its errors."""
        if self._shell is None:
            raise MachineError(f"{self.name} is off")
        reader, writer = self._shell
        end = f"end-{next(self._numbers)}"
        writer.write(f"( {command}\n) < /dev/null 2>&1; printf '\\n{end} %d\\n' $?\n".encode())
        lines: list[str] = []
        async with self._answers(within, command):
            while not (line := (await reader.readline()).decode(errors="replace")).startswith(end):
                self._check_on()
                lines.append(line)
        return int(line.split()[1]), "".join(lines).strip()

    def connect_card(self, number: int, *, up: bool) -> None:
        """Plug in the cable of a card, or pull it out: the card loses its carrier, and no frame passes."""
        if self._qmp is None:
            raise MachineError(f"{self.name} is off")
        self._qmp.command("set_link", name=f"card{number}", up=up)

    @contextlib.asynccontextmanager
    async def _answers(self, seconds: float, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise MachineError(f"{self.name}: {what}: no answer within {seconds:.0f} s; see {self.console}") from None

    def _check_on(self) -> None:
        if self._shell is None or self._shell[0].at_eof():
            log = (self.folder / f"{self.name}.log").read_text(errors="replace")
            raise MachineError(f"{self.name} has ended: {log[-500:]}; see {self.console}")

    async def _connect(self, name: str) -> socket.socket:
        path = self.folder / f"{self.name}.{name}"
        async with self._answers(BOOTS_WITHIN, f"socket {name} of QEMU"):
            while True:
                connection = socket.socket(socket.AF_UNIX)
                try:
                    connection.connect(str(path))
                except OSError:
                    connection.close()
                    if self._process is None or self._process.returncode is not None:
                        raise
                    await asyncio.sleep(_POLL)
                else:
                    return connection

    def _command(self) -> list[str]:
        values = [f"{key}={value}" for key, value in self.environment.items()]
        arguments = " ".join([*_KERNEL, *_SYSTEMD, f"init={self.process}", *values])
        command = [
            *(QEMU, "-name", self.name, "-nodefaults", "-no-user-config", "-display", "none", "-action", "reboot=shutdown"),
            *("-machine", "q35", "-accel", "tcg", "-cpu", "max,la57=off", "-m", str(self.memory_mb), "-device", "virtio-rng-pci"),
            *("-kernel", str(self.image.kernel), "-append", arguments),
            *("-fw_cfg", f"name=opt/com.coreos/config,file={self.name}.ign"),
            *("-chardev", f"socket,id=qmp,path={self.name}.qmp,server=on,wait=off", "-mon", "chardev=qmp,mode=control"),
            *("-chardev", f"file,id=console,path={self.console.name},append=on", "-serial", "chardev:console"),
            *("-chardev", f"socket,id=shell,path={self.name}.shell,server=on,wait=off", "-serial", "chardev:shell"),
            *("-drive", f"if=none,id=root,file={self._disk.name},format=qcow2,cache=unsafe", "-device", "nvme,drive=root,serial=root"),
            *self.disks,
        ]
        for number, card in enumerate(self.cards):
            kind, _comma, options = card.backend.partition(",")
            command += ["-netdev", f"{kind},id=net{number},{options}"]
            # LACP takes no port whose speed is unknown.
            card_options = f"id=card{number},netdev=net{number},mac={card.mac},speed=10000,duplex=full,romfile="
            command += ["-device", f"virtio-net-pci,{card_options}"]
        return command
