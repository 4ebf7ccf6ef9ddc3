# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP proxy between data centre and outside: CONNECT to port 443 of outside names, with a login by choice.

Like the proxy of a company it leads outside only: a connection to anything in the data centre is refused with 403, so a client with a
wrong list of exceptions (noProxy) fails here.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Final

import h11

from sandbox.machines.outside import Outside

LOGIN: Final = ("sandbox", "proxy")
_CHUNK: Final = 1 << 16
_REQUEST_WITHIN: Final = 30.0
_TEXTS: Final[Mapping[int, bytes]] = {
    400: b"Bad Request",
    403: b"Forbidden",
    405: b"Method Not Allowed",
    407: b"Proxy Authentication Required",
    502: b"Bad Gateway",
}

Journal = Callable[[str, str, int, str, float], None]
"""Called with method, target, status, address of the client, and time."""


class Proxy:
    """``wants_login``: whether a client has to send :data:`LOGIN`."""

    def __init__(self, outside: Outside, wants_login: Callable[[], bool], journal: Journal) -> None:
        self._outside = outside
        self._wants_login = wants_login
        self._journal = journal
        self._server: asyncio.Server | None = None
        self._tunnels: set[asyncio.Task[None]] = set()

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
        started, method, target = time.time(), request.method.decode("ascii"), request.target.decode("ascii", "replace")
        host, _unused, port = target.rpartition(":")
        status = 200
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        if self._wants_login() and not _has_login(request):
            status = 407
        elif method != "CONNECT":
            status = 405
        elif not self._outside.has(host) or port != "443":
            status = 403
        else:
            try:
                upstream = await asyncio.open_connection(*self._outside.address)
            except OSError:
                status = 502
        client = str((writer.get_extra_info("peername") or ("",))[0])
        self._journal(method, target, status, client, started)
        if upstream is None:
            challenge = b'Proxy-Authenticate: Basic realm="proxy"\r\n' if status == 407 else b""
            writer.write(b"HTTP/1.1 %d %s\r\n%sContent-Length: 0\r\nConnection: close\r\n\r\n" % (status, _TEXTS[status], challenge))
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        try:
            await _join((reader, writer), upstream)
        finally:
            upstream[1].close()


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


async def _join(
    first: tuple[asyncio.StreamReader, asyncio.StreamWriter], second: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Copy in both directions until one side ends."""
    copies = {asyncio.create_task(_copy(first[0], second[1])), asyncio.create_task(_copy(second[0], first[1]))}
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in copies:
            copy.cancel()
        await asyncio.gather(*copies, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await reader.read(_CHUNK):
            writer.write(content)
            await writer.drain()
