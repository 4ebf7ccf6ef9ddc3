# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP proxies that serve CONNECT, and the one between data centre and outside: to port 443 of outside names, with a login by choice.

Like the proxy of a company it leads outside only: a connection to anything in the data centre is refused with 403, so a client with a
wrong list of exceptions (noProxy) fails here.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import h11

from sandbox.machines.outside import Outside

LOGIN: Final = ("sandbox", "proxy")
_CHUNK: Final = 1 << 16
_REQUEST_WITHIN: Final = 30.0

Journal = Callable[[str, str, int, str, float], None]
"""Called with method, target, status, address of the client, and time."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ConnectProxy(ABC):
    """Subclasses listen with :meth:`_serve`, and connect."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._tunnels: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def _dial(self, request: h11.Request, client: str) -> Streams | int:
        """Return the other end of the tunnel, or the HTTP status that refuses it. ``client``: its address."""

    async def close(self) -> None:
        """Stop listening and cut every tunnel."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tunnels):
            task.cancel()
        await asyncio.gather(*self._tunnels, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tunnels.add(task)
            task.add_done_callback(self._tunnels.discard)
        try:
            async with asyncio.timeout(_REQUEST_WITHIN):
                request = await _read(reader)
            if request is not None:
                await self._answer(request, reader, writer)
        except (TimeoutError, OSError, h11.RemoteProtocolError):
            # The client disconnected, or does not send HTTP.
            return
        except asyncio.CancelledError:
            # Only `close` cancels it; to raise here would have asyncio log a trace.
            return
        finally:
            writer.close()

    async def _answer(self, request: h11.Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far = await self._dial(request, str((writer.get_extra_info("peername") or ("",))[0]))
        if isinstance(far, int):
            challenge = 'Proxy-Authenticate: Basic realm="proxy"\r\n' if far == 407 else ""
            head = f"HTTP/1.1 {far} {HTTPStatus(far).phrase}\r\n{challenge}Content-Length: 0\r\nConnection: close\r\n\r\n"
            writer.write(head.encode("ascii"))
            await writer.drain()
            return
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, far[1]))
                group.create_task(_copy(far[0], writer))
        except* OSError:
            # One end was cut, and so is the other.
            pass
        finally:
            far[1].close()


class Proxy(ConnectProxy):
    """``wants_login``: whether a client has to send :data:`LOGIN`."""

    def __init__(self, outside: Outside, wants_login: Callable[[], bool], journal: Journal) -> None:
        super().__init__()
        self._outside = outside
        self._wants_login = wants_login
        self._journal = journal

    async def open(self, address: str, port: int) -> None:
        """Listen. Raises ``OSError``."""
        self._server = await asyncio.start_server(self._serve, address, port)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._server is None:
            raise RuntimeError("the proxy is closed")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _dial(self, request: h11.Request, client: str) -> Streams | int:
        started, method, target = time.time(), request.method.decode("ascii"), request.target.decode("ascii", "replace")
        host, _unused, port = target.rpartition(":")
        far: Streams | int
        if self._wants_login() and not _has_login(request):
            far = 407
        elif method != "CONNECT":
            far = 405
        elif not self._outside.has(host) or port != "443":
            far = 403
        else:
            try:
                far = await asyncio.open_connection(*self._outside.address)
            except OSError:
                far = 502
        self._journal(method, target, far if isinstance(far, int) else 200, client, started)
        return far


async def _read(reader: asyncio.StreamReader) -> h11.Request | None:
    """Return the head of a request; None when the client went away."""
    connection = h11.Connection(h11.SERVER)
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            return None
        # Byte by byte behind the head nothing is taken: a client sends nothing more before the answer.
        connection.receive_data(await reader.read(_CHUNK))


def _has_login(request: h11.Request) -> bool:
    expected = b"Basic " + base64.b64encode(":".join(LOGIN).encode())
    authorization = next((value for name, value in request.headers if name == b"proxy-authorization"), b"")
    return hmac.compare_digest(authorization, expected)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while content := await reader.read(_CHUNK):
        writer.write(content)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()
