# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A TCP forward from a machine's port to the current address of the real server."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from metal_api.listener import BACKLOG, open_socket
from sandbox.loopback import is_of_device, is_private

_logger = logging.getLogger(__name__)


class Forward:
    """Forwards with the source address of the client, as routers do: firewalls behind it see the real client.

    ``target`` returns (address, port) for each new connection, or None while there is no server: then it is cut at once.
    """

    def __init__(self, target: Callable[[], tuple[str, int] | None]) -> None:
        self._target = target
        self._servers: list[asyncio.Server] = []
        self._open: set[asyncio.BaseTransport] = set()
        self._dialling: set[asyncio.Task[None]] = set()

    async def open(self, address: str, port: int) -> None:
        """Listen, also at several addresses. At a private one only devices are served. Raises ``OSError`` when the port is taken."""
        await self.serve(open_socket(address, port))

    async def serve(self, listening: socket.socket) -> None:
        """Serve a socket that listens, as :meth:`open` does."""
        accepts = is_of_device if is_private(listening.getsockname()[0]) else None
        self._servers.append(await asyncio.get_running_loop().create_server(lambda: _Near(self, accepts), sock=listening, backlog=BACKLOG))

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The sockets that listen."""
        return tuple(sock for server in self._servers for sock in server.sockets)

    async def close(self) -> None:
        """Stop listening and cut all connections: the machine is off."""
        while self._servers:
            self._servers.pop().close()
        for task in list(self._dialling):
            task.cancel()
        for transport in list(self._open):
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()

    def _dial(self, near: _Near) -> None:
        task = asyncio.get_running_loop().create_task(self._connect(near))
        self._dialling.add(task)
        task.add_done_callback(self._dialling.discard)

    async def _connect(self, near: _Near) -> None:
        target = self._target()
        if target is None:
            near.cut()
            return
        try:
            # Other addresses than loopback ones are of another computer.
            source = (near.source, 0) if near.source.startswith("127.") else None
            await asyncio.get_running_loop().create_connection(lambda: _Far(self, near), *target, local_addr=source)
        except OSError as error:
            _logger.debug("cannot reach %s:%d: %s", *target, error)
            near.cut()


class _End(asyncio.Protocol):
    """One end of a forwarded connection: what it receives is sent at the other end, as fast as that accepts it."""

    def __init__(self, forward: Forward) -> None:
        self._forward = forward
        self._transport: asyncio.Transport | None = None
        self.other: _End | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(f"a stream is expected, not {transport!r}")
        self._transport = transport
        self._forward._open.add(transport)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other._transport is not None:
            self.other._transport.write(data)

    def eof_received(self) -> bool:
        transport = self.other._transport if self.other is not None else None
        if transport is not None and transport.can_write_eof() and not transport.is_closing():
            transport.write_eof()
            return True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._forward._open.discard(self._transport)
        if self.other is not None:
            self.other.cut(gently=exc is None)

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.hold()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.go_on()

    def hold(self) -> None:
        """Read no more for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Read again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def cut(self, *, gently: bool = False) -> None:
        """End the connection; ``gently`` after what is still to be sent."""
        if self._transport is not None:
            (self._transport.close if gently else self._transport.abort)()


class _Near(_End):
    """The client's end."""

    def __init__(self, forward: Forward, accepts: Callable[[str], bool] | None = None) -> None:
        super().__init__(forward)
        self._accepts = accepts
        self.source = ""
        self._early = bytearray()

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            # asyncio before Python 3.11.5 (Debian 12 has 3.11.2) begins to read after connection_made() although it was paused
            # there: without this the first bytes of a TLS handshake would be lost, now and then.
            self._early += data
            return
        super().data_received(data)

    def join(self, far: _Far) -> None:
        """Set the other end, and begin to read."""
        self.other = far
        if self._early:
            super().data_received(bytes(self._early))
            self._early.clear()
        self.go_on()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.source = str((transport.get_extra_info("peername") or ("",))[0])
        if self._accepts is not None and not self._accepts(self.source):
            self.cut()
            return
        # Nothing is read before there is somewhere to send it.
        self.hold()
        self._forward._dial(self)


class _Far(_End):
    """The end at the real server."""

    def __init__(self, forward: Forward, near: _Near) -> None:
        super().__init__(forward)
        self._near = near
        self.other = near

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        near = self._near
        if near._transport is None or near._transport.is_closing():
            self.cut()
            return
        near.join(self)
