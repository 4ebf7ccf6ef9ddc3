# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that the services for devices share: a caller is identified by its source address.

Answers to unknown callers and refusals: sources of the real services.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from metal_api.accounts.authentication import Authentication
from metal_api.core.actor import ACTOR, Actor
from metal_api.core.app import secrets_of
from metal_api.core.database import DatabaseError
from metal_api.core.world import World
from metal_api.devices.record import Device

log = logging.getLogger(__name__)

Answering = Callable[[Device | None, Request, bytes], Response]


def machine_endpoint(
    world: World, service: str, answer: Answering, *, wait: Callable[[], Response] | None = None
) -> Callable[[Request], Any]:
    """Return the endpoint of a service. ``wait``: makes the answer for a caller that has to try again, None for a status alone."""

    async def endpoint(request: Request) -> Response:
        started = time.time()
        address = request.client.host if request.client else ""
        body = await request.body()
        device = world.store[Device].first("machine_address", address)
        who = device.hostname if device is not None else f"unknown {address}"
        ACTOR.set(Actor(who, address))
        try:
            with world.store.transaction():
                response = answer(device, request, body)
        except DatabaseError as problem:
            response = wait() if wait is not None else PlainTextResponse(f"{problem}\n", 503)
        except Exception:
            log.exception("%s %s of %s failed", request.method, request.url.path, who)
            response = wait() if wait is not None else PlainTextResponse("Error of the server, its log has more\n", 500)
        query = f"?{request.url.query}" if request.url.query else ""
        world.journal.write(
            service=service,
            method=request.method,
            path=request.url.path + query,
            status=response.status_code,
            who=who,
            started=started,
            secrets=secrets_of(request, world.service(Authentication)),
        )
        return response

    return endpoint
