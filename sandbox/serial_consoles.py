# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The serial consoles of devices over SSH, as the vendor's SOS (Serial over SSH): ``ssh ID@HOST`` with an SSH key of the project or of
one of its users.

As on the vendor's service a session shows what comes from now on, and a device has one session at a time. Ours: it is read-only, and the
command ``log`` (``ssh ID@HOST log``) prints all that the console has shown since the device was ordered, and ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import asyncssh

from metal_api.accounts.members import members
from metal_api.accounts.record import Project
from metal_api.core.world import World
from metal_api.devices.record import Device
from metal_api.ssh_keys import SshKey, public_data
from metal_api.state_folder import write_private

READ: Final = "log"
"""The command that prints what a console has shown."""
_INTERVAL: Final = 0.2
"""Seconds between two reads of a console that is followed: nothing signals that a file has grown."""
_BLOCK: Final = 1 << 16


class SerialConsoles:
    """``machines``: folder with ``<device id>/console.log``. ``host_key``: file of the private host key, made if it does not exist."""

    def __init__(self, world: World, machines: Path, host_key: Path) -> None:
        self._world, self._machines = world, machines
        if not host_key.exists():
            write_private(host_key, asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        self._host_key = asyncssh.read_private_key(host_key)
        self._in_use: set[str] = set()
        self._server: asyncssh.SSHAcceptor | None = None

    async def open(self, address: str, port: int) -> None:
        """Listen. Raises OSError."""
        self._server = await asyncssh.create_server(
            lambda: _Login(self),
            address,
            port,
            server_host_keys=[self._host_key],
            process_factory=self._session,
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            x11_forwarding=False,
            reuse_address=True,
        )

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def keys_of(self, device_id: str) -> Iterator[bytes]:
        """Return the public keys that open the console of a device: of its project, and of the users with access to that."""
        store = self._world.store
        device = store[Device].get(device_id)
        project = store[Project].get(device.project_id) if device is not None else None
        if project is None:
            return
        keys = [*store[SshKey].matching("project", project.id)]
        for user in members(store, project):
            keys += store[SshKey].matching("user", user.id)
        for key in keys:
            # The API stores no key that it cannot read.
            yield public_data(key.key)

    async def _session(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        device_id = str(process.get_extra_info("username"))
        try:
            process.exit(await self._serve(process, device_id))
        except (BrokenPipeError, ConnectionError, asyncssh.Error):
            process.close()  # the client has gone

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes], device_id: str) -> int:
        """Return the exit code of a session."""
        if process.subsystem is not None or process.command not in {None, READ}:
            process.stderr.write(f"A serial console has one command, {READ}, which prints what it has shown so far.\n".encode())
            return 127
        if process.command == READ:
            for file in self._files(device_id):
                await self._write_file(process, file)
            return 0
        if device_id in self._in_use:
            process.stderr.write(b"Another session has the serial console of this device.\r\n")
            return 1
        self._in_use.add(device_id)
        try:
            process.stderr.write(b"[Serial console, read-only. To end it: Enter ~ .]\r\n")
            await self._follow(process, device_id)
        finally:
            self._in_use.discard(device_id)
        return 0

    def _files(self, device_id: str) -> list[Path]:
        """Return the older and the current file of a console, those that exist."""
        folder = self._machines / device_id
        return [file for name in ("console.old", "console.log") if (file := folder / name).is_file()]

    async def _write_file(self, process: asyncssh.SSHServerProcess[bytes], file: Path) -> None:
        with file.open("rb") as opened:
            while block := opened.read(_BLOCK):
                process.stdout.write(block)
                await process.stdout.drain()

    async def _follow(self, process: asyncssh.SSHServerProcess[bytes], device_id: str) -> None:
        """Show what a console gets from now on, until the client or the device has gone."""
        file = self._machines / device_id / "console.log"
        place = _size(file)
        while not process.is_closing() and self._world.store[Device].get(device_id) is not None:
            size = _size(file)
            if size < place:
                place = 0  # a new file: the one before was full
            if size == place:
                await asyncio.sleep(_INTERVAL)
                continue
            with file.open("rb") as opened:
                opened.seek(place)
                block = opened.read(_BLOCK)
            place += len(block)
            # A terminal in raw mode needs both; real machines send both already.
            process.stdout.write(block.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if process.term_type else block)
            await process.stdout.drain()


class _Login(asyncssh.SSHServer):
    """Accepts the user that is a device's id, with one of the keys of its project."""

    def __init__(self, consoles: SerialConsoles) -> None:
        self._consoles = consoles

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return key.public_data in self._consoles.keys_of(username)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
