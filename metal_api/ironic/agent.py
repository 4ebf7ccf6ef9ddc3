# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot service's routes for Ironic's agent, which cleans disks: two paths of the API of an Ironic on loopback.

The agent needs no credentials for them, so a server reaches its own node alone, by its source address: with the token that Ironic returns
to the first caller, another machine could report disks as clean. All other paths of that API stay unreachable from the machines' network.
"""

from __future__ import annotations

from typing import Final

import httpx
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from metal_api.core.world import World
from metal_api.servers import Server

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


def routes(world: World, ironic_url: str) -> list[BaseRoute]:
    """Return the routes of the agent: the lookup of its node, and its heartbeat."""
    # Loopback, where no proxy of the environment leads.
    client = httpx.AsyncClient(base_url=ironic_url, timeout=TIMEOUT, trust_env=False)

    async def forward(request: Request, path: str, params: dict[str, str] | None = None) -> Response:
        headers = {name: value for name, value in request.headers.items() if name in _FORWARDED}
        try:
            answer = await client.request(request.method, path, params=params, content=await request.body(), headers=headers)
        except httpx.HTTPError as error:
            return PlainTextResponse(f"Ironic does not answer: {error}", 503)
        kept = {name: value for name, value in answer.headers.items() if name.startswith("x-openstack-ironic")}
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"), headers=kept)

    def caller(request: Request) -> Server | None:
        return world.store[Server].first("address", request.client.host if request.client else "")

    async def lookup(request: Request) -> Response:
        server = caller(request)
        # Not the client's query: MAC addresses can be those of another server.
        return await forward(request, "/v1/lookup", {"node_uuid": server.id}) if server is not None else _not_its_own()

    async def heartbeat(request: Request) -> Response:
        server = caller(request)
        if server is None or request.path_params["node"] != server.id:
            return _not_its_own()
        return await forward(request, f"/v1/heartbeat/{server.id}")

    async def versions(request: Request) -> Response:
        return await forward(request, request.scope["path"])

    return [
        Route("/v1/lookup", lookup, methods=["GET"]),
        Route("/v1/heartbeat/{node}", heartbeat, methods=["POST"]),
        # The agent reads the versions of the API first.
        *(Route(path, versions, methods=["GET"]) for path in ("/v1", "/v1/", "/")),
    ]


def _not_its_own() -> Response:
    return PlainTextResponse("A server reaches its own node alone", 404)
