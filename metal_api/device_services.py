# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that the services for devices share: a caller is identified by its source address, or by the token of its device.

Answers to unknown callers and refusals: sources of the real services.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from metal_api.core.actor import ACTOR, Actor
from metal_api.core.app import secrets_of
from metal_api.core.database import DatabaseError
from metal_api.core.neighbors import mac_of
from metal_api.core.requests import Requested
from metal_api.core.resource import Resource
from metal_api.core.world import World
from metal_api.devices.record import Device
from metal_api.events import Event, record_event
from metal_api.servers import Servers

log = logging.getLogger(__name__)

Answering = Callable[[Device | None, Request, bytes], Response]

FORGED = "server.forged_address"
"""The event of a device whose address another network card has used."""


class BootTokens:
    """A token for each device that is a server, in the URLs at which its machine reports: an address alone is easily forged."""

    def __init__(self, world: World) -> None:
        secret = world.store.read_value(_SECRET)
        if secret is None:
            secret = secrets.token_hex(32)
            world.store.write_value(_SECRET, secret)
        self._secret = bytes.fromhex(secret)

    def path(self, device: Device) -> str:
        """Return the path below the boot service's URL at which this device alone reports."""
        return f"/devices/{device.id}/{self._token(device.id)}"

    def is_of(self, device_id: str, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token(device_id).encode())

    def _token(self, device_id: str) -> str:
        return hmac.new(self._secret, device_id.encode(), hashlib.sha256).hexdigest()


_SECRET = "boot_tokens"  # noqa: S105 - the name of a value


def _caller(world: World, request: Request) -> Device | None:
    """Return the device that calls: by the token in the path, else by its address, which has to be that of a card of its server."""
    device_id = request.path_params.get("device_id")
    if device_id is not None:
        is_known = world.service(BootTokens).is_of(device_id, request.path_params["token"])
        return world.store[Device].get(device_id) if is_known else None
    address = request.client.host if request.client else ""
    device = world.store[Device].first("machine_address", address)
    if device is None:
        return None
    server = world.service(Servers).of_device(device.id)
    mac = mac_of(address) if server is not None and server.is_plain and server.macs else None
    if server is None or mac is None or mac in server.macs:
        return device
    # Once: any client of the network can repeat it with other cards.
    if not any(event.type == FORGED for event in world.store[Event].matching("device", device.id)):
        text = f"{mac} uses the address {address} of server {server.name} ({', '.join(server.macs)}): it gets nothing of this device"
        log.warning("%s (%s): %s", device.hostname, device.id, text)
        record_event(world, device, FORGED, text)
    return None


def machine_endpoint(
    world: World, service: str, answer: Answering, *, wait: Callable[[], Response] | None = None
) -> Callable[[Request], Any]:
    """Return the endpoint of a service. ``wait``: makes the answer for a caller that has to try again, None for a status alone."""

    async def endpoint(request: Request) -> Response:
        started = time.time()
        address = request.client.host if request.client else ""
        body = await request.body()
        caller = f"unknown {address}"
        ACTOR.set(Actor(caller, address))
        try:
            with world.store.transaction():
                device = _caller(world, request)
                if device is not None:
                    caller = device.hostname
                    ACTOR.set(Actor(caller, address))
                response = answer(device, request, body)
        except DatabaseError as problem:
            response = wait() if wait is not None else PlainTextResponse(f"{problem}\n", 503)
        except Exception:
            log.exception("%s %s of %s failed", request.method, request.url.path, caller)
            response = wait() if wait is not None else PlainTextResponse("Error of the server, its log has more\n", 500)
        secrets = [*secrets_of(request), request.path_params.get("token", "")]
        requested = Requested(service, request.method, request.url.path, request.url.query, caller, started, secrets=secrets)
        world.record_request(requested, response)
        return response

    return endpoint


def report_url(world: World, device: Device) -> str:
    """Return the URL below which a device reports: for a server with its token."""
    path = world.service(BootTokens).path(device) if world.service(Servers).is_plain(device.id) else ""
    return world.environment.boot_url + path


RESOURCE = Resource(service=BootTokens)
