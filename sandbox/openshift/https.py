# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTPS listeners of pretended machines, cheap enough for hundreds in one process.

A ``uvicorn.Server`` looks at its clock ten times a second and takes the process's signals; its protocol class alone, on a
listener of the running loop, needs neither.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from pathlib import Path

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sandbox.openshift.pki import KeyPair


def server_context(pair: KeyPair) -> ssl.SSLContext:
    """Return a server context that shows the certificate(s) of ``pair``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The ssl module reads keys from files only.
    with tempfile.TemporaryDirectory(prefix="sandbox-tls-") as folder:
        certificate, key = pair.write(Path(folder) / "server")
        context.load_cert_chain(certificate, key)
    return context


class Listener:
    """Serves an ASGI application at one address and port until closed."""

    def __init__(self, app: ASGIApp) -> None:
        self._config = Config(app, log_config=None, access_log=False, lifespan="off", ws="none", http="h11", interface="asgi3")
        self._config.load()
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def open(self, address: str, port: int, context: ssl.SSLContext | None) -> None:
        """Listen. Raises ``OSError`` when the port is taken or may not be bound."""
        loop = asyncio.get_running_loop()

        def protocol() -> H11Protocol:
            return H11Protocol(config=self._config, server_state=self._state, app_state={}, _loop=loop)

        self._server = await loop.create_server(protocol, address, port, ssl=context, reuse_address=True)

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
