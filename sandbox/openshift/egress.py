# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections of the API server to kubelets, from the address of a control plane machine: the firewall of the nodes accepts these alone.

An API server that is a process of the sandbox's computer hands such connections to this HTTP proxy on a Unix socket
(Kubernetes, "Set up Konnectivity service": EgressSelectorConfiguration), which opens them from the machine's address.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import yaml

SOCKET: Final = "egress"
CONFIGURATION: Final = "egress.yaml"
_CHUNK: Final = 1 << 16
_HEAD_WITHIN: Final = 10.0

Connect = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


def configuration() -> str:
    """Return the API server's file; the path of the socket is relative to its directory."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": SOCKET}}}
    return yaml.safe_dump(
        {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }
    )


class Egress:
    """``connect`` opens a connection from a control plane machine. It raises ``OSError``."""

    def __init__(self, directory: Path, connect: Connect) -> None:
        self._directory = directory
        self._connect = connect
        self._server: asyncio.Server | None = None
        self._folder = -1
        self._tunnels: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen, and write the API server's file."""
        (self._directory / CONFIGURATION).write_text(configuration(), encoding="utf-8")
        (self._directory / SOCKET).unlink(missing_ok=True)
        # By the open folder: the path of a Unix socket has 107 characters at most. asyncio deletes the socket by this path.
        self._folder = os.open(self._directory, os.O_PATH)
        self._server = await asyncio.start_unix_server(self._accept, f"/proc/self/fd/{self._folder}/{SOCKET}")

    async def close(self) -> None:
        """Stop listening and cut all connections."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
        for task in list(self._tunnels):
            task.cancel()
        await asyncio.gather(*self._tunnels, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer), name="egress of an API server")
        self._tunnels.add(task)
        task.add_done_callback(self._tunnels.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(_HEAD_WITHIN):
                head = await reader.readuntil(b"\r\n\r\n")
            host, _colon, port = head.split(maxsplit=2)[1].decode("ascii").rpartition(":")
            try:
                answers, far = await self._connect(host.strip("[]"), int(port))
            except OSError:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, far))
                group.create_task(_copy(answers, writer))
        except* (OSError, EOFError, ValueError, IndexError, TimeoutError, asyncio.LimitOverrunError):
            # A broken connection, or no CONNECT: the API server sees the end of its connection.
            pass
        finally:
            for connection in (writer, far):
                if connection is not None:
                    connection.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()
