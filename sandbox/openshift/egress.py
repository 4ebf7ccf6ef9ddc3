# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections of the API server to kubelets, from the address of a control plane machine: the firewall of the nodes accepts these alone.

An API server that is a process of the sandbox's computer hands such connections to this HTTP proxy on a Unix socket
(Kubernetes, "Set up Konnectivity service": EgressSelectorConfiguration), which opens them from the machine's address.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import h11
import yaml

from sandbox.proxy import ConnectProxy, Streams

SOCKET: Final = "egress"
CONFIGURATION: Final = "egress.yaml"

Connect = Callable[[str, int], Awaitable[Streams]]


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


class Egress(ConnectProxy):
    """``connect`` opens a connection from a control plane machine. It raises ``OSError``."""

    def __init__(self, directory: Path, connect: Connect) -> None:
        super().__init__()
        self._directory = directory
        self._connect = connect
        self._folder = -1

    async def open(self) -> None:
        """Listen, and write the API server's file."""
        (self._directory / CONFIGURATION).write_text(configuration(), encoding="utf-8")
        (self._directory / SOCKET).unlink(missing_ok=True)
        # By the open folder: the path of a Unix socket has 107 characters at most. asyncio deletes the socket by this path.
        self._folder = os.open(self._directory, os.O_PATH)
        self._server = await asyncio.start_unix_server(self._serve, f"/proc/self/fd/{self._folder}/{SOCKET}")

    async def close(self) -> None:
        await super().close()
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    async def _dial(self, request: h11.Request, client: str) -> Streams | int:
        host, _colon, port = request.target.decode("ascii", "replace").rpartition(":")
        try:
            return await self._connect(host.strip("[]"), int(port))
        except (OSError, ValueError):
            return 502
