# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Metal API over HTTP: authentication, filters, observers and routes around the handlers; helpers for the services of devices."""

from __future__ import annotations

import email.utils
import gc
import logging
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from metal_api.core import bodies, parsing
from metal_api.core.actor import ACTOR, Actor
from metal_api.core.call import Call, Caller, Handler
from metal_api.core.call import Route as ApiRoute
from metal_api.core.database import DatabaseError
from metal_api.core.errors import ApiError, unauthorized, unprocessable
from metal_api.core.redaction import without_secrets
from metal_api.core.requests import Answer, Requested
from metal_api.core.world import World

log = logging.getLogger(__name__)

PREFIX = "/metal/v1"

# Shorter tokens of requests are not hidden in records: they are no real tokens, and hiding them would hide parts of ordinary words.
_SHORTEST_SECRET = 8

# Blanks around a part of a path that is not blank itself.
_BLANKS = re.compile(r"(?<=/)[ \t\r\n\f\v]+(?=[^/\s])|(?<=[^/\s])[ \t\r\n\f\v]+(?=/|$)")

# The real service's text for HTTP 500 (public issue threads).
_OH_SNAP = (
    "Oh snap, something went wrong! We've logged the error and will take a look - please reach out to us if you continue having trouble."
)


class Authentication(Protocol):
    """Finds the caller of a token."""

    def authenticate(self, token: str, method: str) -> Caller: ...
    def knows(self, token: str) -> bool: ...
    def name_of(self, token: str) -> str: ...
    def tokens(self) -> list[str]: ...


class JSONAnswer(Response):
    media_type = "application/json; charset=utf-8"

    def render(self, content: Any) -> bytes:
        return b"" if content is None else orjson.dumps(content)


class MetalApp:
    """The API under ``/metal/v1/...`` and ``/...``, and the applications in ``mounts`` (by the first part of the path, such as ``/pub``).

    ``fallback``: answers calls that have no route.
    """

    def __init__(
        self,
        world: World,
        routes: Sequence[ApiRoute],
        authentication: Authentication,
        fallback: Handler,
        mounts: Mapping[str, ASGIApp] | None = None,
    ) -> None:
        self.world = world
        self._authentication = authentication
        self._mounts = dict(mounts or {})
        self._routes = Router(
            [
                *[Route(route.path, self._endpoint(route.handler), methods=[route.method]) for route in routes],
                Route("/{rest:path}", self._endpoint(fallback)),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # No lifespan, no websockets: the owner of the world calls world.start() and world.close().
            return
        other = self._mounts.get("/" + scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else "")
        if other is not None:
            await other(scope, receive, send)
            return
        base, path = normal_path(scope["path"])
        # The router reads path and root_path; a proxy's prefix is irrelevant here.
        scope = {**scope, "path": path, "raw_path": path.encode(), "root_path": "", "metal.base": base}
        started = time.time()
        headers = Request(scope, receive).headers
        scope["metal.token"] = headers.get("x-auth-token") or headers.get("authorization", "").removeprefix("Bearer ").strip()
        is_known = self._authentication.knows(scope["metal.token"])
        try:
            # An unauthorized client could fill the memory with what is read before its token.
            body = await bodies.take(scope, receive, bodies.LARGEST if is_known else bodies.LARGEST_UNKNOWN)
        except bodies.TooLargeError as problem:
            error = ApiError(413, str(problem)) if is_known else unauthorized()
            await self._refuse(scope, receive, send, error, started)
        except ClientDisconnect:
            return
        else:
            await self._metal(scope, bodies.replay(body, receive), send, started)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, error: ApiError, started: float) -> None:
        """Answer before the body is read: 413 (ours, except for the status, which gateways use), or 401."""
        requested = self._requested(scope, Request(scope, receive), started)
        answer = JSONAnswer({"errors": list(error.texts)}, error.status, headers={"X-Request-Id": requested.request_id})
        self.world.record_request(requested, answer)
        await bodies.refuse(answer, scope, receive, send)

    async def _metal(self, scope: Scope, receive: Receive, send: Send, started: float) -> None:
        request = Request(scope, receive)
        requested = self._requested(scope, request, started)
        ACTOR.set(Actor(requested.caller, request.client.host if request.client else "", requested.request_id))
        parsing.begin()
        process: Answer = partial(self._answer, scope, request)
        for request_filter in reversed(self.world.filters):
            process = partial(request_filter, requested, process)
        answer = await process()
        self.world.record_request(requested, answer)
        answer.headers["X-Request-Id"] = requested.request_id
        answer.headers.setdefault("Date", email.utils.formatdate(usegmt=True))
        await answer(scope, receive, send)

    def _requested(self, scope: Scope, request: Request, started: float) -> Requested:
        return Requested(
            service="metal",
            method=scope["method"],
            path=scope["metal.base"] + scope["path"],
            query=scope["query_string"].decode("latin-1"),
            caller=self._authentication.name_of(scope["metal.token"]),
            started=started,
            request_id=str(uuid.uuid4()),
            token=scope["metal.token"],
            secrets=secrets_of(request),
        )

    async def _answer(self, scope: Scope, request: Request) -> Response:
        """Return the answer of the route without sending it: a filter may replace it."""
        try:
            scope["metal.caller"] = self._authentication.authenticate(scope["metal.token"], request.method)
            scope["metal.body"], scope["metal.bare"] = await _json_body(request)
            await self._routes(scope, request.receive, _no_send)
            answer: Response = scope["metal.answer"]
        except ApiError as problem:
            answer = JSONAnswer({"errors": list(problem.texts)}, problem.status, headers=problem.headers)
        except DatabaseError as problem:
            answer = JSONAnswer({"errors": [str(problem)]}, 503, headers={"Retry-After": "5"})
        except Exception:
            secrets = [*self._authentication.tokens(), *secrets_of(request)]
            log.exception("%s failed", without_secrets(f"{request.method} {scope['path']}", secrets))
            answer = JSONAnswer({"errors": [_OH_SNAP]}, 500)
        return answer

    def _endpoint(self, handler: Handler) -> ASGIApp:
        world = self.world

        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            call = Call(
                world=world,
                caller=scope["metal.caller"],
                method=scope["method"],
                base=scope["metal.base"],
                path=scope["path"],
                params=scope["path_params"],
                query=QueryParams(scope["query_string"]),
                body=scope["metal.body"],
                bare=scope["metal.bare"],
            )
            with _uncollected():
                scope["metal.answer"] = _answered(handler, call)

        return _AsgiEndpoint(endpoint)


def _answered(handler: Handler, call: Call) -> Response:
    store = call.world.store
    with store.reading() if call.method in {"GET", "HEAD"} else store.transaction():
        reply = handler(call)
    return JSONAnswer(reply.body, reply.status, headers=reply.headers)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Run without Python's garbage collector, which would visit all objects several times for each page of a thousand devices.

    Answers contain no reference cycles, so there is nothing to collect.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _AsgiEndpoint:
    """An ASGI application for Starlette's routes, which would call a plain function with a Request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def normal_path(path: str) -> tuple[str, str]:
    """Return base and path of a request, without the double slashes and repeated prefixes of older clients and without blanks around ids.

    >>> normal_path("/metal/v1//metal/v1/projects/")
    ('/metal/v1', '/projects')
    """
    path = _BLANKS.sub("", re.sub(r"/{2,}", "/", path))
    base = ""
    while path == PREFIX or path.startswith(PREFIX + "/"):
        base, path = PREFIX, path[len(PREFIX) :]
    return base, path.rstrip("/") or "/"


def secrets_of(request: Request) -> list[str]:
    """Return the tokens in the request's headers, which must not be recorded."""
    headers = [request.headers.get(name, "") for name in ("x-auth-token", "x-consumer-token", "authorization")]
    own = [word for value in headers for word in value.split()]
    return [word for word in own if len(word) >= _SHORTEST_SECRET]


async def _json_body(request: Request) -> tuple[dict[str, Any], bool | None]:
    """Return the request's JSON object; or the bare boolean that is the default route of a BGP session (vendor's OpenAPI text)."""
    text = await request.body()
    if not text.strip():
        return {}, None
    try:
        body = parsing.load_json(text)
    except ValueError:
        # Ours: the API uses 422 where other APIs use 400.
        raise unprocessable("The body is not JSON") from None
    if isinstance(body, bool) and "/bgp/sessions/" in request.url.path:
        return {}, body
    if not isinstance(body, dict):
        raise unprocessable("The body is not a JSON object")
    return body, None


async def _no_send(message: Mapping[str, Any]) -> None:
    raise AssertionError("handlers leave their answer in the scope")
