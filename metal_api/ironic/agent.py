# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way of Ironic's agent, which cleans disks, to an Ironic on loopback: two paths of its API on the boot service.

The agent needs no credentials for them; all other paths of that API stay unreachable from the network of the machines.
"""

from __future__ import annotations

from typing import Final

import httpx
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

KERNEL: Final = "vmlinuz"
INITRAMFS: Final = "initramfs.img"
"""Names of the agent's files, in the folder of the option ``--agent``."""

TIMEOUT: Final = 30.0
_FORWARDED: Final = frozenset({"content-type", "x-openstack-ironic-api-version"})


def script(boot_url: str) -> str:
    """Return the boot script of a server whose disks are cleaned."""
    arguments = f"ipa-api-url={boot_url} ipa-insecure=1 console=tty0 console=ttyS0,115200n8 initrd=agent"
    return "\n".join(
        [
            "#!ipxe",
            "echo Cleaning: booting the agent of Ironic",
            f"kernel {boot_url}/agent/{KERNEL} {arguments}",
            f"initrd --name agent {boot_url}/agent/{INITRAMFS}",
            "boot",
            "",
        ]
    )


def routes(ironic_url: str) -> list[BaseRoute]:
    """Return the routes of the agent: it asks who it is, and reports that it is there."""
    # Loopback, where no proxy of the environment leads.
    client = httpx.AsyncClient(base_url=ironic_url, timeout=TIMEOUT, trust_env=False)

    async def forward(request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name in _FORWARDED}
        try:
            answer = await client.request(
                request.method, request.url.path, params=request.query_params, content=await request.body(), headers=headers
            )
        except httpx.HTTPError as error:
            return PlainTextResponse(f"Ironic does not answer: {error}", 503)
        kept = {name: value for name, value in answer.headers.items() if name.startswith("x-openstack-ironic")}
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"), headers=kept)

    return [
        Route("/v1/lookup", forward, methods=["GET"]),
        Route("/v1/heartbeat/{node}", forward, methods=["POST"]),
        # The agent asks for the versions of the API first.
        Route("/v1", forward, methods=["GET"]),
        Route("/v1/", forward, methods=["GET"]),
        Route("/", forward, methods=["GET"]),
    ]
