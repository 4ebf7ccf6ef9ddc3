# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP and HTTPS listeners, cheap enough for hundreds in one process.

A ``uvicorn.Server`` wakes up ten times a second and handles the process's signals; its protocol class on a listener of the running loop
does neither.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Final

import h11
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

RECEIVED_WITHIN = 60.0
"""Real seconds in which a request has to be there, from its first byte, or from the connection, to the last of its body."""


CLIENT: Final = "client"
"""Key of a scope's ``state``: the common name of the client's certificate, "" without one."""


def _common_name(certificate: Mapping[str, Any] | None) -> str:
    parts = (part for name in (certificate or {}).get("subject", ()) for part in name)
    return next((value for key, value in parts if key == "commonName"), "")


class _Connection(H11Protocol):
    """A connection that ends when a request does not come to its end: uvicorn alone would keep half of one for ever."""

    received_within = RECEIVED_WITHIN
    _patience: asyncio.TimerHandle | None = None

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
        super().connection_lost(exc)

    def _watch(self) -> None:
        client = self.conn.their_state
        # Between two requests of one connection nothing is owed: uvicorn ends that by itself.
        waiting = client is h11.SEND_BODY or (client is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0])))
        if not waiting or self.transport.is_closing():
            self._calm()
        elif self._patience is None:
            self._patience = self.loop.call_later(self.received_within, self.transport.close)

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class Listener:
    """Serves an ASGI application at one address and port until closed. ``received_within``: see :data:`RECEIVED_WITHIN`.

    ``websockets``: whether it has WebSocket endpoints.
    """

    def __init__(self, app: ASGIApp, received_within: float = RECEIVED_WITHIN, *, websockets: bool = False) -> None:
        self._received_within = received_within
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
        self._server: asyncio.Server | None = None

    async def open(self, address: str, port: int, context: ssl.SSLContext | None) -> None:
        """Listen. Raises ``OSError`` when the port is taken or may not be bound."""
        loop = asyncio.get_running_loop()

        def protocol() -> H11Protocol:
            connection = _Connection(config=self._config, server_state=self._state, app_state={}, _loop=loop)
            connection.received_within = self._received_within
            return connection

        self._server = await loop.create_server(protocol, address, port, ssl=context, reuse_address=True)

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The sockets that listen; none when it is closed."""
        return () if self._server is None else tuple(self._server.sockets)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._server is None:
            raise RuntimeError("the listener is closed")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Stop listening and cut every connection: the machine is off."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        for task in list(self._state.tasks):
            task.cancel()
