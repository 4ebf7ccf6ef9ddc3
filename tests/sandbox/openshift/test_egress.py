# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connections of an API server to kubelets come from the address of a machine."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from sandbox.openshift.egress import SOCKET, Egress


async def test_connections_come_from_the_address_of_a_machine(tmp_path: Path) -> None:
    sources: list[str] = []

    async def kubelet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sources.append(writer.get_extra_info("peername")[0])
        writer.write(2 * await reader.readexactly(5))
        writer.close()

    async def ask(request: str, sent: bytes = b"") -> bytes:
        reader, writer = await asyncio.open_unix_connection(str(short / SOCKET))
        writer.write(f"{request}\r\nHost: kubelet\r\n\r\n".encode() + sent)
        answer = await reader.read()
        writer.close()
        return answer

    # Longer than the path of a Unix socket may be.
    folder = tmp_path / ("clusters" * 12)
    folder.mkdir()
    short = Path(tempfile.mkdtemp()) / "link"
    short.symlink_to(folder)
    server = await asyncio.start_server(kubelet, "127.64.9.5", 0)
    port = server.sockets[0].getsockname()[1]
    egress = Egress(folder, lambda: "127.64.9.6")
    for _again in range(2):
        await egress.open()
        assert await ask(f"CONNECT 127.64.9.5:{port} HTTP/1.1", b"hello") == b"HTTP/1.1 200 OK\r\n\r\nhellohello"
        assert (await ask("CONNECT 127.64.9.5:1 HTTP/1.1")).startswith(b"HTTP/1.1 502 ")
        assert await ask("nonsense") == b""
        await egress.close()
    server.close()
    assert sources == ["127.64.9.6"] * 2
