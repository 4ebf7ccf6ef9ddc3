# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP and HTTPS listeners, cheap enough for hundreds in one process.

A ``uvicorn.Server`` wakes up ten times a second and handles the process's signals; its protocol class on a listener of the running loop
does neither.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

import h11
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from metal_api.connections import Connections

LOG = logging.getLogger(__name__)

RECEIVED_WITHIN = 60.0
"""Real seconds in which a request has to be there, from its first byte, or from the connection, to the last of its body."""
HANDSHAKE_WITHIN = 10.0
"""Real seconds for the TLS handshake of a connection."""
BACKLOG: Final = 1024

CLIENT: Final = "client"
"""Key of a scope's ``state``: the common name of the client's certificate, "" without one."""


def open_socket(address: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises ``OSError`` when the port is taken or may not be bound."""
    return socket.create_server((address, port), backlog=BACKLOG)


def _common_name(certificate: Mapping[str, Any] | None) -> str:
    parts = (part for name in (certificate or {}).get("subject", ()) for part in name)
    return next((value for key, value in parts if key == "commonName"), "")


class _Connection(H11Protocol):
    """A connection that ends when a request does not come to its end, or an answer is not read: uvicorn alone would keep it for ever.

    ``ended``: called at its end.
    """

    received_within = RECEIVED_WITHIN
    ended: Callable[[], None] | None = None
    _patience: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the client has to do something: to send a request, or the rest of one, or to read its answer."""
        return self._patience is not None or self._unread is not None or self.cycle is None or self.cycle.response_complete

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.received_within, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in the parent
        super().connection_made(transport)
        self.app_state = {CLIENT: _common_name(transport.get_extra_info("peercert"))}
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        self.resume_writing()
        super().connection_lost(exc)
        if self.ended is not None:
            self.ended()

    def _watch(self) -> None:
        client = self.conn.their_state
        # Between two requests of one connection nothing is owed: uvicorn ends that by itself.
        waiting = client is h11.SEND_BODY or (client is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0])))
        if not waiting or self.transport.is_closing():
            self._calm()
        elif self._patience is None:
            self._patience = self.loop.call_later(self.received_within, self._give_up)

    def _give_up(self) -> None:
        self.transport.close()
        # What the client does not read would keep it open.
        self.loop.call_later(self.received_within, self.transport.abort)

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class _Accepted:
    """A connection from its acceptance on. ``protocol``: None until the TLS handshake is over."""

    def __init__(self) -> None:
        self.protocol: _Connection | None = None
        self.beginning: asyncio.Task[None] | None = None

    @property
    def is_waiting(self) -> bool:
        return self.protocol is None or self.protocol.is_waiting

    def abort(self) -> None:
        if self.protocol is not None:
            self.protocol.transport.abort()
        elif self.beginning is not None:
            self.beginning.cancel()


class Listener:
    """Serves an ASGI application at one address and port until closed. ``received_within``: see :data:`RECEIVED_WITHIN`.

    ``websockets``: whether it has WebSocket endpoints. ``connections``: how many it may have; None for any number.
    """

    def __init__(
        self, app: ASGIApp, received_within: float = RECEIVED_WITHIN, *, websockets: bool = False, connections: Connections | None = None
    ) -> None:
        self._received_within, self._connections = received_within, connections
        # Machines are identified by source address: a header must not change it (uvicorn trusts that of clients on loopback).
        self._config = Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="wsproto" if websockets else "none",
            http="h11",
            interface="asgi3",
            proxy_headers=False,
        )
        self._config.load()
        self._state = ServerState()
        self._socket: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, address: str, port: int, context: ssl.SSLContext | None) -> None:
        """Listen. Raises ``OSError`` when the port is taken or may not be bound."""
        self.serve(open_socket(address, port), context)

    def serve(self, listening: socket.socket, context: ssl.SSLContext | None) -> None:
        """Serve a socket that listens."""
        self._socket = listening
        self._socket.setblocking(False)
        self._spawn(self._accept(self._socket, context))

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The sockets that listen; none when it is closed."""
        return () if self._socket is None else (self._socket,)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._socket is None:
            raise RuntimeError("the listener is closed")
        port: int = self._socket.getsockname()[1]
        return port

    async def close(self) -> None:
        """Stop listening and cut every connection: the machine is off."""
        listening, self._socket = self._socket, None
        if listening is None:
            return
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        listening.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        for work in list(self._state.tasks):
            work.cancel()

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listening: socket.socket, context: ssl.SSLContext | None) -> None:
        """Accept connections. Not by a server of asyncio: that counts none before its TLS handshake is over."""
        loop = asyncio.get_running_loop()
        has_failed = False
        while True:
            try:
                accepted, (client, *_port) = await loop.sock_accept(listening)
                has_failed = False
            except OSError as error:
                if not has_failed:
                    LOG.error("no connection is accepted now: %s", error)  # noqa: TRY400 - its words suffice
                has_failed = True
                await asyncio.sleep(0.1)
                continue
            connection = _Accepted()
            if self._connections is not None and not self._connections.add(client, connection):
                accepted.close()
            else:
                connection.beginning = self._spawn(self._begin(accepted, client, connection, context))
            # A client that connects without a pause keeps the loop from nothing else.
            await asyncio.sleep(0)

    async def _begin(self, accepted: socket.socket, client: str, connection: _Accepted, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()

        def ended() -> None:
            if self._connections is not None:
                self._connections.remove(client, connection)

        def protocol() -> _Connection:
            made = _Connection(config=self._config, server_state=self._state, app_state={}, _loop=loop)
            made.received_within, made.ended = self._received_within, ended
            return made

        within = HANDSHAKE_WITHIN if context is not None else None
        try:
            begun = await loop.connect_accepted_socket(protocol, accepted, ssl=context, ssl_handshake_timeout=within)
        except (OSError, asyncio.CancelledError) as error:
            accepted.close()
            ended()
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            connection.protocol = begun[1]
